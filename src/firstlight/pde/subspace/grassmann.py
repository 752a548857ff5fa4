"""Interpolation of subspaces on the Grassmann manifold, where a point is a subspace and a straight line is a geodesic.

Around one subspace all others near it have normal coordinates, a matrix of tangent directions (`tangent`), in which one
interpolates as between any vectors, and comes back (`along`). Amsallem and Farhat 2008; the maps are those of Edelman,
Arias and Smith 1998, here in the inner product of a mass matrix.
"""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.interpolate import RBFInterpolator
from scipy.spatial import KDTree

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.estimators import SubspaceEstimator
from firstlight.pde.subspace.inner_products import Mass, gram_factor, mass_orthonormal, norms, weighed

METHODS = ("nearest", "geodesic", "rbf", "gp")


def tangent(
    origin: Float[np.ndarray, "n p"], target: Float[np.ndarray, "n p"], mass: Mass = None
) -> Float[np.ndarray, "n p"]:
    """Normal coordinates of the span of `target` around that of `origin`: the logarithm of the Grassmann manifold.

    Parameters
    ----------
    origin, target : orthonormal bases.
    mass : matrix of the inner product.

    Returns
    -------
    A tangent Δ with originᵀ M Δ = 0, whose singular values are the principal angles between the two.
    """
    cross = origin.T @ weighed(mass, target)
    # Rotated against each other by the singular vectors, the two bases differ column by column by one angle. Angles
    # come from sine and cosine together, and no inverse of `cross` is needed, which fails at 90°.
    left, cosines, right = np.linalg.svd(cross)
    rest = target @ right.T - origin @ (cross @ right.T)
    sines = norms(rest, mass)
    angles = np.arctan2(sines, cosines)
    factor = np.divide(angles, sines, out=np.ones_like(sines), where=sines > 0)
    return (rest * factor) @ left.T


def along(
    origin: Float[np.ndarray, "n p"], direction: Float[np.ndarray, "n p"], mass: Mass = None
) -> Float[np.ndarray, "n p"]:
    """Orthonormal basis of the subspace with these normal coordinates: the exponential of the Grassmann manifold.

    Parameters
    ----------
    origin : orthonormal basis.
    direction : tangent, as `tangent` gives it.
    mass : matrix of the inner product.
    """
    Q, R = np.linalg.qr(direction)
    if mass is not None:
        Q, R = mass_orthonormal(Q, mass), gram_factor(Q, mass) @ R
    U, angles, right = np.linalg.svd(R)
    basis = (origin @ right.T * np.cos(angles) + Q @ U * np.sin(angles)) @ right
    # The columns of Q where the direction vanishes are arbitrary, and the sine of their angle is zero only to rounding.
    Q, R = np.linalg.qr(basis)
    return mass_orthonormal(Q * np.where(R.diagonal() < 0, -1, 1), mass)


class GrassmannInterpolator(SubspaceEstimator):
    """Subspaces between known ones, by what is near in the parameters.

    Parameters
    ----------
    dim : how many columns of each basis span the subspace; all unless given.
    method : ``"nearest"``, the subspace of the nearest sample. The others interpolate normal coordinates around it:
        ``"geodesic"`` linearly (the least-squares plane through the neighbours; between two it is the geodesic),
        ``"rbf"`` with inverse quadratic radial functions, ``"gp"`` by a Gaussian process, Matérn 3/2.
    neighbours : how many nearest samples take part, itself included.
    mass : matrix of the inner product: sparse, dense, or its diagonal.

    Attributes
    ----------
    fields_, bases_ : what it was fitted to; fields are scaled to unit variance of each number.

    Examples
    --------
    Lines in the plane that turn with a parameter:

    >>> angles = np.linspace(0, 1, 6)
    >>> lines = np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, :, None]
    >>> line = GrassmannInterpolator(method="geodesic", neighbours=2).fit(angles, lines).predict(0.33)
    >>> print(np.abs(np.arctan(line[1] / line[0])).round(8))
    [0.33]
    """

    def __init__(
        self, dim: int | None = None, method: str = "geodesic", neighbours: int = 5, mass: Mass = None
    ) -> None:
        self.dim, self.method, self.neighbours, self.mass = dim, method, neighbours, mass

    def fit(self, fields: Any, bases: Any) -> "GrassmannInterpolator":
        """Remember the samples.

        Parameters
        ----------
        fields : parameters or fields, one per sample along the first axis; distances are taken between all numbers.
        bases : orthonormal, shape (samples, n, k).

        Raises
        ------
        InvalidInput
            If bases cannot be used, among them such with as many columns as rows, or the method is unknown.
        """
        if self.method not in METHODS:
            raise InvalidInput(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        if self.neighbours < 1:
            raise InvalidInput(f"neighbours must be at least 1, got {self.neighbours}")
        fields, self.bases_ = self._check_training(fields, bases)
        flat = fields.reshape(len(fields), -1).astype(float)
        spread = flat.std(axis=0)
        self._centre, self._spread = flat.mean(axis=0), np.where(spread > 0, spread, 1)
        self.fields_ = (flat - self._centre) / self._spread
        self._tree = KDTree(self.fields_)
        return self

    def _bases(self, fields: np.ndarray) -> np.ndarray:
        queries = (fields.reshape(len(fields), -1) - self._centre) / self._spread
        count = 1 if self.method == "nearest" else min(self.neighbours, len(self.fields_))
        near = np.asarray(self._tree.query(queries, count)[1]).reshape(-1, count)
        return np.stack([self._between(query, ids) for query, ids in zip(queries, near, strict=True)])

    def _between(self, query: Float[np.ndarray, " d"], near: np.ndarray) -> Float[np.ndarray, "n p"]:
        origin = self.bases_[near[0]].astype(float)
        if len(near) == 1:
            return origin
        points = self.fields_[near]
        tangents = np.stack([tangent(origin, self.bases_[i].astype(float), self.mass).ravel() for i in near])
        interpolate = {"geodesic": _plane, "rbf": _radial, "gp": _gaussian_process}[self.method]
        return along(origin, interpolate(points, tangents, query).reshape(origin.shape), self.mass)


def _plane(points: np.ndarray, values: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Value at the query of the plane through the first point that fits the others best, of least slope."""
    offsets = points[1:] - points[0]
    # The query as a combination of the neighbours comes first, since the values have thousands of components.
    return values[0] + (query - points[0]) @ np.linalg.pinv(offsets) @ (values[1:] - values[0])


def _radial(points: np.ndarray, values: np.ndarray, query: np.ndarray) -> np.ndarray:
    # Inverse quadratics as wide as ten times the distance to the neighbours: nearly flat, and still well posed.
    reach = np.linalg.norm(points - points[0], axis=1).max() or 1.0
    return RBFInterpolator(points, values, kernel="inverse_quadratic", epsilon=0.1 / reach)(query[None])[0]


def _gaussian_process(points: np.ndarray, values: np.ndarray, query: np.ndarray) -> np.ndarray:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    # The values of all neighbours span few dimensions: the process runs on those coordinates.
    U, s, right = np.linalg.svd(values, full_matrices=False)
    size, reach = s[0] or 1.0, np.linalg.norm(points - points[0], axis=1).max() or 1.0
    kernel = ConstantKernel() * Matern(3.0, (0.3, 100.0), nu=1.5) + WhiteKernel(1e-6, (1e-10, 0.1))
    process = GaussianProcessRegressor(kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a length at its bound is an answer too
        process.fit((points - points[0]) / reach, U * s / size)
    return process.predict((query - points[0])[None] / reach)[0] * size @ right
