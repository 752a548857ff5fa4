"""The inner product xᵀ M y of a mass matrix M, and bases that are orthonormal in it.

On a grid of equal cells M is the identity up to a factor, and `None` stands for it. On a finite-element mesh M is the
matrix of ∫ φ_i φ_j; a one-dimensional array stands for its diagonal when it is lumped.
"""

from typing import Any

import numpy as np
import scipy.linalg
from jaxtyping import Float, Float64
from numpy.typing import ArrayLike

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.columns import orthonormal

Mass = Any  # NumPy array, SciPy sparse matrix or array, or None; their stubs have no type in common


def check_mass(mass: Mass, n: int) -> None:
    """Refuse a mass matrix that does not belong to `n` unknowns or has masses on its diagonal that are not positive.

    Raises
    ------
    InvalidInput
        If its shape does not fit or its diagonal is not positive.
    """
    if mass is None:
        return
    if mass.shape not in ((n,), (n, n)):
        raise InvalidInput(f"the mass matrix has shape {mass.shape}, but bases have {n} rows; expected {(n, n)}")
    diagonal = np.asarray(mass if len(mass.shape) == 1 else mass.diagonal())
    if not (diagonal > 0).all():
        raise InvalidInput("the mass matrix must be positive definite; its diagonal has entries that are not positive")


def weighed(mass: Mass, X: Float[np.ndarray, "n ..."]) -> Float[np.ndarray, "n ..."]:
    """Return M X."""
    if mass is None:
        return X
    if len(mass.shape) == 1:
        return mass.reshape(-1, *(1,) * (X.ndim - 1)) * X
    return mass @ X


def norms(X: Float[np.ndarray, "n k"], mass: Mass = None) -> Float[np.ndarray, " k"]:
    """Return the length of each column."""
    return np.sqrt(np.einsum("ij,ij->j", X, weighed(mass, X)).clip(0))


def orthonormal_basis(W: ArrayLike, mass: Mass = None) -> Float64[np.ndarray, "n p"]:
    """Return Q with Qᵀ M Q = I and the span of W.

    Raises
    ------
    InvalidInput
        If W is no basis, as `firstlight.pde.subspace.columns.orthonormal` says, or M is not positive definite.
    """
    Q = orthonormal(W)
    check_mass(mass, len(Q))
    return mass_orthonormal(Q, mass)


def mass_orthonormal(Q: Float[np.ndarray, "n p"], mass: Mass) -> Float[np.ndarray, "n p"]:
    """Make a basis orthonormal in the mass inner product that is so in the plain one.

    The Gram matrix of orthonormal columns is as well conditioned as M, however close to dependent they once were.
    """
    if mass is None:
        return Q
    return scipy.linalg.solve_triangular(gram_factor(Q, mass), Q.T, trans=1).T


def gram_factor(Q: Float[np.ndarray, "n p"], mass: Mass) -> Float[np.ndarray, "p p"]:
    """Return upper triangular K with Qᵀ M Q = Kᵀ K.

    Raises
    ------
    InvalidInput
        If M is not positive definite on the span of Q.
    """
    try:
        return scipy.linalg.cholesky(Q.T @ weighed(mass, Q))
    except scipy.linalg.LinAlgError as error:
        raise InvalidInput("the mass matrix must be positive definite, but it is not on these bases") from error


def singular_values(S: Float[np.ndarray, "n p"], mass: Mass = None) -> Float[np.ndarray, " p"]:
    """Return the singular values of S as a map into the space with the mass inner product, largest first."""
    if mass is None:
        return np.linalg.svd(S, compute_uv=False)
    Q, R = np.linalg.qr(S)  # the eigenvalues of SᵀMS would be their squares, and small ones lost
    return np.linalg.svd(gram_factor(Q, mass) @ R, compute_uv=False)
