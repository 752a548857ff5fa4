"""Conjugate gradients with the slow directions taken out by a predicted subspace.

With Q an orthonormal basis of the span of W and E = QᵀA Q, every search direction is kept A-orthogonal to the span, so
that the iteration sees only what W leaves of the spectrum (Saad, Yeung, Erhel, Guyomarc'h 2000, algorithm 3.6):

    x₀ ← x₀ + Q E⁻¹ Qᵀ r₀,     p ← z + β p - Q E⁻¹ (A Q)ᵀ z,     z = M r.

In floating point Qᵀr = 0 is lost with time; it is restored every so often, and what counts in the end is the residual
b - A x, computed anew.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike
from scipy.linalg import get_blas_funcs
from scipy.sparse.linalg import LinearOperator

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.coarse_space import CoarseSpace
from firstlight.pde.subspace.columns import orthonormal
from firstlight.pde.subspace.operators import SymmetricOperator, as_operand

# In place, where NumPy would make temporaries.
add_multiple, dot, multiply_add, scale = get_blas_funcs(("axpy", "dot", "gemv", "scal"), dtype=np.float64)

CHECK_EVERY = 32  # iterations between restorations of Qᵀr = 0, which cost two products with Q
FLAT = 1e-14  # of the size of A: curvature along a search direction that is nothing but rounding


@dataclass(frozen=True)
class DeflationInfo:
    """How a deflated solve went.

    Attributes
    ----------
    converged : whether the true residual is within the tolerance.
    iterations : products with A in the iteration; its preparation takes p more, once per `CoarseSpace`.
    residual : ``|b - A x| / |b|``, computed anew at the end.
    drift : the largest ``|Qᵀr| / |b|`` that was found and removed.
    residuals : the same by the recursion, before the first iteration and after each.
    """

    converged: bool
    iterations: int
    residual: float
    drift: float
    residuals: Float64[np.ndarray, " steps"] = field(repr=False)


def deflated_cg(
    A: Any,
    b: ArrayLike,
    W: ArrayLike | CoarseSpace,
    *,
    M: Any = None,
    x0: ArrayLike | None = None,
    rtol: float | int = 1e-8,
    atol: float | int = 0.0,
    maxiter: int | None = None,
    nullspace: ArrayLike | None = None,
    callback: Callable[[np.ndarray], Any] | None = None,
) -> tuple[Float64[np.ndarray, " n"], DeflationInfo]:
    """Solve A x = b by conjugate gradients deflated with a subspace; arguments as for `scipy.sparse.linalg.cg`.

    Parameters
    ----------
    A : symmetric positive definite: array, sparse matrix or LinearOperator; semidefinite with its `nullspace`.
    b : right-hand side, shape (n,).
    W : basis of the subspace in columns, shape (n, p), such as approximate eigenvectors of the smallest eigenvalues of
        M A; or ``CoarseSpace(A, W)``, prepared once for many right-hand sides.
    M : symmetric positive definite approximation of A⁻¹.
    x0 : where to start.
    rtol, atol : until ``|b - A x| ≤ max(rtol |b|, atol)``.
    maxiter : largest number of iterations; 10 n unless given.
    nullspace : basis of the null space of A, in columns; constants are recognised without it. The solution is then the
        one at right angles to the null space.
    callback : called with x after every iteration.

    Returns
    -------
    x : the solution.
    info : iterations and the true residual.

    Raises
    ------
    InvalidInput
        If A is not symmetric or not positive definite, M is not positive definite, shapes do not fit, a value is not
        finite, or the system has no solution since b has a part in the null space of A.
    SingularCoarseMatrix
        If A vanishes or is negative in the span of W; the message names the column to drop.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(400, 400)).tocsr()
    >>> slow = np.sin(np.pi * np.outer(np.arange(1, 401), np.arange(1, 9)) / 401)
    >>> x, info = deflated_cg(A, np.ones(400), slow)
    >>> info.converged, info.residual < 1e-8
    (True, True)
    """
    space = CoarseSpace.of(A, W) if isinstance(W, CoarseSpace) else None
    operator = SymmetricOperator(A) if space is None else space.operator
    b, x = _vector(b, operator.n, "b"), _vector(np.zeros(operator.n) if x0 is None else x0, operator.n, "x0")
    kernel = _null_space(operator, nullspace)
    space = CoarseSpace.of(operator, W) if space is None else space
    b = _compatible(b, kernel, rtol)
    bound = max(rtol * _norm(b), atol)
    run = _Iteration(operator, space, kernel, b, x, _preconditioner(M, operator.n))
    run.go(bound, 10 * operator.n if maxiter is None else maxiter, callback)
    size = _norm(b) or 1.0
    info = DeflationInfo(
        bool(run.true_residual <= bound),
        run.iterations,
        run.true_residual / size,
        run.drift / size,
        np.array(run.residuals) / size,
    )
    return run.x, info


class DeflatedPreconditioner(LinearOperator):
    """A preconditioner with a coarse correction by W, for solvers that take ``M=``, as `scipy.sparse.linalg.cg` does.

        P = Q E⁻¹ Qᵀ + (I - Q E⁻¹ QᵀA) M (I - A Q E⁻¹ Qᵀ)

    is symmetric positive definite, and exact on the span of W: P A w = w (the balancing form; Mandel 1993, Tang,
    Nabben, Vuik, Erlangga 2009). In exact arithmetic it takes as many iterations as `deflated_cg`, each twice as dear
    beside the products with A and M, and needs no restoring.

    Parameters
    ----------
    A, W : as for `deflated_cg`; ``DeflatedPreconditioner(A, CoarseSpace(A, W))`` reuses a coarse space.
    M : the preconditioner to be improved; none unless given.

    Raises
    ------
    InvalidInput, SingularCoarseMatrix
        As `deflated_cg`.
    """

    def __init__(self, A: Any, W: ArrayLike | CoarseSpace, M: Any = None) -> None:
        self.space = CoarseSpace.of(A, W)
        n = self.space.operator.n
        super().__init__(np.float64, (n, n))
        self._smooth = _preconditioner(M, n)

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        r = np.asarray(x, np.float64).ravel()
        y = self.space.correction(r)
        z = self._smooth(r - self.space.image @ y)
        return z + self.space.basis @ (y - self.space.solve(self.space.image.T @ z))

    def _adjoint(self) -> "DeflatedPreconditioner":
        return self


class _Iteration:
    """The vectors of the iteration; its steps are BLAS calls in place, since the cost is that of moving memory."""

    def __init__(
        self, operator: SymmetricOperator, space: CoarseSpace, kernel: np.ndarray, b: np.ndarray, x: np.ndarray, M: Any
    ) -> None:
        self.operator, self.space, self.kernel, self.b, self.x, self.M = operator, space, kernel, b, x.copy(), M
        self.iterations, self.drift, self.residuals = 0, 0.0, []
        self.begin()
        self.residuals.append(self.true_residual)

    def begin(self) -> None:
        """Take up the true residual of x."""
        self.r = self.b - self.operator.product(self.x)
        self.restore()
        self.true_residual = _norm(self.r)

    def go(self, bound: float | int, maxiter: int, callback: Callable[[np.ndarray], Any] | None) -> None:
        """Iterate, and begin again from the true residual as long as that brings it down."""
        while self.true_residual > bound and self.iterations < maxiter:
            before = self.true_residual
            self.sweep(bound, maxiter, callback)
            self.begin()
            if self.true_residual > 0.5 * before:  # rounding allows no more
                break
        if self.kernel.shape[1]:
            self.x -= self.kernel @ (self.kernel.T @ self.x)

    def sweep(self, bound: float | int, maxiter: int, callback: Callable[[np.ndarray], Any] | None) -> None:
        """Iterate until the residual of the recursion is within the bound."""
        r, x, space = self.r, self.x, self.space
        z = self.M(r)
        rho = self._energy(z)
        p = z - space.basis @ space.solve(space.image.T @ z)
        while True:
            q = self.operator.product(p)
            curvature = float(dot(p, q))
            self._check_curvature(curvature, p)
            alpha = rho / curvature
            add_multiple(p, x, a=alpha)
            add_multiple(q, r, a=-alpha)
            self.iterations += 1
            self.residuals.append(_norm(r))
            if callback is not None:
                callback(x)
            if self.residuals[-1] <= bound or self.iterations >= maxiter:
                return
            if self.iterations % CHECK_EVERY == 0:
                self.restore()
            z = self.M(r)
            before, rho = rho, self._energy(z)
            mu = space.solve(multiply_add(1.0, space.image, z, trans=1))
            scale(rho / before, p)
            add_multiple(z, p)
            multiply_add(-1.0, space.basis, mu, beta=1.0, y=p, overwrite_y=1)

    def restore(self) -> None:
        """Take what has crept in along W and the null space out of the residual."""
        along = self.space.basis.T @ self.r
        if self.residuals:
            self.drift = max(self.drift, float(np.linalg.norm(along)))
        y = self.space.solve(along)
        self.x += self.space.basis @ y
        self.r -= self.space.image @ y
        if self.kernel.shape[1]:
            self.r -= self.kernel @ (self.kernel.T @ self.r)

    def _energy(self, z: np.ndarray) -> float:
        rho = float(dot(self.r, z))
        if not rho > 0 and self.residuals[-1] > 0:
            raise InvalidInput(f"M is not positive definite: rᵀM r = {rho:.3g}; use a symmetric smoother on both sides")
        return rho

    def _check_curvature(self, curvature: float, p: np.ndarray) -> None:
        if not curvature > 0:
            raise InvalidInput(
                f"A is not positive definite: pᵀA p = {curvature:.3g} in iteration {self.iterations + 1}; conjugate "
                f"gradients need a positive definite matrix, try scipy.sparse.linalg.minres"
            )
        if self.iterations % CHECK_EVERY == CHECK_EVERY - 1 and curvature <= FLAT * self.operator.scale * float(
            dot(p, p)
        ):
            raise InvalidInput(
                "A is singular and b has a part in its null space, so that there is no solution; pass a basis of the "
                "null space as nullspace= and take that part out of b"
            )


def _norm(v: np.ndarray) -> float:
    return float(np.sqrt(dot(v, v)))  # dnrm2 guards against overflow, which takes it several times as long


def _vector(v: Any, n: int, name: str) -> np.ndarray:
    v = np.asarray(v)
    if v.shape != (n,) or np.iscomplexobj(v):
        raise InvalidInput(f"expected {name} as {n} real numbers, one per unknown, got shape {v.shape} of {v.dtype}")
    v = np.ascontiguousarray(v, np.float64)
    if not np.isfinite(v).all():
        raise InvalidInput(f"{name} holds {np.count_nonzero(~np.isfinite(v))} values that are not finite")
    return v


def _null_space(operator: SymmetricOperator, given: Any) -> np.ndarray:
    """Orthonormal basis of the null space; without one given, the constants if A takes them to zero."""
    if given is None:
        constant = np.full((operator.n, 1), operator.n**-0.5)
        return constant if operator.annihilates(constant[:, 0]) else constant[:, :0]
    basis = orthonormal(given, operator.n, name="nullspace")
    for column in range(basis.shape[1]):
        if not operator.annihilates(basis[:, column]):
            raise InvalidInput(f"A does not vanish on the span of nullspace, as column {column} shows; is it A's own?")
    return basis


def _compatible(b: np.ndarray, kernel: np.ndarray, rtol: float | int) -> np.ndarray:
    """Return b without its rounding errors along the null space, or refuse one that has more than that there."""
    along = kernel.T @ b
    if np.linalg.norm(along) > max(rtol, 1e-10) * np.linalg.norm(b):
        raise InvalidInput(
            f"A x = b has no solution: A is singular and b has a part of norm {np.linalg.norm(along):.4g} in its null "
            f"space (its mean is {b.mean():.4g}); take it out, for a pure Neumann problem by b - b.mean()"
        )
    return b - kernel @ along


def _preconditioner(M: Any, n: int) -> Callable[[np.ndarray], np.ndarray]:
    if M is None:
        return lambda r: r
    operand = as_operand(M, "M")
    if operand.shape != (n, n):
        raise InvalidInput(f"expected M of shape {(n, n)} as A, got {operand.shape}")
    return lambda r: np.asarray(operand @ r, np.float64).ravel()
