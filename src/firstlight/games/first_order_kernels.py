"""The compiled steps of three first-order methods on the simplex, on the same `Memory` as regret matching.

All are optimistic: the losses of the last round predict those of the next.
"""

import numpy as np
from jaxtyping import Float64

from firstlight.compiled import compiled
from firstlight.games.regret_kernels import Memory
from firstlight.games.simplex import project_simplex


@compiled
def play_descent(memory: Memory, step: float) -> None:
    """x = Proj(z − η · predicted losses), a step from the centre z."""
    n_actions = len(memory.strategy)
    for k in range(n_actions):
        memory.strategy[k] = memory.aggregate[k] - step * memory.feedback[k]
    project_simplex(memory.strategy, 0, n_actions, 1.0, memory.strategy)


@compiled
def learn_descent(memory: Memory, loss: Float64[np.ndarray, " actions"], step: float) -> None:
    """z ← Proj(z − ηℓ)."""
    for k in range(len(loss)):
        memory.aggregate[k] -= step * loss[k]
        memory.feedback[k] = loss[k]
    project_simplex(memory.aggregate, 0, len(loss), 1.0, memory.aggregate)


@compiled
def play_weights(memory: Memory, step: float) -> None:
    """x ∝ exp(−η(L + predicted losses)) with L the losses added up."""
    n_actions = len(memory.strategy)
    least = np.inf
    for k in range(n_actions):
        memory.strategy[k] = memory.aggregate[k] + memory.feedback[k]
        least = min(least, memory.strategy[k])
    total = 0.0
    for k in range(n_actions):
        memory.strategy[k] = np.exp(-step * (memory.strategy[k] - least))
        total += memory.strategy[k]
    for k in range(n_actions):
        memory.strategy[k] /= total


@compiled
def learn_weights(memory: Memory, loss: Float64[np.ndarray, " actions"]) -> None:
    """L ← L + ℓ."""
    for k in range(len(loss)):
        memory.aggregate[k] += loss[k]
        memory.feedback[k] = loss[k]


@compiled
def play_stabilised(memory: Memory) -> None:
    """`play_descent` with the step 1/λ, λ = √(1 + variation)."""
    play_descent(memory, 1.0 / np.sqrt(1.0 + memory.variation[0]))


@compiled
def learn_stabilised(memory: Memory, loss: Float64[np.ndarray, " actions"]) -> None:
    """z ← the minimum of ⟨ℓ, u⟩ + λ ‖u − z‖²/2 + (λ' − λ) ‖u − centre‖²/2, where λ' is the next λ.

    The last term is the dual stabilisation, which makes up for the step that shrinks from 1/λ to 1/λ'. The minimum is
    the projection of (λz + (λ' − λ) centre − ℓ)/λ', and the centre, equal in all entries, does not move a projection.
    """
    weight = np.sqrt(1.0 + memory.variation[0])
    for k in range(len(loss)):
        memory.variation[0] += (loss[k] - memory.feedback[k]) ** 2
        memory.feedback[k] = loss[k]
    next_weight = np.sqrt(1.0 + memory.variation[0])
    for k in range(len(loss)):
        memory.aggregate[k] = (weight * memory.aggregate[k] - loss[k]) / next_weight
    project_simplex(memory.aggregate, 0, len(loss), 1.0, memory.aggregate)
