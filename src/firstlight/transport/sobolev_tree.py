"""The regularised Sobolev distance between two measures on a rooted tree, in closed form and in linear time.

On a tree T with root r and length measure ω, let Λ(x) be what lies below x. With ŵ(x) = 1 + ω(Λ(x)),

    S_p(μ, ν)^p = ∫_T ŵ(x)^{1-p} |μ(Λ(x)) - ν(Λ(x))|^p ω(dx)                      (Le, Nguyen, Hino, Fukumizu 2025)

is a sum over edges, because the mass below is constant on an edge and ŵ grows linearly along it:
S_p^p = Σ_e β_e |D_e|^p with D_e the mass difference below e and β_e = ∫_0^{w_e} (1 + ω_e + s)^{1-p} ds, where w_e is
the length of e and ω_e all length below it. At p = 1 this is the Wasserstein distance W₁ on the tree.
"""

from dataclasses import dataclass
from numbers import Real

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64, Int32
from numpy.typing import ArrayLike
from scipy.sparse.linalg import spsolve_triangular

from firstlight.errors import InvalidInput
from firstlight.transport.tree_passes import collect, depths


@dataclass(frozen=True, eq=False)
class SobolevCritic:
    """The function that attains a Sobolev distance on a tree: a certificate that does not use the closed form.

    ``S_p = max { ∫ f d(μ - ν) : ∫ ŵ |f'|^{p'} dω ≤ 1 }``, 1/p + 1/p' = 1, is attained by
    ``f' = sign(D) |D|^{p-1} ŵ^{1-p} / S_p^{p-1}``, f(root) = 0. Any f with norm at most 1 bounds S_p from below, so
    that value and norm together prove the distance.

    Attributes
    ----------
    values : f at each vertex.
    bound : ∫ f d(μ - ν), a sum over vertices.
    norm : ``(∫ ŵ |f'|^{p'} dω)^{1/p'}`` by Gauss-Legendre quadrature on every edge; for p = 1 the largest ``|f'|``.
    """

    values: Float64[np.ndarray, " vertices"]
    bound: float
    norm: float


def sobolev_ipm_tree(
    parent: ArrayLike,
    length: ArrayLike,
    mass: ArrayLike,
    p: float | int = 2.0,
) -> float:
    """Sobolev distance S_p between two measures on any rooted tree, for example a phylogeny.

    Parameters
    ----------
    parent : array-like of integers, shape (vertices,)
        The vertex above each vertex, in any order; -1 for the root, of which there is one.
    length : array-like, shape (vertices,)
        Length of the edge to the vertex above, at least 0; that of the root is ignored.
    mass : array-like, shape (vertices,)
        Difference of the two measures at each vertex, summing to 0.
    p : float
        Order of the distance, at least 1.

    Returns
    -------
    float
        S_p, in units of length when p = 1 (the Wasserstein distance on the tree).

    Raises
    ------
    InvalidInput
        If the arrays are not a rooted tree with finite lengths, masses do not balance, or p < 1.

    Examples
    --------
    Half of the mass at the root moves along an edge of length 2, at a cost of 1.

    >>> sobolev_ipm_tree(parent=[-1, 0], length=[0, 2], mass=[0.5, -0.5], p=1)
    1.0
    """
    p = check_order(p)
    _, parent, length, mass = _rooted(parent, length, mass)
    below, *slopes = (np.zeros_like(mass) for _ in range(4))
    return collect(parent, length, mass, below, *slopes, p) ** (1 / p)


