"""Lowest eigenpairs of large symmetric matrices: the reference solver."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64
from scipy.sparse.linalg import LinearOperator, eigsh, splu


def shift_invert_eigsh(
    A: Any, k: int, M: Any = None, *, tol: float = 0.0, seed: int = 0
) -> tuple[Float64[np.ndarray, " k"], Float64[np.ndarray, "n k"]]:
    """Lowest eigenpairs of a sparse positive definite matrix by shift-invert Lanczos at 0, as a user would at best.

    The factorisation is that of a symmetric matrix (ordering of A + Aᵀ, pivots on the diagonal), which is several times
    faster in three dimensions than what ``scipy.sparse.linalg.eigsh(A, sigma=0)`` does by itself.

    Parameters
    ----------
    A, M : sparse, symmetric positive definite: A u = λ M u.
    k : number of eigenpairs.
    tol : relative tolerance of eigenvalues; 0 for machine precision.
    seed : of the vector that Lanczos starts from.

    Returns
    -------
    Eigenvalues in ascending order, and M-orthonormal eigenvectors in columns.
    """
    symmetric = {"SymmetricMode": True}
    factors = splu(sp.csc_array(A), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric)
    inverse = LinearOperator(A.shape, factors.solve, dtype=np.float64)
    start = np.random.default_rng(seed).normal(size=A.shape[0])
    return eigsh(A, k, M=M, sigma=0, OPinv=inverse, v0=start, tol=tol)
