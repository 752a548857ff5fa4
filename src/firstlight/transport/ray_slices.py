"""Two clouds on the unit sphere laid on spherical trees, and their derivatives pulled back.

All points have the same coordinate on every ray of a tree, the angle s = ∠(x, r), so one sort serves a whole tree;
masses are split by softmax_j(-δ φ_j sin s), where φ_j is the angle at the root between x and the ray. Angles come from
arctangents of lengths, so that points at the poles need no clamping.
"""

import numpy as np
from jaxtyping import Float, Float64

from firstlight.compiled import compiled
from firstlight.transport.line_trees import Path, empty_path
from firstlight.transport.measures import Clouds
from firstlight.transport.radix_sort import argsort_floats
from firstlight.transport.spherical_trees import SphericalTreeSystem
from firstlight.transport.streaming import Gradients, blocks, trees_at_once
from firstlight.transport.tree_passes import density, edge_weight, power, steepness

CANCELS = 0.05  # below this, 1 - cos² has lost digits


class RaySlices:
    """Clouds on the processor, laid on a `SphericalTreeSystem`; see `streaming.Slices`.

    Arrays have an entry for each tree of a chunk, ray and point, sources before targets. The gradients by points lie in
    the tangent planes of the sphere.

    Parameters
    ----------
    clouds : NumPy arrays, of unit rows.
    trees : the trees.
    p : order of the distance.
    delta : sharpness of the split by distance; None splits masses evenly.
    gradients : what to add derivatives to.
    """

    def __init__(
        self,
        clouds: Clouds,
        trees: SphericalTreeSystem,
        p: float,
        delta: float | None,
        gradients: Gradients,
    ) -> None:
        self.clouds, self.trees, self.p, self.delta, self.gradients = clouds, trees, p, delta, gradients
        self.weight = np.concatenate([clouds.a, -clouds.b])
        _, n_rays, d = trees.edges.shape
        n_points, dtype = len(self.weight), clouds.X_s.dtype
        self.n_trees, self.at_once = trees.n_trees, trees_at_once(n_rays, d, n_points)
        self.height, self.radius, self.angle = (np.zeros((self.at_once, n_points), dtype) for _ in range(3))
        self.cosine, self.sine, self.turn, self.share = (
            np.zeros((self.at_once, n_rays, n_points), dtype) for _ in range(4)
        )
        self.mass, self.slope = np.zeros((self.at_once, n_rays, n_points)), np.zeros((self.at_once, n_points))
        self.path = empty_path(n_points)

    def solve(self, chunk: slice) -> Float64[np.ndarray, " trees"]:
        """Return S_p^p on each tree of a chunk."""
        dtype = self.clouds.X_s.dtype
        self.roots, self.edges = self.trees.roots[chunk].astype(dtype), self.trees.edges[chunk].astype(dtype)
        self._project()
        n_trees = len(self.roots)
        values = np.empty(n_trees)
        arrays = (array[:n_trees] for array in (self.angle, self.mass, self.slope))
        _solve_rays(self.path, *arrays, values, self.p, self.gradients.wanted)
        return values

    def _project(self) -> None:
        """Find the angles to the roots and to the rays, and how each point's mass is split between the rays."""
        n_trees, n_rays, d = self.edges.shape
        for cloud, offset in self.clouds.parts:
            for _, places, points in blocks(cloud, offset):
                height, radius, angle = (array[:n_trees, places] for array in (self.height, self.radius, self.angle))
                cosine, sine, turn, share, mass = (
                    array[:n_trees, :, places] for array in (self.cosine, self.sine, self.turn, self.share, self.mass)
                )
                height[:] = self.roots @ points.T
                cosine[:] = (self.edges.reshape(-1, d) @ points.T).reshape(cosine.shape)
                _measure(points, self.roots, self.edges, height, radius, angle, cosine, sine, turn)
                if self.delta is None:
                    share[:] = 1 / n_rays
                else:
                    np.multiply(turn, -self.delta * np.sin(angle)[:, None], out=share)
                    share -= share.max(axis=1, keepdims=True)
                    np.exp(share, out=share)
                    share /= share.sum(axis=1, keepdims=True)
                np.multiply(share, self.weight[places], out=mass)

    def pull_back(self, gain: float) -> None:
        """Add the derivatives of the last chunk, times `gain`, to the gradients."""
        n_trees, n_rays, d = self.edges.shape
        by_weight = np.zeros(len(self.weight))
        noise = 8 * np.finfo(self.angle.dtype).eps
        tree_arrays = (self.height, self.radius, self.angle)
        ray_arrays = (self.cosine, self.sine, self.turn, self.share, self.mass)
        arrays = (array[:n_trees] for array in (*tree_arrays, *ray_arrays, self.slope))
        _push(*arrays, self.weight, by_weight, self.delta or 0.0, gain, noise)
        if self.gradients.a is not None:
            self.gradients.a[:] += by_weight[: len(self.clouds.X_s)]
            # The mass of targets counts as negative.
            self.gradients.b[:] -= by_weight[len(self.clouds.X_s) :]
        columns = np.concatenate([self.roots, self.edges.reshape(-1, d)])
        for (cloud, offset), total in zip(self.clouds.parts, self.gradients[:2], strict=True):
            if total is None:
                continue
            for rows, places, points in blocks(cloud, offset):
                by_edge = self.cosine[:n_trees, :, places].reshape(n_trees * n_rays, -1)
                total[rows] += np.concatenate([self.height[:n_trees, places], by_edge]).T @ columns
                total[rows] += self.radius[:n_trees, places].sum(axis=0)[:, None] * points