def sobolev_critic(
    parent: ArrayLike,
    length: ArrayLike,
    mass: ArrayLike,
    p: float | int = 2.0,
) -> SobolevCritic:
    """Return the function that attains `sobolev_ipm_tree`, with its value and its norm computed independently.

    What lies below a vertex is found here by sparse triangular solves, integrals by quadrature.
    Parameters, units and errors are those of `sobolev_ipm_tree`.
    """
    p = check_order(p)
    distance = sobolev_ipm_tree(parent, length, mass, p)
    order, parent, length, mass = _rooted(parent, length, mass)
    # Row v of (I - A) x = y, A[v, child] = 1, says: x is y summed over the subtree; its transpose sums along paths.
    n = len(parent)
    above = sp.eye_array(n, format="csr") - sp.csr_array((np.ones(n - 1), (parent[1:], np.arange(1, n))), shape=(n, n))
    difference = spsolve_triangular(above, mass, lower=False, unit_diagonal=True)
    hat = 1 + spsolve_triangular(above, length, lower=False, unit_diagonal=True) - length
    rise, norm = _integrate(difference / distance if distance else np.zeros(n), hat, length, p)
    values = np.empty(n)
    values[order] = spsolve_triangular(above.T.tocsr(), rise, lower=True, unit_diagonal=True)
    return SobolevCritic(values, float(values[order] @ mass), norm)


def _integrate(
    relative: Float64[np.ndarray, " vertices"],
    hat: Float64[np.ndarray, " vertices"],
    length: Float64[np.ndarray, " vertices"],
    p: float,
) -> tuple[Float64[np.ndarray, " vertices"], float]:
    """Integrate the critic's slope along every edge, and its norm over all, given D/S_p and ŵ at the lower ends."""
    shape = np.sign(relative) * np.abs(relative) ** (p - 1)
    if p == 1:
        return shape * length, float(np.abs(shape[length > 0]).max(initial=0.0))
    # In u = log ŵ the integrands are exponentials, which few nodes integrate however long the edge is.
    start, span = np.log(hat), np.log1p(length / hat)
    rise, power = np.zeros_like(hat), 0.0
    for node, weight in zip(*np.polynomial.legendre.leggauss(40), strict=True):
        here = np.exp(start + span * (node + 1) / 2)
        slope = shape * here ** (1 - p)
        measure = span * weight / 2 * here
        rise += slope * measure
        power += np.sum(here * np.abs(slope) ** (p / (p - 1)) * measure)
    return rise, float(power ** (1 - 1 / p))


def _rooted(
    parent: ArrayLike, length: ArrayLike, mass: ArrayLike
) -> tuple[np.ndarray, Int32[np.ndarray, " n"], Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
    """Check a tree and put copies of its vertices in an order in which each stands after the one above it."""
    parent, length, mass = np.asarray(parent), np.asarray(length, np.float64), np.asarray(mass, np.float64)
    n = parent.size
    if not parent.shape == length.shape == mass.shape == (n,) or n == 0:
        raise InvalidInput(f"expected three arrays of one length, got {parent.shape}, {length.shape} and {mass.shape}")
    if not np.issubdtype(parent.dtype, np.integer):
        raise InvalidInput(f"parents are numbers of vertices; expected integers, got dtype {parent.dtype}")
    n_roots = np.count_nonzero(parent == -1)
    if n_roots != 1 or parent.min() < -1 or parent.max() >= n:
        raise InvalidInput(f"expected one root with parent -1 and other parents in 0 … {n - 1}, got {n_roots} roots")
    depth = depths(parent.astype(np.int64))
    if depth.min() < 0:
        raise InvalidInput(f"vertex {int(np.argmin(depth))} does not lead up to the root: its parents form a circle")
    length = np.where(parent == -1, 0.0, length)
    if not (np.isfinite(length).all() and np.isfinite(mass).all() and length.min() >= 0):
        raise InvalidInput("lengths must be finite and at least 0, masses finite")
    if abs(mass.sum()) > 1e-6 * np.abs(mass).sum():
        raise InvalidInput(f"both measures must weigh the same; their difference sums to {mass.sum():g}, expected 0")
    order = np.argsort(depth, kind="stable")
    place = np.empty(n, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    return order, np.append(np.int32(-1), place[parent[order[1:]]]).astype(np.int32), length[order], mass[order]


def check_order(p: float | int) -> float:
    """Return the order of a distance; below 1, |·|^p is no cost.

    Raises
    ------
    InvalidInput
        If p is not a finite number of at least 1.
    """
    if not (isinstance(p, Real) and 1 <= p < np.inf):
        raise InvalidInput(f"p must be at least 1 and finite, got {p!r}; distances of order p in [1, 2] work best")
    return float(p)
