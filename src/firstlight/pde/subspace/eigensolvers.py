"""Lowest eigenpairs of A u = λ B u from a predicted subspace, and whether they are the lowest.

Rayleigh–Ritz in the span of the prediction gives the first vectors, a block iteration improves them. A small residual
proves an eigenvalue nearby and no more: started from vectors that share a symmetry, or that miss a mode, any iteration
converges to a wrong set. So a few random vectors ride along, and are exchanged for fresh ones until nothing is found
that was not predicted; and where a factorisation can be afforded, the inertia of A - σB counts the eigenvalues below σ
(Sylvester), which is a proof.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, cg

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.block_eigensolver import BlockIteration
from firstlight.pde.subspace.columns import checked_basis, independent
from firstlight.pde.subspace.factorisations import eigenvalues_below
from firstlight.pde.subspace.operators import SymmetricOperator, as_operand

DENSE = 400  # unknowns up to which a dense eigenproblem is as quick
FRESH = 2  # random vectors that look for missed eigenvalues
FOUND = 0.2  # relative residual at which a random vector has come down to the lowest that is left
PRESENT = 0.7  # cosine to the prediction from which a vector counts as predicted
FLOOR = 1e-13  # of the size of A: residuals below are rounding
DEGENERATE = 1e-6  # relative gap under which the wanted space is not defined


@dataclass(frozen=True)
class EigenInfo:
    """How an eigensolve went and what is known about its result.

    Attributes
    ----------
    converged : whether every estimated error is within the tolerance.
    iterations : steps of the block iteration; 0 for a dense solve.
    products : vectors that A was multiplied with.
    residuals : ``|A u - θ B u|`` of each pair, computed anew.
    bounds : proved: an eigenvalue lies within this distance of θ (the residual in the norm of B⁻¹).
    errors : estimated distance from the eigenvalue, ``min(bound, bound² / gap)`` with the gap to what is left over.
    lowest : ``"proved"`` (dense solve or inertia), ``"probed"`` (random vectors found nothing lower), ``"refuted"``
        (inertia counts eigenvalues that were not found), or ``"unknown"`` (no convergence).
    gap : relative distance from the last wanted eigenvalue to the next Ritz value; nan if none is at hand.
    """

    converged: bool
    iterations: int
    products: int
    residuals: Float64[np.ndarray, " k"]
    bounds: Float64[np.ndarray, " k"]
    errors: Float64[np.ndarray, " k"]
    lowest: Literal["proved", "probed", "refuted", "unknown"]
    gap: float


def warm_eigsh(
    A: Any,
    k: int,
    X: ArrayLike,
    *,
    B: Any = None,
    M: Any = None,
    tol: float | int = 1e-8,
    maxiter: int = 500,
    largest: bool = False,
    certify: bool = False,
    seed: int = 0,
) -> tuple[Float64[np.ndarray, " k"], Float64[np.ndarray, "n k"], EigenInfo]:
    """Lowest k eigenpairs of A u = λ B u, started from a predicted subspace.

    Parameters
    ----------
    A : symmetric: array, sparse matrix or LinearOperator.
    k : number of pairs.
    X : basis of the predicted subspace, shape (n, p) with p ≥ k; what is beyond k serves too.
    B : symmetric positive definite mass matrix; the identity unless given.
    M : symmetric positive definite approximation of A⁻¹, such as ``BlockMultigrid`` of a PyAMG hierarchy.
    tol : relative accuracy of the eigenvalues; eigenvectors come out accurate to about its root.
    maxiter : largest number of steps.
    largest : the largest pairs in place of the lowest.
    certify : prove by inertia that nothing lower was missed, at the price of one sparse factorisation.
    seed : of the random vectors.

    Returns
    -------
    values : in ascending order, in descending order if the largest are wanted.
    vectors : B-orthonormal, in columns.
    info : iterations, residuals, error bounds, and whether these are known to be the lowest.

    Raises
    ------
    InvalidInput
        If A or B is not symmetric, shapes do not fit, X has fewer than k columns or less rank, values are not finite,
        M is given for the largest pairs, or `certify` is asked for without a matrix.

    Warns
    -----
    RuntimeWarning
        Without convergence, if eigenvalues were missed, or if λ_k = λ_{k+1} and the space is undefined.

    Examples
    --------
    >>> from firstlight.pde.subspace.problems import FlattopProblem
    >>> sample = FlattopProblem(cells=24, n_vectors=4).sample(0)
    >>> guess = sample.basis() + 0.01 * np.random.default_rng(0).normal(size=(576, 4))
    >>> values, vectors, info = warm_eigsh(sample.matrix, 4, guess, certify=True)
    >>> bool(np.allclose(values, sample.eigenpairs[0], rtol=1e-8)), info.lowest
    (True, 'proved')
    """
    operator, mass = SymmetricOperator(A), None if B is None else SymmetricOperator(B, "B")
    n = operator.n
    if mass is not None and mass.n != n:
        raise InvalidInput(f"expected B of shape {(n, n)} as A, got {(mass.n, mass.n)}")
    if not 1 <= k <= n:
        raise InvalidInput(f"expected k between 1 and the {n} unknowns, got {k}")
    start = checked_basis(X, n, name="X")
    if start.shape[1] < k:
        raise InvalidInput(f"X has {start.shape[1]} columns for {k} eigenpairs; predict at least as many as are wanted")
    if largest and M is not None:
        raise InvalidInput(
            "M approximates the inverse of A and steers to the smallest pairs; leave it out for the largest"
        )
    if n <= max(DENSE, 6 * (k + FRESH)):
        return _dense(operator, mass, k, largest)
    start = independent(start)
    if (rank := start.shape[1]) < k:
        raise InvalidInput(f"the columns of X span only {rank} dimensions, {k} are wanted; add columns")
    if certify and isinstance(operator.given, LinearOperator):
        raise InvalidInput("certify needs A as a matrix to be factorised, got a LinearOperator; leave certify out")
    return _Search(operator, mass, M, k, start, tol, maxiter, -1 if largest else 1, seed).result(certify)


class _Search:
    """Iterate, then look for what was missed."""

    def __init__(
        self,
        operator: SymmetricOperator,
        mass: SymmetricOperator | None,
        M: Any,
        k: int,
        X: np.ndarray,
        tol: float | int,
        maxiter: int,
        sign: int,
        seed: int,
    ) -> None:
        self.operator, self.mass, self.k, self.tol, self.maxiter, self.sign = operator, mass, k, tol, maxiter, sign
        self.rng = np.random.default_rng(seed)
        self.block = BlockIteration(
            lambda V: sign * operator.products(V),
            mass.products if mass else None,
            None if M is None else _block_product(M, operator.n),
            X,
            1.0 if mass is None else _inverse_mass(mass),
        )
        # What rounding leaves of an eigenvalue, and of a residual in the same unit.
        self.floor = FLOOR * operator.scale / (mass.scale if mass else 1.0)
        # Of a prediction with many columns the best few beyond k are kept: more cost more than they save (measured).
        self.kept = min(k + max(2, k // 5), X.shape[1])
        self.block.keep(self.kept)
        self.predicted = self.block.X if self.block.BX is None else self.block.BX

    def result(self, certify: bool) -> tuple[np.ndarray, np.ndarray, EigenInfo]:
        block, k = self.block, self.k
        converged = self._run(FRESH)
        # Where a vector that was found was not in the prediction, others may be missing still.
        if converged and (np.linalg.norm(self.predicted.T @ block.X[:, :k], axis=0) < PRESENT).any():
            converged = self._run(FRESH)
        missed = 0
        for _ in range(3 if certify and converged else 0):
            missed = self._missed()
            if missed <= 0:
                break
            converged = self._run(missed + FRESH)
        values, U = block.values, block.X[:, :k]
        R = self.sign * self.operator.products(U) - (U if self.mass is None else self.mass.products(U)) * values[:k]
        bounds = self._dual_norms(R)
        gap = (
            float((values[k] - values[k - 1]) / max(abs(values[k - 1]), self.floor))
            if len(values) > k
            else float("nan")
        )
        lowest = "unknown" if not converged else "probed"
        if certify and converged:
            lowest = "refuted" if missed > 0 else "proved" if missed == 0 else "probed"
        errors = np.minimum(bounds, bounds**2 / np.maximum(self._room(values)[:k], self.floor))
        residuals = np.linalg.norm(R, axis=0)
        info = EigenInfo(converged, block.iterations, block.products, residuals, bounds, errors, lowest, gap)
        _warn(info, self.maxiter)
        return self.sign * values[:k], U, info

    def _run(self, fresh: int) -> bool:
        """Iterate with random vectors beside the best ones, until these have come down too."""
        self.block.keep(self.kept)
        self.block.widen(self.rng.normal(size=(self.operator.n, fresh)))
        return self.block.run(self._limit, self.maxiter)

    def _limit(self, values: np.ndarray) -> np.ndarray:
        """Residuals at which the eigenvalues are accurate: their errors are about r² / gap, and never more than r."""
        wanted = self.tol * np.abs(values)
        limit = np.maximum(np.maximum(wanted, np.sqrt(wanted * self._room(values))), self.floor)
        limit[self.k :] = np.inf
        limit[-1] = max(FOUND * abs(values[-1]), self.floor)
        return limit

    def _room(self, values: np.ndarray) -> np.ndarray:
        """Half the distance of each Ritz value from what the block leaves over, for which its last one stands."""
        return (values[-1] - values) / 2

    def _missed(self) -> int:
        """Count by inertia the eigenvalues below the last wanted one that were not found; -1 if it cannot be told."""
        values = self.block.values[: self.k]
        # Ritz values are never below the eigenvalues they stand for, so only their own accuracy is to be allowed for.
        margin = max(4 * self.tol * abs(values[-1]), self.floor)
        shift = float(values[-1] - margin)
        count = eigenvalues_below(self.sign * self.operator.given, shift, self.mass.given if self.mass else None)
        return -1 if count is None else count - int(np.count_nonzero(values < shift))

    def _dual_norms(self, R: np.ndarray) -> np.ndarray:
        """Norms (rᵀ B⁻¹ r)^½."""
        if self.mass is None:
            return np.linalg.norm(R, axis=0)
        solved = np.column_stack([cg(self.mass.given, r, rtol=1e-6)[0] for r in R.T])
        return np.sqrt(np.einsum("ij,ij->j", R, solved).clip(0))


def _dense(
    operator: SymmetricOperator, mass: SymmetricOperator | None, k: int, largest: bool
) -> tuple[np.ndarray, np.ndarray, EigenInfo]:
    identity = np.eye(operator.n)
    matrix, B = operator.products(identity), None if mass is None else mass.products(identity)
    try:
        values, U = eigh((matrix + matrix.T) / 2, None if B is None else (B + B.T) / 2)
    except np.linalg.LinAlgError as error:
        raise InvalidInput(f"B is not positive definite: {error}") from error
    order = np.argsort(-values if largest else values)
    values, U = values[order], U[:, order]
    wanted = values[:k]
    residuals = np.linalg.norm(matrix @ U[:, :k] - (U if B is None else B @ U)[:, :k] * wanted, axis=0)
    rounding = np.full(k, 10 * np.finfo(float).eps * np.abs(values).max())
    step = abs(values[k] - values[k - 1]) if k < len(values) else np.inf
    gap = float(step / max(abs(values[k - 1]), rounding[0]))
    info = EigenInfo(True, 0, operator.n, residuals, np.maximum(residuals, rounding), rounding, "proved", gap)
    _warn(info, 0)
    return wanted, np.ascontiguousarray(U[:, :k]), info


def _inverse_mass(mass: SymmetricOperator) -> np.ndarray | float:
    """A stand-in for B⁻¹ that costs nothing: twice the inverse diagonal bounds it for linear elements on triangles."""
    if isinstance(mass.given, LinearOperator):
        return 1 / mass.scale
    return 2 / mass.given.diagonal()[:, None]


def _block_product(M: Any, n: int) -> Any:
    operand = as_operand(M, "M")
    if operand.shape != (n, n):
        raise InvalidInput(f"expected M of shape {(n, n)} as A, got {operand.shape}")
    return lambda R: np.asarray(operand @ R, np.float64)


def _warn(info: EigenInfo, maxiter: int) -> None:
    if not info.converged:
        warnings.warn(
            f"no convergence within {maxiter} steps: largest residual {info.residuals.max():.3g}, largest estimated "
            f"error {info.errors.max():.3g}; give a preconditioner M, or more steps",
            RuntimeWarning,
            stacklevel=4,
        )
    elif info.lowest == "refuted":
        warnings.warn(
            "these need not be the lowest: inertia counts eigenvalues that were missed", RuntimeWarning, stacklevel=4
        )
    elif info.gap < DEGENERATE:
        warnings.warn(
            f"the last wanted eigenvalue and the next differ by {info.gap:.1g} of themselves: the wanted space is not "
            "defined, only its eigenvalues are; ask for one pair more or fewer",
            RuntimeWarning,
            stacklevel=4,
        )
