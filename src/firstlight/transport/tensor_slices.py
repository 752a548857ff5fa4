"""Two clouds of tensors laid on trees: what `line_slices` and `ray_slices` do, by tensor operations on any device.

Trees are gathered into chunks of bounded size, so that memory does not grow with their number.
"""

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from firstlight.transport.line_slices import CANCELS, FEW, NEAR
from firstlight.transport.measures import Clouds
from firstlight.transport.spherical_trees import SphericalTreeSystem
from firstlight.transport.streaming import Gradients
from firstlight.transport.tensor_paths import ENTRIES_AT_ONCE, ChainedLines, ConcurrentLines, RayTrees
from firstlight.transport.tree_systems import TreeSystem


class _TensorSlices:
    """What both kinds of trees share: the points in one tensor, weights with signs, and where derivatives go."""

    def __init__(
        self, clouds: Clouds, n_trees: int, n_lines: int, p: float, delta: float | None, gradients: Gradients
    ) -> None:
        self.points = torch.cat([clouds.X_s, clouds.X_t])
        self.weight = torch.cat([clouds.a, -clouds.b])
        self.n_sources, self.p, self.delta, self.gradients = len(clouds.X_s), p, delta, gradients
        self.n_trees = n_trees
        self.at_once = max(1, min(n_trees, ENTRIES_AT_ONCE // (n_lines * len(self.points))))

    def _from_numpy(self, array: np.ndarray) -> Tensor:
        return torch.as_tensor(array, dtype=self.points.dtype, device=self.points.device)

    def _split(self, distance: Float[Tensor, "trees lines points"]) -> None:
        """Split each point's mass between the lines by its distances to them, all 0 for an even split."""
        self.share = torch.softmax(-(self.delta or 0.0) * distance, dim=1)
        self.mass = self.share * self.weight

    def _by_distance(self, potential: Float[Tensor, "trees lines points"]) -> Float[Tensor, "trees lines points"]:
        """Add derivatives by weight to the gradients, and return those by distance to the lines."""
        mean = (self.share * potential).sum(dim=1, keepdim=True)
        if self.gradients.a is not None:
            by_weight = mean.sum(dim=(0, 1))
            self.gradients.a[:] += by_weight[: self.n_sources]
            # The mass of targets counts as negative.
            self.gradients.b[:] -= by_weight[self.n_sources :]
        return -(self.delta or 0.0) * self.mass * (potential - mean)

    def _add(self, by_point: Float[Tensor, "points d"]) -> None:
        """Add derivatives by points to the gradients."""
        if self.gradients.X_s is not None:
            self.gradients.X_s[:] += by_point[: self.n_sources]
        if self.gradients.X_t is not None:
            self.gradients.X_t[:] += by_point[self.n_sources :]


class TensorLineSlices(_TensorSlices):
    """Clouds of tensors laid on a `TreeSystem`; parameters as those of `line_slices.LineSlices`."""

    def __init__(self, clouds: Clouds, trees: TreeSystem, p: float, delta: float | None, gradients: Gradients) -> None:
        super().__init__(clouds, trees.n_trees, trees.directions.shape[1], p, delta, gradients)
        self.trees = trees

    def solve(self, chunk: slice) -> Float64[np.ndarray, " trees"]:
        """Return S_p^p on each tree of a chunk."""
        trees = self.trees
        middle = trees.roots[chunk].mean(axis=0)
        self.directions = self._from_numpy(trees.directions[chunk])
        self.starts = self._from_numpy(trees.starts(chunk) - middle)
        self.relative = self.points - self._from_numpy(middle)
        offsets = (self.starts * self.directions).sum(dim=-1, keepdim=True)
        self.coordinate = self.directions @ self.relative.T - offsets
        self.distance = self._distances() if self.delta else torch.zeros_like(self.coordinate)
        self._split(self.distance)
        if trees.joints is None:
            self.lines = ConcurrentLines(self.coordinate, self.mass, self.p)
        else:
            joints = torch.as_tensor(trees.joints[chunk]).to(self.mass)
            self.lines = ChainedLines(self.coordinate, self.mass, joints, self.p)
        return self.lines.values.double().cpu().numpy()

    def _distances(self) -> Float[Tensor, "trees lines points"]:
        """Distances of the points to the lines: by Pythagoras, and where that cancels by residuals."""
        shape = self.coordinate.shape
        every = torch.arange(self.coordinate.numel(), device=self.points.device)
        if self.points.shape[1] <= FEW:
            return self._residuals(every).view(shape)
        squares = self.relative.square().sum(dim=1) + self.starts.square().sum(dim=-1, keepdim=True)
        squared = squares - 2 * self.starts @ self.relative.T - self.coordinate.square()
        distance = squared.clamp(min=0).sqrt().flatten()
        cancelled = every[(squared < CANCELS * squares).flatten()]
        distance[cancelled] = self._residuals(cancelled)
        return distance.view(shape)

    def _residuals(self, places: Int[Tensor, " places"]) -> Float[Tensor, " places"]:
        """Measure distances at some places among all trees, lines and points, a piece at a time."""
        n_points = self.coordinate.shape[2]
        d = self.points.shape[1]
        directions, starts = self.directions.view(-1, d), self.starts.expand_as(self.directions).reshape(-1, d)
        coordinate = self.coordinate.flatten()
        found = []
        for piece in places.split(max(1, ENTRIES_AT_ONCE // d)):
            line, point = piece // n_points, piece % n_points
            residual = self.relative[point] - starts[line] - coordinate[piece, None] * directions[line]
            found.append(torch.linalg.vector_norm(residual, dim=1))
        return torch.cat(found) if found else coordinate[:0]

    def pull_back(self, gain: float) -> None:
        """Add the derivatives of the last chunk, times `gain`, to the gradients."""
        potential, slope = (gain * part for part in self.lines.derivatives())
        by_distance = self._by_distance(potential)
        noise = 8 * torch.finfo(self.points.dtype).eps
        # On the line itself the distance has no gradient; 0 is the subgradient of least norm.
        off_line = self.distance > noise * self.coordinate.abs() + NEAR
        away = torch.where(off_line, by_distance / self.distance, 0).to(self.points.dtype)
        along = slope.to(self.points.dtype) - away * self.coordinate
        starts = self.starts.expand_as(self.directions)
        by_point = along.flatten(0, 1).T @ self.directions.flatten(0, 1) - away.flatten(0, 1).T @ starts.flatten(0, 1)
        self._add(by_point + away.sum(dim=(0, 1))[:, None] * self.relative)


class TensorRaySlices(_TensorSlices):
    """Clouds of tensors laid on a `SphericalTreeSystem`; parameters as those of `ray_slices.RaySlices`."""

    def __init__(
        self,
        clouds: Clouds,
        trees: SphericalTreeSystem,
        p: float,
        delta: float | None,
        gradients: Gradients,
    ) -> None:
        super().__init__(clouds, trees.n_trees, trees.edges.shape[1], p, delta, gradients)
        self.trees = trees

    def solve(self, chunk: slice) -> Float64[np.ndarray, " trees"]:
        """Return S_p^p on each tree of a chunk."""
        points = self.points
        self.roots, self.edges = self._from_numpy(self.trees.roots[chunk]), self._from_numpy(self.trees.edges[chunk])
        self.height = self.roots @ points.T
        self.radius = torch.stack([
            torch.linalg.vector_norm(points - height[:, None] * root, dim=1)
            for root, height in zip(self.roots, self.height, strict=True)
        ])  # fmt: skip
        self.angle = torch.atan2(self.radius, self.height)
        self._measure_turns()
        self._split(self.turn * torch.sin(self.angle)[:, None])
        self.rays = RayTrees(self.angle, self.mass, self.p)
        return self.rays.values.double().cpu().numpy()

    def _measure_turns(self) -> None:
        """Find the angles at the root between points and rays; 0 at the poles."""
        far = torch.where(self.radius > 0, self.radius, 1)[:, None]
        cosine = self.edges @ self.points.T / far
        sine = (1 - cosine.square()).clamp(min=0).sqrt()
        # Where 1 - cos² cancels, measure how far the ray passes beside the point.
        for tree, ray in torch.nonzero((1 - cosine.square() < CANCELS).any(dim=2)).tolist():
            close = torch.nonzero(1 - cosine[tree, ray].square() < CANCELS)[:, 0]
            across = self.points[close] - self.height[tree, close, None] * self.roots[tree]
            direction = across / far[tree, 0, close, None]
            beside = direction - cosine[tree, ray, close, None] * self.edges[tree, ray]
            sine[tree, ray, close] = torch.linalg.vector_norm(beside, dim=1)
        off_pole = (self.radius > 0)[:, None]
        self.cosine, self.sine = torch.where(off_pole, cosine, 1), torch.where(off_pole, sine, 0)
        self.turn = torch.atan2(self.sine, self.cosine)

    def pull_back(self, gain: float) -> None:
        """Add the derivatives of the last chunk, times `gain`, to the gradients; see `ray_slices`."""
        potential, slope = (gain * part for part in self.rays.derivatives())
        by_distance = self._by_distance(potential)
        noise = 8 * torch.finfo(self.points.dtype).eps
        off_pole = self.radius > noise
        by_angle = slope + torch.cos(self.angle) * (by_distance * self.turn).sum(dim=1)
        by_edge = torch.where(self.sine * self.radius[:, None] > noise, -by_distance / self.sine, 0)
        by_direction = (by_angle * self.height - (by_edge * self.cosine).sum(dim=1)) / self.radius
        by_direction = torch.where(off_pole, by_direction, 0)
        by_root = torch.where(off_pole, -by_angle * self.radius - by_direction * self.height, 0)
        coefficients = torch.cat([by_root, by_edge.flatten(0, 1)]).to(self.points.dtype)
        by_point = coefficients.T @ torch.cat([self.roots, self.edges.flatten(0, 1)])
        self._add(by_point + by_direction.sum(dim=0).to(self.points.dtype)[:, None] * self.points)
