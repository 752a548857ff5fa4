"""Bases of subspaces: checked at the door, made orthonormal, shorn of directions that are not there."""

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from firstlight.errors import InvalidInput

RANK_TOLERANCE = 1e-10  # of the smallest singular value of the columns at unit length


def checked_basis(W: ArrayLike, n: int | None = None, *, name: str = "W") -> Float64[np.ndarray, "n p"]:
    """Return a basis as an array of float64, one vector per column.

    Raises
    ------
    InvalidInput
        If it is no real, finite matrix with at most as many columns as rows, or has not `n` rows.
    """
    W = np.asarray(W)
    if W.ndim != 2 or W.shape[1] == 0:
        raise InvalidInput(f"expected {name} as a matrix with one basis vector per column, got shape {W.shape}")
    if n is not None and W.shape[0] != n:
        turned = f"; it seems turned, pass {name}.T" if W.shape[1] == n else "; the operator has as many unknowns"
        raise InvalidInput(f"expected {name} with {n} rows, one per unknown, got shape {W.shape}{turned}")
    if W.shape[1] > W.shape[0]:
        raise InvalidInput(
            f"{name} has more columns than rows, shape {W.shape}; one basis vector per column: {name}.T?"
        )
    if np.iscomplexobj(W):
        raise InvalidInput(f"{name} is complex; real bases are wanted: stack its real and imaginary parts")
    try:
        W = W.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} does not hold numbers: {error}") from error
    if not np.isfinite(W).all():
        column = int(np.flatnonzero(~np.isfinite(W).all(axis=0))[0])
        raise InvalidInput(f"{name} holds values that are not finite, first in column {column}")
    return W


def orthonormal(W: ArrayLike, n: int | None = None, *, name: str = "W") -> Float64[np.ndarray, "n p"]:
    """Return an orthonormal basis of the span of the columns.

    Raises
    ------
    InvalidInput
        As `checked_basis`, or if the columns are linearly dependent.
    """
    W = checked_basis(W, n, name=name)
    lengths = np.linalg.norm(W, axis=0)
    if not lengths.all():
        raise InvalidInput(f"column {int(np.argmin(lengths))} of {name} is zero; drop it")
    Q, R = np.linalg.qr(W / lengths)
    rank = numerical_rank(R)
    if rank < W.shape[1]:
        raise InvalidInput(
            f"the {W.shape[1]} columns of {name} are linearly dependent, of rank {rank}; drop {W.shape[1] - rank}, for "
            f"example with firstlight.pde.subspace.independent({name})"
        )
    return Q


def independent(W: ArrayLike) -> Float64[np.ndarray, "n r"]:
    """Return an orthonormal basis of the span of columns that may be linearly dependent.

    Raises
    ------
    InvalidInput
        As `checked_basis`, or if all columns are zero.
    """
    W = checked_basis(W)
    lengths = np.linalg.norm(W, axis=0)
    if not lengths.any():
        raise InvalidInput("all columns are zero; there is no subspace")
    U, values, _ = np.linalg.svd(W[:, lengths > 0] / lengths[lengths > 0], full_matrices=False)
    return np.ascontiguousarray(U[:, values > RANK_TOLERANCE * values[0]])


def numerical_rank(R: Float64[np.ndarray, "p q"]) -> int:
    """Count the singular values above rounding."""
    values = np.linalg.svd(R, compute_uv=False)
    return int(np.count_nonzero(values > RANK_TOLERANCE * values[0]))
