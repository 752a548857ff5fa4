"""Symmetric arrays, sparse matrices and LinearOperators, checked before work begins."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from firstlight.errors import InvalidInput

ROUNDING = {np.dtype(np.float32): 1e-5, np.dtype(np.float16): 1e-2}  # asymmetry forgiven; of float64, 1e-10
ZERO = 1e-12  # of |A| |v|: what counts as A v = 0


class SymmetricOperator:
    """A real symmetric matrix, known by its products, with an estimate of its size.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator. The entries of a matrix are compared with their mirror images; an
        operator is probed with two random vectors, since uᵀA v = vᵀA u.
    name : how to call it in messages.

    Attributes
    ----------
    n : number of unknowns.
    scale : ``|A v| / |v|`` for a random v, a lower estimate of the norm that rounding errors are measured by.

    Raises
    ------
    InvalidInput
        If A is not square, real, finite or symmetric.
    """

    def __init__(self, A: Any, name: str = "A") -> None:
        self.given, self.name = as_operand(A, name), name
        if np.issubdtype(self.given.dtype or np.float64, np.complexfloating):
            raise InvalidInput(f"{name} is complex; only real symmetric matrices are taken")
        self.n = int(self.given.shape[0])
        u, v = np.random.default_rng(0).normal(size=(2, self.n))
        image = self.product(v)
        if not np.isfinite(image).all():
            raise InvalidInput(f"{name} holds values that are not finite, or overflows; check its assembly")
        self.scale = float(np.linalg.norm(image) / np.linalg.norm(v))
        tolerance = ROUNDING.get(self.given.dtype, 1e-10)
        if not isinstance(self.given, LinearOperator):
            self._compare_entries(tolerance)
        elif abs(u @ image - v @ self.product(u)) > tolerance * np.linalg.norm(u) * np.linalg.norm(image):
            raise InvalidInput(self._asymmetric("uᵀA v and vᵀA u differ for random u and v"))

    def product(self, x: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        """Return A x."""
        return np.asarray(self.given @ x, np.float64)

    def products(self, X: Float64[np.ndarray, "n p"]) -> Float64[np.ndarray, "n p"]:
        """Return A X, column by column where A is an operator."""
        return np.asarray(self.given @ X, np.float64)

    def annihilates(self, v: Float64[np.ndarray, " n"]) -> bool:
        """Whether A v = 0, up to rounding."""
        return bool(np.linalg.norm(self.product(v)) <= ZERO * self.scale * np.linalg.norm(v))

    def _compare_entries(self, tolerance: float) -> None:
        difference = abs(self.given - self.given.T)
        worst, largest = (float(one.max()) if one.shape[0] else 0.0 for one in (difference, abs(self.given)))
        if worst > tolerance * largest:
            flat = difference.toarray() if sp.issparse(difference) and self.n <= 500 else difference
            where = ""
            if isinstance(flat, np.ndarray):
                i, j = (int(index) for index in np.unravel_index(np.argmax(flat), flat.shape))
                where = f", first at ({i}, {j})"
            raise InvalidInput(self._asymmetric(f"entries differ from their mirror images by up to {worst:.3g}{where}"))

    def _asymmetric(self, how: str) -> str:
        return (
            f"{self.name} is not symmetric: {how}; this method needs a symmetric matrix: impose boundary conditions on "
            f"rows and columns alike, or use scipy.sparse.linalg.gmres"
        )


def as_operand(A: Any, name: str = "A") -> Any:
    """Return a square array, sparse matrix in rows, or LinearOperator as something to multiply with.

    Raises
    ------
    InvalidInput
        If it is none of these or not square.
    """
    if sp.issparse(A):
        A = A.tocsr()
    elif not isinstance(A, np.ndarray):
        try:
            A = aslinearoperator(A)
        except TypeError as error:
            raise InvalidInput(
                f"expected {name} as an array, a sparse matrix or a LinearOperator, got {type(A).__name__}"
            ) from error
    if len(A.shape) != 2 or A.shape[0] != A.shape[1] or A.shape[0] == 0:
        raise InvalidInput(f"expected {name} square, got shape {A.shape}")
    return A
