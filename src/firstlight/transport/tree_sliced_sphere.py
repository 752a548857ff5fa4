"""Tree-sliced Sobolev distances between points on the unit sphere, called like POT's spherical sliced distances."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from firstlight.errors import InvalidInput
from firstlight.transport.averaging import sharpness, sliced_distance
from firstlight.transport.measures import Clouds, as_array, as_points, as_weights, is_tensor
from firstlight.transport.ray_slices import RaySlices
from firstlight.transport.sobolev_tree import check_order
from firstlight.transport.spherical_trees import SphericalTreeSystem
from firstlight.transport.streaming import Gradients, Slices
from firstlight.transport.tree_sampling import check_count, sample_spherical_trees

# Rows may miss length 1 by this much before they are refused: the rounding of single precision, generously.
OFF_SPHERE = 1e-4


def tree_sliced_sobolev_sphere(
    X_s: Any,
    X_t: Any,
    a: Any = None,
    b: Any = None,
    *,
    n_trees: int = 250,
    n_lines: int = 4,
    p: float | int = 2.0,
    delta: float | int = 2.0,
    splitting: Literal["distance", "uniform"] = "distance",
    trees: SphericalTreeSystem | None = None,
    normalize: bool = False,
    seed: int | np.random.Generator | None = None,
    log: bool = False,
) -> Any:
    """Spherical tree-sliced Sobolev distance STS_p between two weighted point clouds on S^{d-1}.

    Parameters
    ----------
    X_s, X_t : array-like or torch.Tensor, shape (n, d) and (m, d)
        Points on the unit sphere.
    a, b : array-like or torch.Tensor, shape (n,) and (m,), optional
        Weights of the points, at least 0 and of equal sums; equal weights unless given.
    n_trees, n_lines : int
        Number of random trees, and of rays in each.
    p : float
        Order, at least 1.
    delta : float
        Sharpness of the split by angle; the larger, the more of a point goes to its nearest ray.
    splitting : {"distance", "uniform"}
        Split each point's mass between the rays by its distance to them, or evenly.
    trees : SphericalTreeSystem, optional
        The trees to use, for example those of ``log["trees"]``.
    normalize : bool
        Divide points by their norm first; otherwise points off the sphere are refused.
    seed : int or numpy.random.Generator, optional
        Where the random trees come from.
    log : bool
        Also return a dictionary: "trees", "tree_values" (S_p^p of each) and "standard_error".

    Returns
    -------
    distance : float, or 0-d torch.Tensor for torch input
        STS_p, in radians when p = 1. Gradients lie in the tangent planes of the sphere and are finite at the poles of
        every tree; at equal measures they are 0.
    log : dict
        Only if `log`.

    Raises
    ------
    InvalidInput
        If points are off the sphere, or shapes, weights or an option cannot be used.
    """
    sample = partial(sample_spherical_trees, n_trees=n_trees, n_lines=n_lines, seed=seed)
    method = _OnRays(check_order(p), sharpness(delta, splitting), trees, sample)
    if normalize:
        X_s, X_t = _normalized(X_s, "X_s"), _normalized(X_t, "X_t")
    return sliced_distance(X_s, X_t, a, b, method, log=log)


def tree_sliced_sobolev_sphere_unif(
    X_s: Any,
    a: Any = None,
    *,
    n_samples: int | None = None,
    seed: int | np.random.Generator | None = None,
    **options: Any,
) -> Any:
    """Spherical tree-sliced Sobolev distance to the uniform distribution on S^{d-1}.

    Parameters
    ----------
    X_s : array-like or torch.Tensor, shape (n, d)
        Points on the unit sphere.
    a : array-like or torch.Tensor, shape (n,), optional
        Weights of the points.
    n_samples : int, optional
        Number of points that stand for the uniform distribution, drawn anew in each call; as many as there are
        points unless given.
    seed : int or numpy.random.Generator, optional
        Where the uniform points and the random trees come from.
    **options
        As in `tree_sliced_sobolev_sphere`.

    Returns
    -------
    As `tree_sliced_sobolev_sphere`.
    """
    points = as_points(X_s, "X_s")
    n, d = points.shape
    count = check_count(n if n_samples is None else n_samples, "n_samples")
    rng = np.random.default_rng(seed)
    # A stream of its own: points that the caller drew with the same seed must not be taken for uniform ones.
    uniform = np.random.default_rng(rng.integers(2**63, size=4)).standard_normal((count, d))
    uniform = (uniform / np.linalg.norm(uniform, axis=1, keepdims=True)).astype(points.dtype)
    weights = None if a is None else np.full(count, as_weights(a, n, "a").sum() / count)
    return tree_sliced_sobolev_sphere(X_s, uniform, a, weights, seed=rng, **options)


def _normalized(X: Any, name: str) -> Any:
    """Divide rows by their norms."""
    if is_tensor(X):
        from firstlight.transport.tensors import sound

        X = sound(X, name)
        norms = X.norm(dim=1, keepdim=True)
    else:
        X = as_points(X, name)
        norms = np.linalg.norm(X, axis=1, keepdims=True)
    if not norms.all():
        row = int(np.argmin(as_array(norms)))
        raise InvalidInput(f"row {row} of {name} is 0 and has no direction on the sphere")
    return X / norms


def check_unit_rows(X: Any, name: str) -> None:
    """Refuse points off the unit sphere.

    Raises
    ------
    InvalidInput
        If a row misses length 1 by more than single precision explains.
    """
    norms = as_array(X.norm(dim=1)) if is_tensor(X) else np.linalg.norm(X, axis=1)
    off = np.abs(norms - 1)
    if off.max() > OFF_SPHERE:
        raise InvalidInput(
            f"points must lie on the unit sphere, row {off.argmax()} of {name} has norm {norms[off.argmax()]:.6g}; "
            "divide rows by their norm, or pass normalize=True"
        )


@dataclass(frozen=True)
class _OnRays:
    """How clouds are laid on spherical trees; see `averaging.Method`."""

    p: float
    delta: float | None
    trees: SphericalTreeSystem | None
    sample: Callable[[int], SphericalTreeSystem]

    def choose_trees(self, clouds: Clouds) -> SphericalTreeSystem:
        """Return the trees given, or new ones, for points that lie on the sphere."""
        check_unit_rows(clouds.X_s, "X_s")
        check_unit_rows(clouds.X_t, "X_t")
        trees, d = self.trees, clouds.X_t.shape[1]
        if trees is None:
            return self.sample(d)
        if not isinstance(trees, SphericalTreeSystem):
            raise InvalidInput(f"trees must be a SphericalTreeSystem, got {type(trees).__name__}")
        if trees.roots.shape[1] != d:
            raise InvalidInput(f"the trees live in {trees.roots.shape[1]} dimensions, the points in {d}")
        return trees

    def slices(self, clouds: Clouds, trees: SphericalTreeSystem, gradients: Gradients) -> Slices:
        """Return the clouds on the trees: by compiled kernels on the processor, by tensor operations elsewhere."""
        if is_tensor(clouds.X_s):
            from firstlight.transport.tensor_slices import TensorRaySlices

            return TensorRaySlices(clouds, trees, self.p, self.delta, gradients)
        return RaySlices(clouds, trees, self.p, self.delta, gradients)
