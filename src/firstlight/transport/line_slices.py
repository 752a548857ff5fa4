"""Two clouds laid on trees of lines: projected, split between the lines, and their derivatives pulled back.

    t_l(x) = ⟨x - c_l, θ_l⟩,  d_l(x) = ‖x - c_l - t_l θ_l‖,  α(x) = softmax(-δ d(x)),  atoms (t_l(x), a α_l(x)),
    ∂S/∂x = Σ_l [ ∂S/∂t_l θ_l + ∂S/∂d_l (x - c_l - t_l θ_l)/d_l ],

where line l starts at c_l, which is the root of its tree if the lines are concurrent.
"""

import numpy as np
from jaxtyping import Float64

from firstlight.compiled import compiled
from firstlight.transport.line_trees import chained_lines, concurrent_lines, empty_path
from firstlight.transport.measures import Clouds
from firstlight.transport.streaming import Gradients, blocks, trees_at_once
from firstlight.transport.tree_systems import TreeSystem

FEW = 16  # up to this many dimensions a residual is as quick to measure as to find by Pythagoras
NEAR = 1e-30  # a distance whose inverse single precision cannot hold
CANCELS = 0.05  # where Pythagoras leaves less than this part of the squares, digits are lost


class LineSlices:
    """Clouds on the processor, laid on a `TreeSystem`; see `streaming.Slices`.

    Arrays have an entry for each tree of a chunk, line and point, sources before targets. In a chain every line has
    one point more, its joint.

    Parameters
    ----------
    clouds : NumPy arrays.
    trees : the trees.
    p : order of the distance.
    delta : sharpness of the split by distance; None splits masses evenly.
    gradients : what to add derivatives to.
    """

    def __init__(self, clouds: Clouds, trees: TreeSystem, p: float, delta: float | None, gradients: Gradients) -> None:
        self.clouds, self.trees, self.p, self.delta, self.gradients = clouds, trees, p, delta, gradients
        self.weight = np.concatenate([clouds.a, -clouds.b])
        _, n_lines, d = trees.directions.shape
        self.n_points, dtype = len(self.weight), clouds.X_s.dtype
        self.n_trees, self.at_once = trees.n_trees, trees_at_once(n_lines, d, self.n_points)
        chain = trees.joints is not None
        shape = (self.at_once, n_lines, self.n_points + chain)
        self.coordinate, self.distance, self.share = (np.zeros(shape, dtype) for _ in range(3))
        self.mass, self.slope = np.zeros(shape), np.zeros(shape)
        self.paths = tuple(empty_path(shape[2]) for _ in range(n_lines if chain else 1))

    def solve(self, chunk: slice) -> Float64[np.ndarray, " trees"]:
        """Return S_p^p on each tree of a chunk."""
        self._look_from(chunk)
        self._project()
        n_trees, joints = len(self.directions), self.trees.joints
        if joints is not None:
            self.coordinate[:n_trees, :-1, -1] = joints[chunk]
            self.mass[:n_trees, :, -1] = 0
        solve = concurrent_lines if joints is None else chained_lines
        arrays = (array[:n_trees] for array in (self.coordinate, self.mass, self.slope))
        values = np.empty(n_trees)
        solve(self.paths, *arrays, values, self.p, self.gradients.wanted)
        return values

    def _look_from(self, chunk: slice) -> None:
        """Take the directions and starts of a chunk of trees, relative to the middle of its roots."""
        dtype = self.clouds.X_s.dtype
        self.middle = self.trees.roots[chunk].mean(axis=0).astype(dtype)
        # Concurrent lines share one start per tree.
        self.starts = (self.trees.starts(chunk) - self.middle).astype(dtype)
        self.directions = self.trees.directions[chunk].astype(dtype)
        self.offsets = np.sum(self.starts * self.directions, axis=-1)

    def _project(self) -> None:
        """Find coordinates and distances to the lines, and how each point's mass is split between them."""
        n_trees, n_lines, d = self.directions.shape
        columns = self.directions.reshape(-1, d)
        size, closeness = np.zeros(0, columns.dtype), np.zeros((n_trees, self.starts.shape[1], 0), columns.dtype)
        start_size = np.einsum("tsd,tsd->ts", self.starts, self.starts)
        for cloud, offset in self.clouds.parts:
            for _, places, points in blocks(cloud, offset, self.middle):
                coordinate, distance, share, mass = (
                    array[:n_trees, :, places] for array in (self.coordinate, self.distance, self.share, self.mass)
                )
                coordinate[:] = (columns @ points.T).reshape(n_trees, n_lines, -1) - self.offsets[..., None]
                if self.delta is None:
                    share[:] = 1 / n_lines
                else:
                    if d > FEW:
                        size = np.einsum("nd,nd->n", points, points)
                        closeness = (self.starts.reshape(-1, d) @ points.T).reshape(*self.starts.shape[:2], -1)
                    _measure(points, size, self.directions, self.starts, start_size, closeness, coordinate, distance)
                    np.subtract(distance.min(axis=1, keepdims=True), distance, out=share)
                    share *= self.delta
                    np.exp(share, out=share)
                    share /= share.sum(axis=1, keepdims=True)
                np.multiply(share, self.weight[places], out=mass)

    def pull_back(self, gain: float) -> None:
        """Add the derivatives of the last chunk, times `gain`, to the gradients."""
        n_trees, _, d = self.directions.shape
        arrays = (self.coordinate, self.distance, self.share, self.mass, self.slope)
        coordinate, distance, *rest = (array[:n_trees, :, : self.n_points] for array in arrays)
        by_weight = np.zeros(self.n_points)
        noise = 8 * np.finfo(coordinate.dtype).eps
        _push(coordinate, distance, *rest, self.weight, by_weight, self.delta or 0.0, gain, noise)
        if self.gradients.a is not None:
            self.gradients.a[:] += by_weight[: len(self.clouds.X_s)]
            # The mass of targets counts as negative.
            self.gradients.b[:] -= by_weight[len(self.clouds.X_s) :]
        columns = self.directions.reshape(-1, d)
        starts = np.broadcast_to(self.starts, self.directions.shape).reshape(-1, d)
        for (cloud, offset), total in zip(self.clouds.parts, self.gradients[:2], strict=True):
            if total is None:
                continue
            for rows, places, points in blocks(cloud, offset, self.middle):
                along = coordinate[..., places].reshape(len(columns), -1)
                total[rows] += along.T @ columns
                if self.delta:
                    away = distance[..., places].reshape(len(columns), -1)
                    total[rows] += away.sum(axis=0)[:, None] * points - away.T @ starts


