"""What a matrix game may be given as, and what two strategies prove about its value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from firstlight.errors import InvalidInput

Payoffs = Float64[np.ndarray, "rows columns"] | sp.csr_array | LinearOperator

# Minimisers add up payoffs and square the sums, which must not overflow.
LARGEST = 1e100


def checked_payoffs(A: Any) -> Payoffs:
    """Return payoffs as a C-contiguous float64 array, a CSR array or a linear operator.

    Parameters
    ----------
    A : a matrix as NumPy array, nested lists, torch tensor, SciPy sparse array or matrix, or a `LinearOperator` of
        SciPy, which wraps a pair of functions y ↦ Ay and x ↦ Aᵀx.

    Raises
    ------
    InvalidInput
        If it is none of these, not two-dimensional, empty, not of real numbers, or has entries that are not finite or
        beyond 1e100 in size. The entries of an operator are not seen.
    """
    if isinstance(A, LinearOperator):
        _check_form(A.shape, np.dtype(A.dtype))
        return A
    if sp.issparse(A):
        _check_form(A.shape, A.dtype)
        entries = sp.coo_array(A)
        _check_entries(entries.data, lambda place: (entries.coords[0][place], entries.coords[1][place]))
        return sp.csr_array(A, dtype=np.float64)
    return checked_matrix(A)


def checked_matrix(A: Any) -> Float64[np.ndarray, "rows columns"]:
    """Return dense payoffs as a C-contiguous float64 array; refuses what `checked_payoffs` refuses."""
    array = _as_array(A)
    _check_form(array.shape, array.dtype)
    matrix = np.ascontiguousarray(array, dtype=np.float64)
    _check_entries(matrix.ravel(), lambda place: np.unravel_index(place, matrix.shape))
    return matrix


def shape_of(payoffs: Payoffs) -> tuple[int, int]:
    """Return the numbers of rows and columns."""
    rows, columns = payoffs.shape  # pyright: ignore[reportGeneralTypeIssues]: SciPy's stubs allow for no shape
    return int(rows), int(columns)


def _as_array(A: Any) -> np.ndarray:
    if hasattr(A, "detach"):  # a torch tensor, perhaps on a device and with a gradient
        A = A.detach().cpu()
    try:
        array = np.asarray(A)
        # Nested lists of whole numbers beyond 64 bits and of fractions become objects; as floats they are fine.
        return np.asarray(A, dtype=np.float64) if array.dtype == object and not isinstance(A, np.ndarray) else array
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"payoffs must be a rectangular matrix of real numbers: {error}") from error


def _check_form(shape: tuple[int, ...], dtype: np.dtype) -> None:
    if dtype.kind not in "biuf":
        raise InvalidInput(f"payoffs must be real numbers, got an array of type {dtype}; convert it with astype(float)")
    if len(shape) != 2:
        raise InvalidInput(
            f"payoffs must be a matrix of two dimensions, got shape {shape}; reshape it to rows × columns"
        )
    if 0 in shape:
        raise InvalidInput(f"each player needs at least one action, got payoffs of shape {shape}")


def _check_entries(entries: np.ndarray, position: Callable[[int], tuple]) -> None:
    bad = np.flatnonzero(~(np.abs(entries) <= LARGEST))
    if len(bad):
        row, column = position(int(bad[0]))
        raise InvalidInput(
            f"payoffs must be finite and at most {LARGEST:.0e} in size, found {entries[bad[0]]} "
            f"at row {row}, column {column} (counted from 0)"
        )


def value_bounds(
    payoffs: Payoffs, x: Float64[np.ndarray, " rows"], y: Float64[np.ndarray, " columns"]
) -> tuple[float, float]:
    """Bounds on the value of the game min_x max_y xᵀAy, proved by a strategy of each player.

    Against y the row player cannot lose less than min Ay, and against x the column player cannot win more than
    max Aᵀx. Both are widened by the most that rounding can have moved them: a sum of n products is off by no more than
    γ Σ|aₖxₖ| with γ = nu/(1 − nu), u = 2⁻⁵³, whatever the order (Higham 2002, sec. 3.1), and a strategy by as much as
    it misses a sum of one. So the bounds hold for the matrix as given, short of underflow. What an operator's own
    arithmetic loses is not known and not counted.

    Parameters
    ----------
    payoffs : as `checked_payoffs` returns them.
    x, y : probabilities that sum to one to rounding.

    Returns
    -------
    The lower and the upper bound.
    """
    operator, sizes = aslinearoperator(payoffs), None
    if not isinstance(payoffs, LinearOperator):
        sizes = aslinearoperator(abs(payoffs))
    against_y, against_x = operator.matvec(y), operator.rmatvec(x)
    if sizes is not None:
        against_y = against_y - _rounding(y) * sizes.matvec(y)
        against_x = against_x + _rounding(x) * sizes.rmatvec(x)
    return float(against_y.min()), float(against_x.max())


def _rounding(strategy: np.ndarray) -> float:
    """The largest relative error of the products with a strategy, with a margin for computing it."""
    u = np.finfo(np.float64).eps / 2
    gamma = (len(strategy) + 3) * u / (1 - (len(strategy) + 3) * u)
    return 1.01 * (2 * gamma + abs(strategy.sum() - 1))
