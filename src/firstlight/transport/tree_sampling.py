"""Random trees of lines and rays, drawn so that the mean over them varies little."""

from typing import Literal

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from firstlight.errors import InvalidInput
from firstlight.transport.balanced_draws import (
    directions_in_space,
    normal_quantiles,
    paired_normals,
    random_bases,
    shifted_lattice,
)
from firstlight.transport.spherical_trees import SphericalTreeSystem
from firstlight.transport.tree_systems import Structure, TreeSystem

JOINTS = 0.1  # joints of a chain lie at most so far from the start of their line (TSW-SL)

Sampling = Literal["balanced", "independent"]


def sample_tree_system(
    center: ArrayLike,
    n_trees: int = 250,
    n_lines: int = 4,
    *,
    structure: Structure = "concurrent",
    orthogonal: bool = False,
    spread: float | int = 0.1,
    sampling: Sampling = "balanced",
    seed: int | np.random.Generator | None = None,
) -> TreeSystem:
    """Draw random trees of lines around a point.

    Roots are normal around `center`, directions uniform on the sphere.

    Parameters
    ----------
    center : the middle of the roots, shape (d,), usually the mean of the target points.
    n_trees : number of trees.
    n_lines : lines of each tree.
    structure : "concurrent", all lines through the root (Db-TSW, Tran et al. 2025), or "chain" (TSW-SL, 2024).
    orthogonal : make the lines of a tree perpendicular to each other; needs n_lines ≤ d. Otherwise their directions
        are independent.
    spread : standard deviation of the roots around `center`, in units of the points.
    sampling : "balanced" couples the trees so that they fill their space evenly, which makes means over them more exact
        (each tree alone has the same distribution); "independent" does not.
    seed : seed or generator.

    Raises
    ------
    InvalidInput
        If a count is not positive, or more orthogonal lines are asked for than there are dimensions.
    """
    center = np.asarray(center, np.float64)
    if center.ndim != 1 or not center.size or not np.isfinite(center).all():
        raise InvalidInput(f"expected one finite point of shape (d,) as center, got shape {center.shape}")
    if structure not in ("concurrent", "chain"):
        raise InvalidInput(f"structure must be 'concurrent' or 'chain', got {structure!r}")
    if not (np.isfinite(spread) and spread >= 0):
        raise InvalidInput(f"spread must be a finite number of at least 0, got {spread}")
    d, balanced = len(center), _checked(n_trees, n_lines, sampling)
    if orthogonal and n_lines > d:
        raise InvalidInput(f"{n_lines} orthogonal lines need as many dimensions, the points have {d}")
    rng = np.random.default_rng(seed)
    if orthogonal:
        frames = n_lines * (d // n_lines if balanced else 1)  # of each basis, whole frames
        count = -(-n_trees * n_lines // frames)
        bases = np.stack([random_bases(frames, d, rng) for _ in range(count)])
        directions = bases.reshape(-1, n_lines, d)[:n_trees]
        normals = paired_normals(n_trees, d, rng) if balanced else rng.standard_normal((n_trees, d))
    elif balanced:
        normals, directions = _balanced_lines(n_trees, n_lines, d, rng)
    else:
        normals, directions = rng.standard_normal((n_trees, d)), rng.standard_normal((n_trees, n_lines, d))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    joints = rng.uniform(-JOINTS, JOINTS, (n_trees, n_lines - 1)) if structure == "chain" else None
    return TreeSystem(center + spread * normals, directions, joints)


def _balanced_lines(
    n_trees: int, n_lines: int, d: int, rng: np.random.Generator
) -> tuple[Float64[np.ndarray, "trees d"], Float64[np.ndarray, "trees lines d"]]:
    """Draw what places the roots, standard normal, and directions, each line independent of the others of its tree."""
    if d > 3:
        lines = [random_bases(n_trees, d, rng)[rng.permutation(n_trees)] for _ in range(n_lines)]
        return paired_normals(n_trees, d, rng), np.stack(lines, axis=1)
    uniform = shifted_lattice(n_trees, n_lines * (d - 1) + d, rng)
    normals, angles = normal_quantiles(uniform[:, -d:]), uniform[:, :-d].reshape(n_trees, n_lines, d - 1)
    if d == 3:
        return normals, directions_in_space(angles) @ random_bases(3, 3, rng)
    if d == 2:
        turn = np.pi * angles[..., 0]
        return normals, np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    return normals, np.ones((n_trees, n_lines, 1))


def sample_spherical_trees(
    d: int,
    n_trees: int = 250,
    n_lines: int = 4,
    *,
    sampling: Sampling = "balanced",
    seed: int | np.random.Generator | None = None,
) -> SphericalTreeSystem:
    """Draw random trees on S^{d-1}: roots uniform on the sphere, edges uniform on their equators.

    Parameters
    ----------
    d : number of coordinates of the points.
    n_trees, n_lines : number of trees, and of rays in each.
    sampling, seed : as in `sample_tree_system`.

    Raises
    ------
    InvalidInput
        If d < 2, or a count is not positive.
    """
    if d < 2:
        raise InvalidInput(f"a sphere needs points of at least 2 coordinates, got {d}")
    balanced = _checked(n_trees, n_lines, sampling)
    rng = np.random.default_rng(seed)
    if balanced:
        roots, on_equator = _balanced_rays(n_trees, n_lines, d, rng)
    else:
        roots, on_equator = rng.standard_normal((n_trees, d)), rng.standard_normal((n_trees, n_lines, d - 1))
    roots /= np.linalg.norm(roots, axis=-1, keepdims=True)
    edges = _turned(np.pad(on_equator, ((0, 0), (0, 0), (1, 0))), roots)
    for _ in range(2):  # once more, so that rounding does not leave the equator
        edges -= np.einsum("tkd,td->tk", edges, roots)[..., None] * roots[:, None]
        edges /= np.linalg.norm(edges, axis=-1, keepdims=True)
    return SphericalTreeSystem(roots, edges)


def _balanced_rays(
    n_trees: int, n_lines: int, d: int, rng: np.random.Generator
) -> tuple[Float64[np.ndarray, "trees d"], Float64[np.ndarray, "trees lines d_less_one"]]:
    """Draw uniform roots, and directions of rays as seen from them, each ray independent of the others of its tree."""
    if d > 3:
        half = random_bases(-(-n_trees // 2), d, rng)
        rays = [random_bases(n_trees, d - 1, rng)[rng.permutation(n_trees)] for _ in range(n_lines)]
        return np.concatenate([half, -half])[:n_trees], np.stack(rays, axis=1)
    uniform = shifted_lattice(n_trees, d - 1 + n_lines, rng)
    placed, turn = uniform[:, : d - 1], 2 * np.pi * uniform[:, d - 1 :]
    if d == 3:
        rays = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        return directions_in_space(placed) @ random_bases(3, 3, rng), rays
    roots = np.concatenate([np.cos(2 * np.pi * placed), np.sin(2 * np.pi * placed)], axis=-1)
    return roots, np.where(turn < np.pi, 1.0, -1.0)[..., None]


def _turned(
    vectors: Float64[np.ndarray, "trees k d"], roots: Float64[np.ndarray, "trees d"]
) -> Float64[np.ndarray, "trees k d"]:
    """Apply to the vectors of each tree the reflection that takes the first axis to its root, up to a sign."""
    mirror = roots.copy()
    mirror[:, 0] += np.copysign(1.0, roots[:, 0])  # the sign that does not cancel
    scale = 2 / np.einsum("td,td->t", mirror, mirror)
    return vectors - (scale[:, None] * np.einsum("tkd,td->tk", vectors, mirror))[..., None] * mirror[:, None]


def check_count(count: int, name: str) -> int:
    """Return a number of things, of which there must be one.

    Raises
    ------
    InvalidInput
        If it is not a whole number of at least 1.
    """
    if not isinstance(count, int | np.integer) or count < 1:
        raise InvalidInput(f"{name} must be a whole number of at least 1, got {count!r}")
    return int(count)


def _checked(n_trees: int, n_lines: int, sampling: str) -> bool:
    """Check counts and return whether trees are to be balanced."""
    check_count(n_trees, "n_trees")
    check_count(n_lines, "n_lines")
    if sampling not in ("balanced", "independent"):
        raise InvalidInput(f"sampling must be 'balanced' or 'independent', got {sampling!r}")
    return sampling == "balanced"
