"""Why a predicted basis should have more columns than there are wanted vectors.

**Order changes.** The lowest k eigenfunctions of −Σ a_i ∂_i² on a box are products of sines, whatever the a_i > 0 are;
only which ones are lowest changes, by jumps. The product of mode numbers m = (m_1, …, m_d) has Π m_i − 1 others with no
number larger, all lower, so it can be among the lowest k only if Π m_i ≤ k. The products with Π m_i ≤ k span one fixed
space for all anisotropies, of D(k) ~ k (ln k)^(d−1) / (d−1)! dimensions: in the plane Σ_j ⌊k/j⌋. (`hyperbolic_modes`)

**Smooth dependence.** Where a basis V(t) depends smoothly on a parameter, the constant space spanned by V and its
derivatives up to order q at one point contains V(t) up to O(|t|^(q+1)) around it, by Taylor's formula. With k columns
per derivative and d parameters these are k·C(d+q, q) columns. (`taylor_basis`, `taylor_dimension`)

Both are statements of Fanaskov et al. 2026, proved here anew in a line each.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float64, Int64

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.angles import principal_angles
from firstlight.pde.subspace.columns import independent


def hyperbolic_modes(k: int, dim: int = 2) -> Int64[np.ndarray, "modes dim"]:
    """Mode numbers, from 1, that can be among the lowest k for some anisotropy: those whose product is at most k.

    Parameters
    ----------
    k : how many lowest eigenfunctions are wanted, with their order resolved in any way.
    dim : axes of the box.

    Raises
    ------
    InvalidInput
        If `k` or `dim` is not positive.
    """
    if k < 1 or dim < 1:
        raise InvalidInput(f"k and dim must be at least 1, got {k} and {dim}")
    modes = [(m,) for m in range(1, k + 1)]
    for _ in range(dim - 1):
        modes = [(*mode, m) for mode in modes for m in range(1, k // math.prod(mode) + 1)]
    return np.array(modes)


def fixed_dimension(k: int, dim: int = 2) -> int:
    """D(k), the number of `hyperbolic_modes`: columns with which one basis serves all anisotropies."""
    return len(hyperbolic_modes(k, dim))


def box_eigenvectors(grid: Sequence[int], modes: Int64[np.ndarray, "modes dim"]) -> Float64[np.ndarray, "n modes"]:
    """Return the sampled products of sines on the inner points of a box, orthonormal, grid points row by row.

    They are the exact eigenvectors of the finite-difference operator as well.
    """
    columns = np.ones((1, len(modes)))
    for size, numbers in zip(grid, modes.T, strict=True):
        points = np.arange(1, size + 1) / (size + 1)
        sines = np.sqrt(2 / (size + 1)) * np.sin(np.pi * np.outer(points, numbers))
        columns = (columns[:, None] * sines).reshape(-1, len(modes))
    return columns


def lowest_modes(anisotropy: Sequence[float], grid: Sequence[int], k: int) -> Int64[np.ndarray, "k dim"]:
    """Return the mode numbers of the lowest k eigenvalues of −Σ a_i ∂_i², in finite differences, times h².

    The eigenvalue of a product is Σ_i a_i (2 sin(π m_i / 2(N_i + 1)))².
    """
    values = [
        a * (2 * np.sin(np.pi * np.arange(1, size + 1) / (2 * (size + 1)))) ** 2
        for a, size in zip(anisotropy, grid, strict=True)
    ]
    total = np.sum(np.meshgrid(*values, indexing="ij"), axis=0)
    order = np.argsort(total, axis=None, kind="stable")[:k]
    return np.stack(np.unravel_index(order, total.shape), axis=1) + 1


def taylor_dimension(k: int, order: int, parameters: int = 1) -> int:
    """k·C(d+q, q), the columns with which a constant basis follows k vectors to the order q in d parameters."""
    return k * math.comb(parameters + order, order)


def taylor_basis(
    vectors: Callable[[float], Float64[np.ndarray, "n k"]], order: int, step: float = 1e-2
) -> Float64[np.ndarray, "n p"]:
    """Return an orthonormal basis of the span of V(0) and its derivatives up to `order` by one parameter.

    The differences are those of P(t) V(0), with P(t) the projector on the span of V(t): the same space, and smooth even
    where an eigensolver turns signs from one point to the next.

    Parameters
    ----------
    vectors : V(t), orthonormal; its span must depend smoothly on t.
    order : q.
    step : between the points of the differences.
    """
    reach = order // 2 + 1
    points = np.arange(-reach, reach + 1)
    middle, around = vectors(0.0), [vectors(step * float(point)) for point in points]
    values = np.stack([V @ (V.T @ middle) for V in around])
    # Weights that are exact for polynomials of degree up to 2 reach; the span does not mind the factors q!.
    weights = np.linalg.inv(np.vander(points, increasing=True).astype(float))[: order + 1]
    return independent(np.concatenate(list(np.tensordot(weights, values, axes=1)), axis=1))


def convergence_orders(
    vectors: Callable[[float], Float64[np.ndarray, "n k"]], order: int, distances: Sequence[float]
) -> Float64[np.ndarray, " ratios"]:
    """Measure at which order in t the basis of `taylor_basis` loses V(t).

    Parameters
    ----------
    vectors, order : as `taylor_basis` takes them.
    distances : values of t, each half of the one before.

    Returns
    -------
    The logarithm to base 2 of the ratios of successive largest sines; `order` + 1 is predicted.
    """
    basis = taylor_basis(vectors, order)
    sines = [math.sin(principal_angles(basis, vectors(t))[0]) for t in distances]
    return np.log2(np.array(sines[:-1]) / np.array(sines[1:]))
