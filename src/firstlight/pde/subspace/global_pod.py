"""One basis for all samples: proper orthogonal decomposition of all bases seen, the classical peer of a prediction."""

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from jaxtyping import Float
from scipy.sparse.linalg import LinearOperator, eigsh

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.estimators import SubspaceEstimator
from firstlight.pde.subspace.inner_products import Mass, weighed

DENSE = 2500  # up to this many rows or columns a dense eigenproblem takes seconds


class GlobalPOD(SubspaceEstimator):
    """The same `out_dim` directions for every sample: those that hold most of all bases it was fitted to.

    Parameters
    ----------
    dim : how many columns of each basis are wanted; all unless given.
    out_dim : columns of the prediction; `dim` unless given.
    mass : matrix of the inner product: sparse, dense, or its diagonal.

    Attributes
    ----------
    basis_ : the directions, shape (n, out_dim), most important first.
    captured_ : share of all bases in each of them; they add up to 1 over all directions there are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bases = np.linalg.qr(rng.normal(size=(20, 6, 2)))[0]
    >>> GlobalPOD(out_dim=3).fit(np.zeros((20, 1)), bases).predict([0.0]).shape
    (6, 3)
    """

    def __init__(self, dim: int | None = None, out_dim: int | None = None, mass: Mass = None) -> None:
        self.dim, self.out_dim, self.mass = dim, out_dim, mass

    def fit(self, fields: Any, bases: Any) -> "GlobalPOD":
        """Find the directions.

        Parameters
        ----------
        fields : one per basis; they are counted and not used.
        bases : orthonormal, shape (samples, n, k).

        Raises
        ------
        InvalidInput
            If bases cannot be used, or they do not span `out_dim` dimensions together.
        """
        _, V = self._check_training(fields, bases)
        self.basis_, self.captured_ = leading_directions(V, self.out_dim or V.shape[-1], self.mass)
        return self

    def _bases(self, fields: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.basis_, (len(fields), *self.basis_.shape))


def leading_directions(
    bases: Float[np.ndarray, "samples n k"], count: int, mass: Mass = None
) -> tuple[Float[np.ndarray, "n count"], Float[np.ndarray, " count"]]:
    """Return the `count` orthonormal directions that hold most of all bases, and the share of them that each holds.

    They are the left singular vectors, in the mass inner product, of all bases side by side. The eigenproblem of the
    smaller Gram matrix is solved densely, a large one by Lanczos.

    Raises
    ------
    InvalidInput
        If the bases span fewer dimensions together.
    """
    samples, n, k = bases.shape
    total = samples * k
    if count > min(n, total):
        raise InvalidInput(f"{samples} bases of {k} columns in {n} dimensions cannot give {count} directions")
    snapshots = bases.transpose(1, 0, 2).reshape(n, total).astype(float)
    if n <= min(total, DENSE):
        covariance = snapshots @ snapshots.T
        last: dict[str, Any] = {"subset_by_index": (n - count, n - 1)}
        if mass is None:
            energies, U = scipy.linalg.eigh(covariance, **last)
        else:  # S Sᵀ M u = λ u with uᵀ M u = 1
            dense = np.diag(mass) if len(mass.shape) == 1 else mass @ np.eye(n)
            energies, U = scipy.linalg.eigh(covariance, dense, type=2, **last)
    else:
        energies, U = _by_snapshots(snapshots, count, mass)
    if energies[0] <= 1e-12 * energies[-1]:
        rank = int((energies > 1e-12 * energies[-1]).sum())
        raise InvalidInput(f"all bases together span fewer than {count} dimensions, about {rank}; lower out_dim")
    return np.ascontiguousarray(U[:, ::-1]), energies[::-1] / total


def _by_snapshots(snapshots: np.ndarray, count: int, mass: Mass) -> tuple[np.ndarray, np.ndarray]:
    total = snapshots.shape[1]
    if total <= DENSE or count == total:
        gram = snapshots.T @ weighed(mass, snapshots)
        energies, y = scipy.linalg.eigh(gram, subset_by_index=(total - count, total - 1))
    else:
        apply = partial(_gram_times, snapshots, mass)
        gram = LinearOperator((total, total), matvec=apply, dtype=float)  # type: ignore[call-arg] - its stub is wrong
        energies, y = eigsh(gram, count, v0=np.ones(total))
    return energies, snapshots @ y / np.sqrt(np.abs(energies))


def _gram_times(snapshots: np.ndarray, mass: Mass, y: np.ndarray) -> np.ndarray:
    return snapshots.T @ weighed(mass, snapshots @ y.ravel())
