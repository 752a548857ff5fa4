"""The linear program of a matrix game: minimise v such that Aᵀx ≤ v, x in the simplex."""

import time

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.linalg import LinearOperator

from firstlight.errors import FirstlightError, InvalidInput
from firstlight.games.game_solution import GameSolution
from firstlight.games.matrix_payoffs import Payoffs, shape_of, value_bounds

# The smallest that HiGHS takes.
TOLERANCE = 1e-10


def solve_by_lp(payoffs: Payoffs) -> GameSolution:
    """Solve a matrix game with HiGHS; the multipliers of Aᵀx ≤ v are the strategy of the column player.

    The bounds on the value come from the strategies, not from the solver.

    Parameters
    ----------
    payoffs : a dense or sparse matrix.

    Raises
    ------
    InvalidInput
        If the payoffs are an operator, whose entries are not seen.
    FirstlightError
        If HiGHS finds no solution.
    """
    if isinstance(payoffs, LinearOperator):
        raise InvalidInput("the linear program needs the entries of the payoffs, and an operator does not show them")
    began = time.perf_counter()
    rows, columns = shape_of(payoffs)
    # HiGHS drops coefficients below 1e-9 and cannot take large ones.
    scale = float(abs(payoffs).max()) or 1.0
    below = sp.hstack([sp.csr_array(payoffs).T / scale, -np.ones((columns, 1))], format="csr")
    one = np.append(np.ones(rows), 0.0)
    result = linprog(
        np.append(np.zeros(rows), 1.0),
        A_ub=below,
        b_ub=np.zeros(columns),
        A_eq=one[None, :],
        b_eq=[1.0],
        bounds=[(0.0, None)] * rows + [(None, None)],
        method="highs",
        options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
    )
    if result.status != 0:
        raise FirstlightError(f"HiGHS found no equilibrium: {result.message}")
    x, y = _distribution(result.x[:rows]), _distribution(-result.ineqlin.marginals)
    return GameSolution(
        x,
        y,
        value_bounds(payoffs, x, y),
        method="lp",
        averaging="last",
        iterations=int(result.nit),
        seconds=time.perf_counter() - began,
        checked_at=np.empty(0, np.int64),
        gaps=np.empty(0),
    )


def _distribution(weights: np.ndarray) -> np.ndarray:
    """Clear the solver's small negatives and scale to a sum of one."""
    weights = np.maximum(weights, 0.0)
    return weights / weights.sum()
