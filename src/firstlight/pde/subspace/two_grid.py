"""Two-grid iteration with a predicted coarse space: a smoother for what is rough, a small exact solve for what is left.

    x ← x + ω D⁻¹ (b - A x),     x ← x + Q E⁻¹ Qᵀ (b - A x),     x ← x + ω D⁻¹ (b - A x)

with D the diagonal of A, Q an orthonormal basis of the predicted span and E = QᵀA Q. The error is multiplied by
T = S (I - Q E⁻¹QᵀA) S, S = I - ω D⁻¹A, whose spectral radius says how fast.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.coarse_space import CoarseSpace

OMEGA = 0.9
DIVERGED = 1e4  # times the first residual


@dataclass(frozen=True)
class TwoGridInfo:
    """How a two-grid solve went.

    Attributes
    ----------
    converged : whether the true residual is within the tolerance.
    iterations : cycles.
    residual : ``|b - A x| / |b|`` at the end.
    residuals : the same before the first cycle and after each.
    """

    converged: bool
    iterations: int
    residual: float
    residuals: Float64[np.ndarray, " cycles"] = field(repr=False)


def two_grid(
    A: Any,
    b: ArrayLike,
    W: ArrayLike | CoarseSpace,
    *,
    x0: ArrayLike | None = None,
    omega: float | int = OMEGA,
    rtol: float | int = 1e-8,
    maxiter: int = 1000,
) -> tuple[Float64[np.ndarray, " n"], TwoGridInfo]:
    """Solve A x = b by two-grid cycles with the span of W as coarse space.

    Parameters
    ----------
    A : symmetric positive definite: array or sparse matrix.
    b : right-hand side, shape (n,).
    W : basis of the coarse space in columns, shape (n, p), such as lowest eigenvectors of D⁻¹A; or
        ``CoarseSpace(A, W)``.
    x0 : where to start.
    omega : damping of the Jacobi smoother.
    rtol : until ``|b - A x| ≤ rtol |b|``.
    maxiter : largest number of cycles.

    Raises
    ------
    InvalidInput
        If A is not symmetric, has no positive diagonal, is given as LinearOperator, shapes do not fit, or the cycles
        diverge.
    SingularCoarseMatrix
        If A is not positive definite on the span of W.
    """
    cycle = _Cycle(A, W, omega)
    n = cycle.space.operator.n
    b, x = np.asarray(b, np.float64), np.zeros(n) if x0 is None else np.array(x0, np.float64)
    if b.shape != (n,) or x.shape != (n,) or not (np.isfinite(b).all() and np.isfinite(x).all()):
        raise InvalidInput(f"expected b and x0 as {n} finite numbers, one per unknown, got shapes {b.shape}, {x.shape}")
    size = float(np.linalg.norm(b)) or 1.0
    residuals = [float(np.linalg.norm(b - cycle.matrix @ x)) / size]
    while residuals[-1] > rtol and len(residuals) <= maxiter:
        x = cycle.improved(x, b)
        residuals.append(float(np.linalg.norm(b - cycle.matrix @ x)) / size)
        if not residuals[-1] <= DIVERGED * max(residuals[0], rtol):
            raise InvalidInput(f"the cycles diverge with omega={omega}: Jacobi needs omega < 2 / λ_max(D⁻¹A); lower it")
    return x, TwoGridInfo(residuals[-1] <= rtol, len(residuals) - 1, residuals[-1], np.array(residuals))


def two_grid_radius(
    A: Any, W: ArrayLike | CoarseSpace, *, omega: float | int = OMEGA, steps: int = 200, seed: int = 0
) -> float:
    """Spectral radius of the two-grid cycle, the factor that the error shrinks by, after power steps.

    The cycle is self-adjoint in the energy product vᵀA v, in which the Rayleigh quotient of the last step is taken.

    Parameters
    ----------
    A, W, omega : as for `two_grid`.
    steps : power steps.
    seed : of the first vector.
    """
    cycle = _Cycle(A, W, omega)
    e = np.random.default_rng(seed).normal(size=cycle.space.operator.n)
    zero, radius = np.zeros_like(e), 0.0
    for _ in range(steps):
        image = cycle.improved(e, zero)
        energy = e @ (cycle.matrix @ e)
        radius = float(abs(e @ (cycle.matrix @ image)) / energy)
        length = np.linalg.norm(image)
        if length == 0:
            return 0.0
        e = image / length
    return radius


def jacobi_radius(A: Any, *, omega: float | int = OMEGA, steps: int = 200, seed: int = 0) -> float:
    """Spectral radius of the smoother alone, I - ω D⁻¹A, after power steps, for comparison."""
    matrix, inverse_diagonal = _matrix(A)
    e = np.random.default_rng(seed).normal(size=matrix.shape[0])
    radius = 0.0
    for _ in range(steps):
        image = e - omega * inverse_diagonal * (matrix @ e)
        radius = float(abs(e @ (matrix @ image)) / (e @ (matrix @ e)))
        e = image / np.linalg.norm(image)
    return radius


class _Cycle:
    def __init__(self, A: Any, W: Any, omega: float | int) -> None:
        given = CoarseSpace.of(A, W).operator.given if isinstance(W, CoarseSpace) else A
        self.matrix, inverse_diagonal = _matrix(given)
        self.space = W if isinstance(W, CoarseSpace) else CoarseSpace(self.matrix, W)
        self.weights = omega * inverse_diagonal

    def improved(self, x: np.ndarray, b: np.ndarray) -> np.ndarray:
        x = x + self.weights * (b - self.matrix @ x)
        x += self.space.basis @ self.space.correction(b - self.matrix @ x)
        return x + self.weights * (b - self.matrix @ x)


def _matrix(A: Any) -> tuple[Any, np.ndarray]:
    if isinstance(A, LinearOperator):
        raise InvalidInput("two-grid cycles need the diagonal of A: give a matrix, not a LinearOperator")
    A = sp.csr_array(A)
    diagonal = A.diagonal()
    if not (diagonal > 0).all():
        row = int(np.argmin(diagonal))
        raise InvalidInput(f"A has {diagonal[row]:.3g} on its diagonal in row {row}; Jacobi needs a positive diagonal")
    return A, 1 / diagonal
