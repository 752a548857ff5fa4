"""What each sequence pays against the opponent's plan, for every form in which a game may hold its payoffs.

A solver asks only this of a game's payoffs, and asks it from compiled code. A form of payoffs is a named tuple of
arrays and a compiled function for it; `pay` picks the function by the type of the tuple, when the solver is compiled.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64, Int32
from numba.extending import overload

from firstlight.compiled import compiled
from firstlight.games.sweeps import multiply

_FORMS: dict[type, Any] = {}


def pay(
    payoffs: Any,
    plan: Float64[np.ndarray, " their_sequences"],
    gradient: Float64[np.ndarray, " my_sequences"],
) -> None:
    """Fill `gradient` with what each own sequence pays against the opponent's plan.

    Works from Python and inside compiled functions.

    Parameters
    ----------
    payoffs : what the player gets, in a form that was registered with `pays`.
    plan : the opponent's realisation plan.
    gradient : overwritten; with an own plan x the expected payoff is ``x @ gradient``.
    """
    _FORMS[type(payoffs)](payoffs, plan, gradient)


def pays(form: type) -> Callable[[Callable], Callable]:
    """Register a compiled function ``(payoffs, plan, gradient)`` for payoffs of a form, a class of named tuples."""

    def register(function: Callable) -> Callable:
        _FORMS[form] = function
        return function

    return register


@overload(pay)
def _pay(payoffs, plan, gradient):
    """Tell numba, which shows the types of the arguments, what to compile in place of `pay`."""
    function = _FORMS.get(getattr(payoffs, "instance_class", type(None)))
    return function and function.py_func


class Matrix(NamedTuple):
    """A sparse payoff matrix: a row per own sequence, a column per sequence of the opponent.

    Attributes
    ----------
    indptr, indices, data : CSR form.
    """

    indptr: Int32[np.ndarray, " sequences_and_one"]
    indices: Int32[np.ndarray, " entries"]
    data: Float64[np.ndarray, " entries"]

    @classmethod
    def of(cls, payoffs: sp.csr_array, sign: float = 1.0) -> "Matrix":
        """Return a SciPy matrix, or its negative, in this form."""
        return cls(payoffs.indptr, payoffs.indices, payoffs.data if sign == 1.0 else sign * payoffs.data)


@pays(Matrix)
@compiled
def _matrix_pays(payoffs, plan, gradient):
    multiply(payoffs.indptr, payoffs.indices, payoffs.data, plan, gradient)
