"""What all estimators of subspaces have in common: how samples are checked, one prediction or many, and the score."""

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.angles import projection_error
from firstlight.pde.subspace.inner_products import Mass, check_mass, orthonormal_basis, weighed


class SubspaceWarning(UserWarning):
    """What was given can be used, but may not be what was meant; the text says why."""


class SubspaceEstimator(BaseEstimator, ABC):
    """An estimator in the manner of scikit-learn whose target is a subspace: a basis of n rows for every sample."""

    mass: Mass
    dim: int | None
    field_shape_: tuple[int, ...]

    def predict(self, fields: Any) -> Float[np.ndarray, "*samples n p"]:
        """Return an orthonormal basis for one field, shape (n, p), or for each of several, (samples, n, p).

        Parameters
        ----------
        fields : one field, of the shape that each had in `fit`, or a stack of them.

        Raises
        ------
        InvalidInput
            If the shape is another or a value is not finite.
        """
        fields, shape = check_fields(fields), self.field_shape_
        if fields.shape == shape:
            return self._bases(fields[None])[0]
        if fields.shape[1:] == shape:
            return self._bases(fields)
        raise InvalidInput(f"expected one field of shape {shape} or a stack of them, got shape {fields.shape}")

    def score(self, fields: Any, bases: Any) -> float:
        """Return the mean of `projection_error` over samples, with its sign turned, so that higher is better.

        Parameters
        ----------
        fields : a stack of fields.
        bases : the wanted bases, shape (samples, n, k).
        """
        wanted = check_bases(bases, self.dim, self.mass)
        predicted = self.predict(fields)
        return -float(np.mean([projection_error(W, V, self.mass) for W, V in zip(predicted, wanted, strict=True)]))

    @abstractmethod
    def _bases(self, fields: np.ndarray) -> np.ndarray:
        """Predict for a stack of fields that have been checked."""

    def _check_training(self, fields: Any, bases: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return fields and bases checked, and remember the shape of a field."""
        fields, bases = check_fields(fields), check_bases(bases, self.dim, self.mass)
        if fields.ndim < 1 or len(fields) != len(bases):
            raise InvalidInput(f"fields of shape {fields.shape} go with {len(bases)} bases; give one field per basis")
        self.field_shape_ = fields.shape[1:]
        return fields, bases


def check_fields(fields: Any) -> np.ndarray:
    """Return fields as an array of finite numbers, single precision kept, or say what is wrong with them."""
    try:
        array = np.asarray(fields)
        array = array if array.dtype == np.float32 else array.astype(float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"fields are not an array of real numbers: {error}") from error
    if not np.isfinite(array).all():
        raise InvalidInput(f"fields hold {np.count_nonzero(~np.isfinite(array))} values that are not finite")
    return array


def check_bases(bases: Any, dim: int | None, mass: Mass = None) -> Float[np.ndarray, "samples n k"]:
    """Return the first `dim` columns of each basis, orthonormal, single precision kept, or say what is wrong.

    Parameters
    ----------
    bases : one basis per sample, shape (samples, n, k), the wanted vectors first.
    dim : how many columns of each are wanted; all unless given.
    mass : matrix of the inner product.

    Raises
    ------
    InvalidInput
        If the shape is no stack of bases, there are fewer than `dim` columns or as many as rows, or a basis is
        complex, not finite or has dependent columns.

    Warns
    -----
    SubspaceWarning
        If bases had to be made orthonormal.
    """
    V = np.asarray(bases)
    if V.ndim != 3 or not V.size or V.dtype.kind not in "fiu":
        raise InvalidInput(
            f"expected real bases of shape (samples, n, k), got {V.dtype} of shape {V.shape}; stack one n × k array "
            "per sample"
        )
    V = V if V.dtype == np.float32 else V.astype(float)
    _, n, columns = V.shape
    k = columns if dim is None else dim
    if not 1 <= k <= columns:
        raise InvalidInput(f"dim={k}, but bases have {columns} columns; dim must lie between 1 and that")
    if k >= n:
        raise InvalidInput(
            f"bases have {k} columns in {n} dimensions, so every one spans the whole space: that is one point, with "
            "nothing to learn or interpolate; give bases with fewer columns than rows"
        )
    check_mass(mass, n)
    V = V[:, :, :k]
    gram = np.stack([one.T @ weighed(mass, one) for one in V])
    if np.isfinite(gram).all() and np.abs(gram - np.eye(k)).max() <= 1e3 * np.sqrt(n) * np.finfo(V.dtype).eps:
        return V
    made = np.stack([orthonormal_basis(one, mass) for one in V]).astype(V.dtype)
    warnings.warn("bases were not orthonormal and have been made so", SubspaceWarning, stacklevel=3)
    return made
