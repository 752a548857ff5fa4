"""A predicted subspace in the hands of other solvers: SciPy's GCROT, PyAMG, pyMOR, PETSc."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64, Int32
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator

from firstlight.errors import InvalidInput, MissingExtra
from firstlight.pde.subspace.columns import checked_basis, orthonormal
from firstlight.pde.subspace.operators import SymmetricOperator

if TYPE_CHECKING:
    from pymor.reductors.basic import StationaryRBReductor

JACOBI = 4 / 3  # times 1 / λ_max(D⁻¹A): damps the upper half of the spectrum best (Brezina, Cleary, Falgout et al.)
POWER_STEPS = 15


def gcrotmk_vectors(W: ArrayLike) -> list[tuple[None, Float64[np.ndarray, " n"]]]:
    """Recycled vectors for `scipy.sparse.linalg.gcrotmk`: pass as ``CU=``, and at least p as ``k=``.

    Raises
    ------
    InvalidInput
        If W cannot be used or its columns are dependent.

    Examples
    --------
    >>> from scipy.sparse.linalg import gcrotmk
    >>> from firstlight.pde.subspace.problems import FlattopProblem
    >>> sample = FlattopProblem(cells=16, n_vectors=8).sample(0)
    >>> x, failed = gcrotmk(sample.matrix, np.ones(256), CU=gcrotmk_vectors(sample.basis()), k=8)
    >>> failed
    0
    """
    return [(None, w) for w in np.ascontiguousarray(orthonormal(W).T)]


def amg_candidates(A: Any, W: ArrayLike, count: int | None = None) -> Float64[np.ndarray, "n count"]:
    """Near-null-space candidates for ``pyamg.smoothed_aggregation_solver(A, B=...)`` from a predicted subspace.

    Where constants or rigid-body modes do not describe what relaxation leaves behind, as with clamped, heterogeneous or
    composite bodies, predicted slow modes do.

    Parameters
    ----------
    A : the symmetric matrix that the solver is for, after boundary conditions: one row per free unknown.
    W : basis of the predicted subspace, one row per free unknown.
    count : keep the combinations of lowest energy vᵀA v / vᵀD v, D the diagonal of A; all columns unless given. Each
        candidate makes every coarse level larger.

    Returns
    -------
    Candidates in the order of their energies, at unit length in vᵀD v.

    Raises
    ------
    InvalidInput
        If W does not fit A. Where clamped unknowns were taken out of A, take the same rows out of W: ``W[free]``.
    """
    operator = SymmetricOperator(A)
    if isinstance(operator.given, LinearOperator):
        raise InvalidInput("algebraic multigrid needs the entries of A: give a matrix, not a LinearOperator")
    Q = orthonormal(_fitting(W, operator.n))
    kept = Q.shape[1] if count is None else count
    if not 1 <= kept <= Q.shape[1]:
        raise InvalidInput(f"expected count between 1 and the {Q.shape[1]} columns of W, got {count}")
    weights = operator.given.diagonal()[:, None] * Q
    _, Y = eigh(Q.T @ operator.products(Q), Q.T @ weights, subset_by_index=(0, kept - 1))
    return np.ascontiguousarray(Q @ Y)


class BlockMultigrid(LinearOperator):
    """V-cycles of a PyAMG hierarchy on many vectors at once, as preconditioner for block methods.

    A hierarchy's own ``aspreconditioner()`` takes one vector at a time and relaxes point by point. Here all columns go
    through every level together, relaxed by damped Jacobi. A block eigensolver takes a few steps more (20 for 16 on a
    flattop problem of 24³ unknowns), each vector a tenth of the time.

    Parameters
    ----------
    hierarchy : a ``pyamg.MultilevelSolver``, such as ``pyamg.smoothed_aggregation_solver(A)`` returns; of a symmetric
        positive definite matrix.

    Raises
    ------
    InvalidInput
        If it is no hierarchy of levels.

    Examples
    --------
    >>> import pyamg
    >>> from firstlight.pde.subspace.problems import FlattopProblem
    >>> A = FlattopProblem(cells=24).sample(0).matrix
    >>> M = BlockMultigrid(pyamg.smoothed_aggregation_solver(A))
    >>> (M @ np.ones((576, 3))).shape
    (576, 3)
    """

    def __init__(self, hierarchy: Any) -> None:
        levels = getattr(hierarchy, "levels", None)
        if not levels or not hasattr(levels[0], "A"):
            raise InvalidInput(
                f"expected what pyamg.smoothed_aggregation_solver(A) returns, got {type(hierarchy).__name__}"
            )
        self.matrices = [sp.csr_array(level.A) for level in levels]
        self.prolongations = [sp.csr_array(level.P) for level in levels[:-1]]
        self.restrictions = [sp.csr_array(P.T) for P in self.prolongations]
        self.dampings = [_jacobi_damping(matrix)[:, None] for matrix in self.matrices[:-1]]
        # Of a singular coarsest matrix, as pure Neumann problems have, the pseudo-inverse is what makes sense.
        self.coarsest = np.linalg.pinv(self.matrices[-1].toarray(), hermitian=True)
        super().__init__(np.float64, self.matrices[0].shape)

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        return self._cycle(0, np.ascontiguousarray(X, np.float64))

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._matmat(np.asarray(x).reshape(-1, 1)).reshape(np.shape(x))

    def _adjoint(self) -> "BlockMultigrid":
        return self

    def _cycle(self, depth: int, b: np.ndarray) -> np.ndarray:
        if depth == len(self.dampings):
            return self.coarsest @ b
        A, damping = self.matrices[depth], self.dampings[depth]
        x = damping * b
        x += self.prolongations[depth] @ self._cycle(depth + 1, self.restrictions[depth] @ (b - A @ x))
        return x + damping * (b - A @ x)


def pymor_reductor(fom: Any, W: ArrayLike, product: Any = None) -> "StationaryRBReductor":
    """Reductor of a stationary pyMOR model to a predicted basis: ``rom = pymor_reductor(fom, W).reduce()``.

    Parameters
    ----------
    fom : a ``pymor.models.basic.StationaryModel`` with n unknowns.
    W : basis of the predicted subspace.
    product : inner product as a pyMOR operator, such as ``fom.h1_0_semi_product``; Euclidean unless given.

    Raises
    ------
    MissingExtra
        If pyMOR is not installed.
    InvalidInput
        If W does not fit the model.
    """
    try:
        from pymor.algorithms.gram_schmidt import gram_schmidt
        from pymor.reductors.basic import StationaryRBReductor
    except ModuleNotFoundError as error:
        raise MissingExtra("pymor", "pde") from error
    space = fom.solution_space
    basis = space.from_numpy(orthonormal(_fitting(W, space.dim)))
    return StationaryRBReductor(fom, RB=gram_schmidt(basis, product=product), product=product)


def petsc_arrays(
    W: ArrayLike,
) -> tuple[Int32[np.ndarray, " pointers"], Int32[np.ndarray, " entries"], Float64[np.ndarray, " entries"]]:
    """Rows of an orthonormal basis as PETSc takes a matrix.

    For its deflation::

        W = PETSc.Mat().createAIJ((n, p), csr=petsc_arrays(W))
        pc.setType("deflation"); pc.setDeflationSpace(W, False)       # in C: PCDeflationSetSpace

    Returns
    -------
    Pointers to rows, columns and values, in the integers of PETSc's default build.

    Raises
    ------
    InvalidInput
        If W cannot be used or its columns are dependent.
    """
    Q = orthonormal(W)
    n, p = Q.shape
    return np.arange(0, n * p + 1, p, dtype=np.int32), np.tile(np.arange(p, dtype=np.int32), n), Q.ravel()


def _fitting(W: Any, n: int) -> np.ndarray:
    W = np.asarray(W)
    if W.ndim == 2 and W.shape[0] != n:
        if W.shape[1] == n:
            mend = "it seems turned: pass its transpose"
        elif W.shape[0] > n:
            mend = "where clamped unknowns were taken out of the matrix, take the same rows out of W: W[free]"
        else:
            mend = "where W is on the free unknowns alone, so must the matrix be: A[free][:, free]"
        raise InvalidInput(f"W has {W.shape[0]} rows and the matrix {n}, one for each unknown is wanted; {mend}")
    return checked_basis(W, n)


def _jacobi_damping(A: sp.csr_array) -> Float64[np.ndarray, " n"]:
    """Return ω / diagonal with ω from the largest eigenvalue of D⁻¹A, by power steps."""
    inverse = 1 / A.diagonal()
    v = np.random.default_rng(0).normal(size=inverse.size)
    largest = 1.0
    for _ in range(POWER_STEPS):
        v = inverse * (A @ v)
        largest = float(np.linalg.norm(v))
        v /= largest
    return JACOBI / (1.05 * largest) * inverse
