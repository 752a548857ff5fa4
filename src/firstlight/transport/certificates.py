"""A proof of a sliced distance that does not trust the method: a function on every tree that attains it.

For any f with ∫ ŵ |f'|^{p'} dω ≤ 1, ∫ f d(μ - ν) ≤ S_p(μ, ν). The best f of each tree is evaluated here on the explicit
tree, laid out by `to_tree`, with masses by `shares`; neither shares code with the streaming kernels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64, Int64

from firstlight.errors import InvalidInput
from firstlight.transport.averaging import sharpness
from firstlight.transport.measures import Clouds, weighed_clouds
from firstlight.transport.sobolev_tree import check_order, sobolev_critic
from firstlight.transport.spherical_trees import SphericalTreeSystem
from firstlight.transport.tree_sliced_sphere import check_unit_rows
from firstlight.transport.tree_systems import TreeSystem


@dataclass(frozen=True, eq=False)
class DualCertificate:
    """Lower bounds of a sliced distance on given trees.

    Attributes
    ----------
    bound : (mean of the tree's bounds to the power p)^{1/p}, at most the distance.
    tree_bounds : on each tree, ∫ f d(μ - ν) divided by the norm of f, at most S_p.
    largest_norm_error : how far the norm of an f is from 1, which it should be.
    """

    bound: float
    tree_bounds: Float64[np.ndarray, " trees"]
    largest_norm_error: float


def dual_certificate(
    X_s: Any,
    X_t: Any,
    a: Any = None,
    b: Any = None,
    *,
    trees: TreeSystem | SphericalTreeSystem,
    p: float | int = 2.0,
    delta: float | int = 2.0,
    splitting: Literal["distance", "uniform"] = "distance",
) -> DualCertificate:
    """Bound a tree-sliced distance on some trees from below by dual functions.

    Parameters are those of `tree_sliced_sobolev` and `tree_sliced_sobolev_sphere`; the trees are those of
    ``log["trees"]``. It is computed in double precision.

    Raises
    ------
    InvalidInput
        If shapes, numbers, weights or trees cannot be used, or points are off the sphere of spherical trees.

    Examples
    --------
    >>> import numpy as np
    >>> from firstlight.transport import tree_sliced_sobolev
    >>> x, y = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.5, 2.0]])
    >>> distance, log = tree_sliced_sobolev(x, y, p=1.5, n_trees=10, seed=0, log=True)
    >>> certificate = dual_certificate(x, y, p=1.5, trees=log["trees"])
    >>> bool(abs(certificate.bound - distance) < 1e-14 * distance)
    True
    """
    p, sharp = check_order(p), sharpness(delta, splitting)
    if not isinstance(trees, TreeSystem | SphericalTreeSystem):
        raise InvalidInput(f"trees must be a TreeSystem or a SphericalTreeSystem, got {type(trees).__name__}")
    clouds = weighed_clouds(X_s, X_t, a, b)
    if isinstance(trees, SphericalTreeSystem):
        check_unit_rows(clouds.X_s, "X_s")
        check_unit_rows(clouds.X_t, "X_t")
    bounds, misses = np.zeros(trees.n_trees), np.zeros(trees.n_trees)
    for tree, explicit in enumerate(explicit_trees(clouds, trees, sharp)):
        critic = sobolev_critic(*explicit, p)
        if critic.norm:  # equal measures have the critic 0
            bounds[tree], misses[tree] = critic.bound / critic.norm, abs(critic.norm - 1)
    return DualCertificate(float(np.mean(bounds**p) ** (1 / p)), bounds, float(misses.max()))


def explicit_trees(
    clouds: Clouds, trees: TreeSystem | SphericalTreeSystem, delta: float | None
) -> Iterator[
    tuple[Int64[np.ndarray, " vertices"], Float64[np.ndarray, " vertices"], Float64[np.ndarray, " vertices"]]
]:
    """Lay two clouds on one tree after the other: parents, lengths, and the difference of the measures at vertices.

    They are what `sobolev_ipm_tree` takes; `delta` of None splits masses evenly.

    Raises
    ------
    InvalidInput
        If trees and clouds are of different dimensions.
    """
    points = np.concatenate([clouds.X_s, clouds.X_t]).astype(np.float64)
    if points.shape[1] != trees.roots.shape[1]:
        raise InvalidInput(f"the trees live in {trees.roots.shape[1]} dimensions, the points in {points.shape[1]}")
    weight = np.concatenate([clouds.a, -clouds.b])
    for tree in range(trees.n_trees):
        parent, length = trees.to_tree(points, tree)
        laid = trees.shares(points, tree, delta or 0.0) * weight
        mass = np.zeros(len(parent))
        mass[1 : 1 + laid.size] = laid.ravel()
        yield parent, length, mass
