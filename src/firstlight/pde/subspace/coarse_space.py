"""The coarse problem of a subspace: W, A W and the small matrix WᵀA W, factorised once for many uses."""

from typing import Any

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, eigh, solve_triangular

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.columns import checked_basis, orthonormal
from firstlight.pde.subspace.operators import SymmetricOperator, as_operand

SINGULAR = 1e-13  # of the size of A: an eigenvalue of WᵀA W that is nothing but rounding


class SingularCoarseMatrix(InvalidInput, np.linalg.LinAlgError):
    """WᵀA W cannot be factorised: A vanishes or is negative somewhere in the span of W."""


class CoarseSpace:
    """A subspace prepared for deflation: build it once where many right-hand sides share a matrix.

    Parameters
    ----------
    A : symmetric, positive definite on the span of W: array, sparse matrix or LinearOperator.
    W : basis of the subspace in columns, shape (n, p); made orthonormal here.

    Attributes
    ----------
    operator : A, checked.
    basis : orthonormal basis Q of the span of W.
    image : A Q.

    Raises
    ------
    InvalidInput
        If A is not symmetric or W cannot be used.
    SingularCoarseMatrix
        If A is not positive definite on the span of W. It is also a ``numpy.linalg.LinAlgError``.
    """

    def __init__(self, A: Any, W: ArrayLike) -> None:
        self.operator = A if isinstance(A, SymmetricOperator) else SymmetricOperator(A)
        # Column order is kept for the matrix-vector products of every iteration, which run down the columns.
        self.basis = np.asfortranarray(orthonormal(W, self.operator.n))
        self.image = np.asfortranarray(self.operator.products(self.basis))
        coarse = self.basis.T @ self.image
        coarse = (coarse + coarse.T) / 2
        lowest, directions = eigh(coarse, subset_by_index=(0, 0))
        if lowest[0] <= SINGULAR * self.operator.scale:
            raise SingularCoarseMatrix(self._why(float(lowest[0]), directions[:, 0], W))
        self._factor = cho_factor(coarse)

    @classmethod
    def of(cls, A: Any, W: Any) -> "CoarseSpace":
        """Return W if it is a coarse space already, and of this A; otherwise the coarse space of A and W.

        Raises
        ------
        InvalidInput
            If W is the coarse space of another matrix, or as `CoarseSpace`.
        """
        if not isinstance(W, cls):
            return cls(A, W)
        given = A.given if isinstance(A, SymmetricOperator) else A
        if given is not W.operator.given:
            operand, n = as_operand(given, "A"), W.operator.n
            probe = np.random.default_rng(0).normal(size=n)
            if operand.shape != (n, n) or np.linalg.norm(
                np.asarray(operand @ probe).ravel() - W.operator.product(probe)
            ) > 1e-10 * W.operator.scale * np.linalg.norm(probe):
                raise InvalidInput("this CoarseSpace was made of another matrix; make one of this: CoarseSpace(A, W)")
        return W

    @property
    def size(self) -> int:
        """Dimension p of the subspace."""
        return self.basis.shape[1]

    def solve(self, coefficients: Float64[np.ndarray, " p"]) -> Float64[np.ndarray, " p"]:
        """Return (QᵀA Q)⁻¹ times a vector."""
        return cho_solve(self._factor, coefficients, check_finite=False)

    def correction(self, r: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " p"]:
        """Coefficients y of the Galerkin correction Q y for the residual r."""
        return self.solve(self.basis.T @ r)

    def _why(self, lowest: float, direction: np.ndarray, W: ArrayLike) -> str:
        # In terms of the columns as they were given, the bad direction tells which of them to drop.
        W = checked_basis(W)
        shares = solve_triangular(np.linalg.qr(W, mode="r"), direction) * np.linalg.norm(W, axis=0)
        column = int(np.argmax(np.abs(shares)))
        if lowest < -SINGULAR * self.operator.scale:
            return (
                f"WᵀA W is indefinite, with an eigenvalue of {lowest:.3g}: A is not positive definite along column "
                f"{column} of W; conjugate gradients cannot be used, try scipy.sparse.linalg.minres"
            )
        return (
            f"WᵀA W is singular: A vanishes along column {column} of W, which lies in its null space; drop column "
            f"{column}: numpy.delete(W, {column}, axis=1)"
        )
