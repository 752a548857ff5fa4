"""Passes over a game in sequence form: plans downwards, best responses upwards, payoffs across.

All arrays are those of `firstlight.games.flat_game.Treeplex`: sets stand parents first, so one loop forwards
meets every parent before its children, and one loop backwards every child before its parent.
"""

import numpy as np
from jaxtyping import Float64, Int32

from firstlight.compiled import compiled


@compiled
def realise(
    parent: Int32[np.ndarray, " sets"],
    start: Int32[np.ndarray, " sets"],
    n_actions: Int32[np.ndarray, " sets"],
    behaviour: Float64[np.ndarray, " sequences"],
    plan: Float64[np.ndarray, " sequences"],
) -> None:
    """Fill `plan` with the probability that the player makes all moves of each sequence.

    ``plan[0] = 1`` and ``plan[k] = plan[parent] * behaviour[k]``.
    """
    plan[0] = 1.0
    for place in range(len(parent)):
        reach = plan[parent[place]]
        for sequence in range(start[place], start[place] + n_actions[place]):
            plan[sequence] = reach * behaviour[sequence]


@compiled
def condition(
    start: Int32[np.ndarray, " sets"],
    n_actions: Int32[np.ndarray, " sets"],
    plan: Float64[np.ndarray, " sequences"],
    behaviour: Float64[np.ndarray, " sequences"],
) -> None:
    """Fill `behaviour` with the choice at each set that realises `plan`; uniform where the plan never goes.

    The plan may carry any positive weight (a sum of plans over iterations) and small negative rounding.
    """
    behaviour[0] = 1.0
    for place in range(len(start)):
        first, after = start[place], start[place] + n_actions[place]
        total = 0.0
        for sequence in range(first, after):
            total += max(plan[sequence], 0.0)
        for sequence in range(first, after):
            if total > 0.0:
                behaviour[sequence] = max(plan[sequence], 0.0) / total
            else:
                behaviour[sequence] = 1.0 / n_actions[place]


@compiled
def best_response(
    parent: Int32[np.ndarray, " sets"],
    start: Int32[np.ndarray, " sets"],
    n_actions: Int32[np.ndarray, " sets"],
    gradient: Float64[np.ndarray, " sequences"],
) -> float:
    """Return the largest payoff over all plans when `gradient` holds the payoff of each sequence.

    `gradient` is overwritten: each entry becomes the payoff of the sequence and the best play after it.
    """
    for place in range(len(parent) - 1, -1, -1):
        best = gradient[start[place]]
        for sequence in range(start[place] + 1, start[place] + n_actions[place]):
            best = max(best, gradient[sequence])
        gradient[parent[place]] += best
    return gradient[0]


@compiled
def multiply(
    indptr: Int32[np.ndarray, " rows_and_one"],
    indices: Int32[np.ndarray, " entries"],
    data: Float64[np.ndarray, " entries"],
    vector: Float64[np.ndarray, " columns"],
    out: Float64[np.ndarray, " rows"],
) -> None:
    """Fill `out` with a CSR matrix times a vector."""
    for row in range(len(out)):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += data[entry] * vector[indices[entry]]
        out[row] = total
