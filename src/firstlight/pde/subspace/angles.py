"""How far apart two subspaces are: principal angles, in the inner product of a mass matrix."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Shaped

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.inner_products import Mass, norms, orthonormal_basis, singular_values, weighed
from firstlight.pictures import axes_or_new

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes


def principal_angles(
    W: Shaped[np.ndarray, "n p"], V: Shaped[np.ndarray, "_ k"], mass: Mass = None
) -> Float[np.ndarray, " angles"]:
    """Principal angles between the spans of W and V, largest first as `scipy.linalg.subspace_angles` gives them.

    Angles below 45° are taken from their sines, the singular values of (I − P)Q, since a cosine near 1 has lost them
    (Björck and Golub 1973; Knyazev and Argentati 2002).

    Parameters
    ----------
    W, V : bases, one vector per column; the columns need not be orthonormal.
    mass : matrix M of the inner product xᵀ M y: sparse, dense, or its diagonal.

    Returns
    -------
    min(p, k) angles in radians.

    Raises
    ------
    InvalidInput
        If a basis has dependent columns, is not finite or complex, or the numbers of rows differ.
    """
    wide, slim = (orthonormal_basis(one, mass) for one in sorted((W, V), key=lambda one: -one.shape[1]))
    _same_rows(wide, slim)
    cross = wide.T @ weighed(mass, slim)
    cosines = np.linalg.svd(cross, compute_uv=False)[::-1]
    sines = singular_values(slim - wide @ cross, mass)
    return np.where(cosines**2 < 0.5, np.arccos(cosines.clip(0, 1)), np.arcsin(sines.clip(0, 1)))


def projection_error(W: Shaped[np.ndarray, "n p"], V: Shaped[np.ndarray, "_ k"], mass: Mass = None) -> float:
    """Mean over the columns of V of ‖(I − P)v‖/‖v‖, with P the orthogonal projector on the span of W.

    This is the error that papers and benchmarks print: 0 when the span contains every wanted vector, 1 when it is at
    right angles to all.

    Parameters
    ----------
    W : the predicted basis.
    V : the wanted vectors.
    mass : matrix of the inner product.

    Raises
    ------
    InvalidInput
        As `principal_angles`.
    """
    Q = orthonormal_basis(W, mass)
    _same_rows(Q, V)
    rest = V - Q @ (Q.T @ weighed(mass, V))
    return float((norms(rest, mass) / norms(V, mass)).mean())


def plot_angles(angles: "Mapping[str, Float[np.ndarray, ' k']]", ax: "Axes | None" = None) -> "Axes":
    """Draw the principal angles of several predictions, smallest first.

    Parameters
    ----------
    angles : what `principal_angles` gave, in radians, by the name of the prediction.
    ax : axes to draw on; new ones unless given.
    """
    ax = axes_or_new(ax)
    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
    for number, (name, values) in enumerate(angles.items()):
        order = np.arange(1, len(values) + 1)
        style: dict[str, Any] = {"marker": "os^Dv<>"[number % 7], "color": colours[number % 7], "markersize": 4}
        ax.plot(order, np.degrees(np.sort(values)), label=name, **style)
    ax.set_xlabel("principal angle, smallest first")
    ax.set_ylabel("degrees")
    ax.set_ylim(0, 92)
    ax.legend(frameon=False)
    return ax


def _same_rows(W: np.ndarray, V: np.ndarray) -> None:
    if W.shape[0] != V.shape[0]:
        raise InvalidInput(f"bases have {W.shape[0]} and {V.shape[0]} rows; both must live on one mesh")