@compiled
def _measure(points, roots, edges, height, radius, angle, cosine, sine, turn):
    """Angles to the roots and at the roots; `cosine` enters as ⟨x, y_j⟩ and leaves as cos φ_j."""
    n_trees, n_rays, d = edges.shape
    for tree in range(n_trees):
        root = roots[tree]
        for k in range(len(points)):
            h = height[tree, k]
            squared = 0.0
            for j in range(d):
                squared += (points[k, j] - h * root[j]) ** 2
            far = np.sqrt(squared)
            radius[tree, k] = far
            angle[tree, k] = np.arctan2(far, h)
            for ray in range(n_rays):
                if far == 0.0:
                    cosine[tree, ray, k], sine[tree, ray, k], turn[tree, ray, k] = 1.0, 0.0, 0.0
                    continue
                c = cosine[tree, ray, k] / far
                beside = 1.0 - c * c
                if beside < CANCELS:  # measure how far the ray passes beside the point
                    beside = 0.0
                    for j in range(d):
                        direction = (points[k, j] - h * root[j]) / far
                        beside += (direction - c * edges[tree, ray, j]) ** 2
                cosine[tree, ray, k] = c
                sine[tree, ray, k] = np.sqrt(beside)
                turn[tree, ray, k] = np.arctan2(sine[tree, ray, k], c)


@compiled
def _solve_rays(
    path: Path,
    angle: Float[np.ndarray, "trees points"],
    mass: Float64[np.ndarray, "trees rays points"],
    slope: Float64[np.ndarray, "trees points"],
    values: Float64[np.ndarray, " trees"],
    p: float,
    gradients: bool,
) -> None:
    """Solve trees whose rays share lengths and differ in masses; `values` receives S_p^p.

    With `gradients`, `mass` leaves as the derivative by mass and `slope` as that by the common angle of each point.
    """
    _, n_rays, n = mass.shape
    # On a path all lengths below are known at once; entry k stands for the k-th point from the root.
    order, steep = path.order, path.mass
    here, weight, raised = path.below, path.stretch, path.tension
    for tree in range(len(mass)):
        argsort_floats(angle[tree], path.words, path.spare, order)
        farthest, at = float(angle[tree, order[n - 1]]), 0.0
        far_root = far = density(farthest, p)
        for k in range(n):
            place = float(angle[tree, order[k]])
            here[k], raised[k] = density(farthest - place, p), 0.0
            weight[k] = edge_weight(farthest - place, place - at, here[k], far, p)
            at, far = place, here[k]
        for ray in range(n_rays):
            hanging = 0.0
            for k in range(n - 1, -1, -1):
                hanging += mass[tree, ray, order[k]]
                size = power(abs(hanging), p)
                raised[k] += size
                steep[k] = steepness(hanging, size, weight[k], p)
            if gradients:
                potential = 0.0
                for k in range(n):
                    potential += steep[k]
                    mass[tree, ray, order[k]] = potential
        total, growth, far = 0.0, 0.0, far_root
        for k in range(n):
            total += raised[k] * weight[k]
            if gradients:
                growth += raised[k] * (far - here[k])
                slope[tree, order[k]] = here[k] * (raised[k] - (raised[k + 1] if k + 1 < n else 0.0))
                far = here[k]
        values[tree] = total
        if gradients:
            # Moving the farthest point lengthens what is below every edge.
            slope[tree, order[n - 1]] += growth


@compiled
def _push(height, radius, angle, cosine, sine, turn, share, mass, slope, weight, by_weight, delta, gain, noise):
    """Turn derivatives by mass and angle into those by weight, and coefficients of roots, points and edges.

    The last three overwrite `height`, `radius` and `cosine`. With u = (x - ⟨x, r⟩ r)/sin s, the derivative of s by x is
    u cos s - r sin s and that of φ_j is -(y_j - cos φ_j u)/(sin φ_j sin s); in that of φ_j sin s the sine cancels.
    """
    n_trees, n_rays, n_points = mass.shape
    for tree in range(n_trees):
        for k in range(n_points):
            mean = 0.0
            for ray in range(n_rays):
                mean += share[tree, ray, k] * mass[tree, ray, k]
            by_weight[k] += gain * mean
            by_angle, by_direction = gain * slope[tree, k], 0.0
            h, far = height[tree, k], radius[tree, k]
            # At a pole there is no direction to move in; 0 is the subgradient of least norm.
            at_pole = far <= noise
            for ray in range(n_rays):
                by_distance = -gain * delta * weight[k] * share[tree, ray, k] * (mass[tree, ray, k] - mean)
                by_angle += by_distance * turn[tree, ray, k] * np.cos(angle[tree, k])
                on_ray = sine[tree, ray, k] * far <= noise
                by_edge = 0.0 if at_pole or on_ray else -by_distance / sine[tree, ray, k]
                by_direction -= by_edge * cosine[tree, ray, k]
                cosine[tree, ray, k] = by_edge
            by_direction += by_angle * h
            height[tree, k] = 0.0 if at_pole else -by_angle * far - by_direction * h / far
            radius[tree, k] = 0.0 if at_pole else by_direction / far
