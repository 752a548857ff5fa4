"""The compiled steps of the regret-matching family, on what one player remembers.

Every method is two steps: *play* turns what is remembered into a strategy, *learn* takes in the losses of all actions.
With F = ⟨ℓ, x⟩1 − ℓ, the regrets of one round, RM+, PRM+, SPRM+ and MI-SPRM+ are the same two projections onto
D_R = {u ≥ 0, ‖u‖₁ ≥ R}; they differ in the step η, in whether F predicts the next round, and in R.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from firstlight.compiled import compiled
from firstlight.games.simplex import project


class Memory(NamedTuple):
    """What a minimiser remembers; an entry per action unless said otherwise.

    Attributes
    ----------
    aggregate : what the rounds have added up to: regrets θ̂, losses, or the centre of a descent step.
    lifted : θ, the aggregate moved by the prediction.
    previous : θ of the round before.
    feedback : regrets F or losses of the last round, the prediction of the next.
    strategy : x, the strategy in play.
    variation : one entry, Σ ‖ℓᵗ − ℓᵗ⁻¹‖² over the rounds, for methods that adapt to it.
    """

    aggregate: Float64[np.ndarray, " actions"]
    lifted: Float64[np.ndarray, " actions"]
    previous: Float64[np.ndarray, " actions"]
    feedback: Float64[np.ndarray, " actions"]
    strategy: Float64[np.ndarray, " actions"]
    variation: Float64[np.ndarray, " one"]


def new_memory(n_actions: int, total: float) -> Memory:
    """Return the memory before the first round: the aggregate spreads `total` evenly, nothing is predicted."""
    even = np.full(n_actions, total / n_actions)
    strategy = np.full(n_actions, 1 / n_actions)
    return Memory(even, even.copy(), even.copy(), np.zeros(n_actions), strategy, np.zeros(1))


@compiled
def normalise(memory: Memory, total: float) -> None:
    """Play θ/‖θ‖₁, or uniformly where θ = 0."""
    n_actions = len(memory.strategy)
    for k in range(n_actions):
        memory.strategy[k] = memory.lifted[k] / total if total > 0.0 else 1.0 / n_actions


@compiled
def play_smooth(memory: Memory, prediction: float, radius: float) -> float:
    """θ = Proj(θ̂ + prediction · F), played as θ/‖θ‖₁. Returns ‖θ‖₁."""
    n_actions = len(memory.strategy)
    for k in range(n_actions):
        memory.previous[k] = memory.lifted[k]
        memory.lifted[k] = memory.aggregate[k] + prediction * memory.feedback[k]
    total = project(memory.lifted, 0, n_actions, radius, memory.lifted)
    normalise(memory, total)
    return total


@compiled
def expected_loss(memory: Memory, loss: Float64[np.ndarray, " actions"]) -> float:
    """⟨ℓ, x⟩."""
    total = 0.0
    for k in range(len(loss)):
        total += loss[k] * memory.strategy[k]
    return total


@compiled
def learn_smooth(memory: Memory, loss: Float64[np.ndarray, " actions"], step: float, radius: float) -> None:
    """θ̂ ← Proj(θ̂ + ηF)."""
    value = expected_loss(memory, loss)
    for k in range(len(loss)):
        memory.feedback[k] = value - loss[k]
        memory.aggregate[k] += step * memory.feedback[k]
    project(memory.aggregate, 0, len(loss), radius, memory.aggregate)


@compiled
def learn_watched(memory: Memory, loss: Float64[np.ndarray, " actions"], radius: float, rounding: float) -> float:
    """`learn_smooth` with η = 1, returning this player's part of the criterion of the adaptive regret domain.

    The part is ‖Fᵗ − Fᵗ⁻¹‖² − (B(θ̂ᵗ, θᵗ⁻¹) + B(θ̂ᵗ, θᵗ))/2 with B(a, b) = ‖a − b‖²/2: how much faster the losses
    move than the iterates. Differences below `rounding` times losses and θ̂ are taken for zero, since near the
    equilibrium both sides are differences of rounding errors, and R would grow for ever.
    """
    value = expected_loss(memory, loss)
    moved_losses = 0.0
    moved_iterates = 0.0
    size = 0.0
    for k in range(len(loss)):
        regret = value - loss[k]
        aggregate = memory.aggregate[k]
        moved_losses += (regret - memory.feedback[k]) ** 2
        moved_iterates += (aggregate - memory.previous[k]) ** 2 + (aggregate - memory.lifted[k]) ** 2
        size += aggregate**2 + loss[k] ** 2
        memory.feedback[k] = regret
        memory.aggregate[k] = aggregate + regret
    project(memory.aggregate, 0, len(loss), radius, memory.aggregate)
    return moved_losses - moved_iterates / 4 - rounding**2 * size


@compiled
def learn_corrected(memory: Memory, loss: Float64[np.ndarray, " actions"], step: float) -> None:
    """θ̂ ← θ + η(F − F of the round before): the prediction is taken back and not projected again."""
    value = expected_loss(memory, loss)
    for k in range(len(loss)):
        regret = value - loss[k]
        memory.aggregate[k] = memory.lifted[k] + step * (regret - memory.feedback[k])
        memory.feedback[k] = regret


@compiled
def play_rising(memory: Memory) -> float:
    """θ = θ̂ + F raised to a norm of at least ‖θ̂‖₂, played as θ/‖θ‖₁. Returns ‖θ‖₁."""
    floor = norm(memory.aggregate)
    for k in range(len(memory.strategy)):
        memory.lifted[k] = memory.aggregate[k] + memory.feedback[k]
    total = raise_norm(memory.lifted, floor)
    normalise(memory, total)
    return total


@compiled
def learn_rising(memory: Memory, loss: Float64[np.ndarray, " actions"]) -> None:
    """θ̂ ← θ̂ + F raised to a norm of at least ‖θ̂‖₂."""
    floor = norm(memory.aggregate)
    value = expected_loss(memory, loss)
    for k in range(len(loss)):
        memory.feedback[k] = value - loss[k]
        memory.aggregate[k] += memory.feedback[k]
    raise_norm(memory.aggregate, floor)


@compiled
def norm(vector: Float64[np.ndarray, " entries"]) -> float:
    """‖vector‖₂."""
    total = 0.0
    for entry in vector:
        total += entry**2
    return np.sqrt(total)


@compiled
def raise_norm(vector: Float64[np.ndarray, " entries"], floor: float) -> float:
    """Replace v by [v + γ1]₊ with the smallest γ ≥ 0 that gives it a 2-norm of at least `floor`. Returns its sum.

    With s = max v + γ the squared norm Σ max(vₖ − max v + s, 0)² is convex and increasing in s, and at s = floor it is
    large enough, so Newton's method comes down to the level without ever passing it.
    """
    largest = vector[0]
    squares = 0.0
    for entry in vector:
        largest = max(largest, entry)
        squares += max(entry, 0.0) ** 2
    level = largest
    if squares < floor**2:
        level = floor
        while True:
            squares = 0.0
            total = 0.0
            for entry in vector:
                raised = max(entry - largest + level, 0.0)
                squares += raised**2
                total += raised
            lower = level - (squares - floor**2) / (2 * total)
            if not lower < level:
                break
            level = lower
    total = 0.0
    for k in range(len(vector)):
        vector[k] = max(vector[k] - largest + level, 0.0)
        total += vector[k]
    return total
