"""Solving in a subspace: Galerkin projection of linear systems and of quadratic evolution equations.

With an orthonormal basis Q of the subspace the unknown is u = Q y, and the equation is asked for in the subspace only:
QᵀA Q y = Qᵀb for a linear system, and the same in every Newton step of an implicit Euler step.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64
from numpy.typing import ArrayLike
from scipy.linalg import lu_factor, lu_solve, solve, solve_banded
from scipy.sparse.linalg import splu

from firstlight.errors import FirstlightError, InvalidInput
from firstlight.pde.subspace.columns import orthonormal

NEWTON_STEPS = 20
NEWTON_TOLERANCE = 1e-11  # of the update, relative to the state


@dataclass(frozen=True)
class GalerkinInfo:
    """What a Galerkin solution leaves open.

    Attributes
    ----------
    residual : ``|b - A x| / |b|``, with the full operator.
    size : dimension of the subspace.
    """

    residual: float
    size: int


def galerkin_solve(A: Any, b: ArrayLike, W: ArrayLike) -> tuple[Float64[np.ndarray, " n"], GalerkinInfo]:
    """Solve A x = b for the x in the span of W whose residual is orthogonal to it.

    Where A is symmetric positive definite, x is the best approximation from the subspace in the norm xᵀA x.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator, shape (n, n).
    b : right-hand side, shape (n,).
    W : basis of the subspace, shape (n, p), not necessarily orthonormal.

    Returns
    -------
    x : the solution in the subspace.
    info : its true residual, in the full space.

    Raises
    ------
    InvalidInput
        If shapes do not fit, W is rank-deficient or not finite, or A is singular on the subspace.
    """
    Q = orthonormal(W)
    b = np.asarray(b, np.float64)
    if b.shape != Q.shape[:1] or not np.isfinite(b).all():
        raise InvalidInput(f"expected a finite right-hand side of {len(Q)} entries as W has rows, got shape {b.shape}")
    image = np.asarray(A @ Q)
    try:
        x = Q @ solve(Q.T @ image, Q.T @ b)
    except np.linalg.LinAlgError as error:
        raise InvalidInput(f"A is singular on the span of W: {error}; drop directions in which A vanishes") from error
    scale = float(np.linalg.norm(b)) or 1.0
    return x, GalerkinInfo(float(np.linalg.norm(b - np.asarray(A @ x))) / scale, Q.shape[1])


@dataclass(frozen=True, eq=False)
class QuadraticSystem:
    """An evolution equation u' = L u + K (u ∘ u) + f: Burgers, or with K = 0 a linear one.

    Attributes
    ----------
    linear : L, sparse.
    source : f.
    initial : u at time 0.
    quadratic : K, sparse, which acts on the squares of the entries of u.
    """

    linear: sp.csr_array
    source: Float64[np.ndarray, " n"]
    initial: Float64[np.ndarray, " n"]
    quadratic: sp.csr_array | None = field(default=None)

    def solve(self, dt: float, steps: int) -> Float64[np.ndarray, "times n"]:
        """Integrate by implicit Euler; row j is u at time j·dt."""
        implicit = sp.csr_array(sp.eye_array(len(self.initial)) - dt * self.linear)
        if self.quadratic is None:
            factors = splu(implicit.tocsc())
            return _march(lambda u: factors.solve(u + dt * self.source), self.initial, steps)
        K = sp.csr_array(2 * dt * self.quadratic)
        reach = max(_reach(implicit), _reach(K))
        implicit_bands, K_bands = _bands(implicit, reach), _bands(K, reach)

        def step(before: np.ndarray) -> np.ndarray:
            def newton(u: np.ndarray) -> np.ndarray:
                residual = implicit @ u - 0.5 * (K @ u**2) - dt * self.source - before
                # The derivative of K (u ∘ u) scales the columns of K, which are the columns of its bands too.
                return solve_banded((reach, reach), implicit_bands - K_bands * u, residual, check_finite=False)

            return _newton(newton, before)

        return _march(step, self.initial, steps)

    def solve_in(self, W: ArrayLike, dt: float, steps: int) -> Float64[np.ndarray, "times n"]:
        """Integrate the Galerkin projection onto the span of W; row j is u = Q y at time j·dt.

        Raises
        ------
        InvalidInput
            If W does not fit or is rank-deficient.
        FirstlightError
            If Newton's method does not converge in the subspace: the reduced model has no nearby solution.
        """
        Q = orthonormal(W)
        if len(Q) != len(self.initial):
            raise InvalidInput(f"expected W with {len(self.initial)} rows, one per unknown, got {len(Q)}")
        implicit = np.eye(Q.shape[1]) - dt * (Q.T @ (self.linear @ Q))
        source = dt * (Q.T @ self.source)
        start = Q.T @ self.initial
        if self.quadratic is None:
            factors = lu_factor(implicit)
            return _march(lambda y: lu_solve(factors, y + source), start, steps) @ Q.T
        K = (self.quadratic.T @ Q).T

        def step(before: np.ndarray) -> np.ndarray:
            def newton(y: np.ndarray) -> np.ndarray:
                u = Q @ y
                residual = implicit @ y - dt * (K @ u**2) - source - before
                return solve(implicit - 2 * dt * (K * u) @ Q, residual)

            return _newton(newton, before)

        return _march(step, start, steps) @ Q.T


def _reach(matrix: sp.csr_array) -> int:
    """Distance of the outermost nonzero from the diagonal."""
    rows, columns = matrix.nonzero()
    return int(np.abs(rows - columns).max(initial=0))


def _bands(matrix: sp.csr_array, reach: int) -> Float64[np.ndarray, "bands n"]:
    """Put a matrix into the layout of `scipy.linalg.solve_banded`: entry (i, j) at row reach + i - j, column j."""
    entries = matrix.tocoo()
    bands = np.zeros((2 * reach + 1, len(matrix.diagonal())))
    row, column = entries.coords
    bands[reach + row - column, column] = entries.data
    return bands


def _march(step: Any, start: np.ndarray, steps: int) -> np.ndarray:
    states = [start]
    for _ in range(steps):
        states.append(step(states[-1]))
    return np.array(states)


def _newton(update: Any, start: np.ndarray) -> np.ndarray:
    state = start
    for _ in range(NEWTON_STEPS):
        change = update(state)
        state = state - change
        if np.linalg.norm(change) <= NEWTON_TOLERANCE * (1 + np.linalg.norm(state)):
            return state
    raise FirstlightError(f"Newton's method did not converge in {NEWTON_STEPS} steps; take smaller time steps")