@compiled
def _measure(points, size, directions, starts, start_size, closeness, coordinate, distance):
    """Distances to the lines; ‖x‖², ‖start‖² and ⟨x, start⟩ are given where Pythagoras is used."""
    n_trees, n_lines, d = directions.shape
    for k in range(len(points)):
        for tree in range(n_trees):
            for line in range(n_lines):
                start = min(line, starts.shape[1] - 1)
                t = coordinate[tree, line, k]
                squared, cancelled = 0.0, True
                if d > FEW:
                    squares = size[k] + start_size[tree, start]
                    squared = squares - 2.0 * closeness[tree, start, k] - t * t
                    cancelled = squared < CANCELS * squares
                if cancelled:
                    squared = 0.0
                    for j in range(d):
                        residual = points[k, j] - starts[tree, start, j] - t * directions[tree, line, j]
                        squared += residual * residual
                distance[tree, line, k] = np.sqrt(squared)


@compiled
def _push(coordinate, distance, share, mass, slope, weight, by_weight, delta, gain, noise):
    """Turn derivatives by mass and coordinate into those by weight, and coefficients of directions and residuals.

    The last two overwrite `coordinate` and `distance`.
    """
    n_trees, n_lines, n_points = coordinate.shape
    for tree in range(n_trees):
        for k in range(n_points):
            mean = 0.0
            for line in range(n_lines):
                mean += share[tree, line, k] * mass[tree, line, k]
            by_weight[k] += gain * mean
            for line in range(n_lines):
                along = gain * slope[tree, line, k]
                if delta > 0.0:
                    by_distance = -gain * delta * weight[k] * share[tree, line, k] * (mass[tree, line, k] - mean)
                    # On the line itself the distance has no gradient; 0 is the subgradient of least norm.
                    far = distance[tree, line, k]
                    away = by_distance / far if far > noise * abs(coordinate[tree, line, k]) + NEAR else 0.0
                    distance[tree, line, k] = away
                    along -= away * coordinate[tree, line, k]
                coordinate[tree, line, k] = along
