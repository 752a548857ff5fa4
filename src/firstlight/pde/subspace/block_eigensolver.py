"""Locally optimal block iteration for the lowest eigenpairs of A u = λ B u (LOBPCG; Knyazev 2001), kept orthonormal.

Every step looks for the best vectors in the span of the present ones X, their preconditioned residuals H and the last
changes P. All three are made B-orthonormal together before A is applied to them (as Hetmaniuk and Lehoucq 2006 advise):
the textbook form, which multiplies A into them before, breaks down when it is started near the solution. Columns beyond
the wanted ones may ride along as guards: they need not converge, and they speed up those that must.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64
from scipy.linalg import eigh

LOOSE = 1e-3  # relative residual of a guard below which its improvement costs more than it gives
MILD = 1e-4  # share of a squared length that may be lost before what is left must be made orthonormal once more
DROPPED = 1e-12  # of the largest: eigenvalue of a Gram matrix below which a direction is but rounding

Product = Callable[[np.ndarray], np.ndarray]


@dataclass
class BlockIteration:
    """The iteration from given vectors; `run` may be called again after `widen` or `keep`.

    Attributes
    ----------
    A, B, M : products with the matrices and the preconditioner, on blocks of columns; B and M may be None.
    X : present vectors, B-orthonormal, in order of their Ritz values.
    values : their Ritz values.
    residuals : ``|A x - θ B x|`` of each, in the norm that `weights` give.
    weights : of the squares of the entries of a residual, for example 1 / diagonal of B, which stands for B⁻¹.
    iterations, products : steps taken, and columns that A was multiplied with.
    """

    A: Product
    B: Product | None
    M: Product | None
    X: Float64[np.ndarray, "n m"]
    values: Float64[np.ndarray, " m"] = field(init=False)
    residuals: Float64[np.ndarray, " m"] = field(init=False)
    weights: Float64[np.ndarray, "n 1"] | float = 1.0
    iterations: int = 0
    products: int = 0
    P: Float64[np.ndarray, "n q"] | None = None

    def __post_init__(self) -> None:
        self.widen(self.X[:, :0])

    def widen(self, more: Float64[np.ndarray, "n q"]) -> None:
        """Take more vectors in, and order all by their Ritz values."""
        X, BX = orthonormal_block(np.column_stack([self.X, more]), self.B)
        self._rotate(X, self._apply(X), BX)
        self.P = None

    def keep(self, count: int) -> None:
        """Let go of all but the lowest vectors."""
        BX = None if self.BX is None else self.BX[:, :count]
        self._settle(self.X[:, :count], self.AX[:, :count], BX, self.values[:count])
        self.P = None

    def run(self, limit: Callable[[np.ndarray], np.ndarray], maxiter: int) -> bool:
        """Step until residuals are within ``limit(values)``; say whether they came there.

        The limit of a guard is infinite; it is improved all the same while its relative residual is above `LOOSE`.
        """
        while True:
            bound = limit(self.values)
            if (self.residuals <= bound).all():
                return True
            if self.iterations >= maxiter:
                return False
            loose = LOOSE * np.abs(self.values)
            self._step(self.residuals > np.where(np.isinf(bound), loose, bound))
            self.iterations += 1

    def _step(self, active: np.ndarray) -> None:
        R = self.R[:, active]
        H = R if self.M is None else self.M(R)
        search = H if self.P is None else np.column_stack([H, self.P])
        search, B_search = orthonormal_block(search, self.B, self.X, self.BX)
        A_search = self._apply(search)
        m = self.X.shape[1]
        coarse = np.zeros((m + search.shape[1],) * 2)
        coarse[:m, :m] = np.diag(self.values)
        coarse[:m, m:] = self.X.T @ A_search
        coarse[m:, m:] = search.T @ A_search
        values, C = eigh(np.triu(coarse) + np.triu(coarse, 1).T, subset_by_index=(0, m - 1))
        old, new = C[:m], C[m:]
        self.P = (search @ new)[:, active]
        AX = self.AX @ old + A_search @ new
        BX = None if self.BX is None else self.BX @ old + B_search @ new
        self._settle(self.X @ old + search @ new, AX, BX, values)

    def _rotate(self, X: np.ndarray, AX: np.ndarray, BX: np.ndarray | None) -> None:
        coarse = X.T @ AX
        values, C = eigh((coarse + coarse.T) / 2)
        self._settle(X @ C, AX @ C, None if BX is None else BX @ C, values)

    def _settle(self, X: np.ndarray, AX: np.ndarray, BX: np.ndarray | None, values: np.ndarray) -> None:
        self.X, self.AX, self.BX, self.values = X, AX, BX, values
        self.R = AX - (X if BX is None else BX) * values
        self.residuals = np.sqrt((self.weights * self.R**2).sum(axis=0))

    def _apply(self, V: np.ndarray) -> np.ndarray:
        self.products += V.shape[1]
        return self.A(V)


def orthonormal_block(
    V: Float64[np.ndarray, "n q"],
    B: Product | None,
    X: Float64[np.ndarray, "n m"] | None = None,
    BX: Float64[np.ndarray, "n m"] | None = None,
) -> tuple[Float64[np.ndarray, "n r"], Float64[np.ndarray, "n r"] | None]:
    """Make columns B-orthonormal, and orthogonal to X, dropping those that are not independent; return them and B V."""
    lengths = np.linalg.norm(V, axis=0)
    V = V[:, lengths > 0] / lengths[lengths > 0]
    BX = X if BX is None else BX
    while True:
        before = np.einsum("ij,ij->j", V, V if B is None else B(V))
        if X is not None and BX is not None:
            V = V - X @ (BX.T @ V)
        gram = V.T @ (V if B is None else B(V))
        kept = np.diag(gram).clip(np.finfo(float).tiny)
        energies, directions = eigh(gram / np.sqrt(np.outer(kept, kept)))
        independent = energies > DROPPED * energies[-1]
        V = V @ (directions[:, independent] / np.sqrt(np.outer(kept, energies[independent])))
        # The second pass at the latest is accurate (Kahan): columns come into it orthonormal to several digits.
        if (kept > MILD * before).all() and energies[0] > MILD:
            return V, None if B is None else B(V)
