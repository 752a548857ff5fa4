"""A minimiser: the answer of one player, round by round, to losses that others decide.

`play` and `learn` carry out one round of any method, chosen by its `Rule`; the classes and the compiled loop over
matrix games both go through them, so they cannot drift apart.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from firstlight.compiled import compiled
from firstlight.errors import InvalidInput
from firstlight.games import first_order_kernels as first_order
from firstlight.games import regret_kernels as regret
from firstlight.games.regret_kernels import Memory, new_memory

SMOOTH, WATCHED, CORRECTED, RISING, DESCENT, WEIGHTS, STABILISED = range(7)

# The lower bound R on ‖θ‖₁ and how it grows: to unit · kᵖ the k-th time. Methods without an R have unit 0.
RADIUS = np.dtype(
    [
        ("value", np.float64),  # R
        ("unit", np.float64),  # R at k = 1; while 0, the first growth sets it
        ("learnt", np.float64),  # the unit to be, relative to the first regrets of all players, ‖F‖₂
        ("power", np.float64),  # p
        ("first", np.int64),  # k at the start
        ("rounds", np.int64),  # rounds finished
        ("increments", np.int64),  # how often R grew, k − first
        ("last_increment", np.int64),  # round of the last growth
        ("tightest", np.float64),  # smallest ‖θ‖₁/R so far
    ]
)


class Rule(NamedTuple):
    """What tells one method from another, in numbers.

    Attributes
    ----------
    kind : which pair of steps, one of the constants of this module.
    step : η, the weight of a round.
    prediction : the weight of the prediction; 0.0 for methods that do not predict.
    rounding : relative differences that the criterion of an adaptive radius takes for zero.
    """

    kind: int
    step: float = 1.0
    prediction: float = 1.0
    rounding: float = 0.0


@compiled
def play(rule: Rule, memory: Memory, radius: Any) -> None:
    """Work out the strategy of the next round."""
    if rule.kind == DESCENT:
        first_order.play_descent(memory, rule.step)
    elif rule.kind == WEIGHTS:
        first_order.play_weights(memory, rule.step)
    elif rule.kind == STABILISED:
        first_order.play_stabilised(memory)
    elif rule.kind == RISING:
        regret.play_rising(memory)
    else:
        total = regret.play_smooth(memory, rule.prediction, radius.value)
        if radius.value > 0.0:
            radius.tightest = min(radius.tightest, total / radius.value)


@compiled
def learn(rule: Rule, memory: Memory, loss: Float64[np.ndarray, " actions"], radius: Any) -> float:
    """Take in the losses of a round; return the player's part of the criterion for raising R."""
    if rule.kind == DESCENT:
        first_order.learn_descent(memory, loss, rule.step)
    elif rule.kind == WEIGHTS:
        first_order.learn_weights(memory, loss)
    elif rule.kind == STABILISED:
        first_order.learn_stabilised(memory, loss)
    elif rule.kind == RISING:
        regret.learn_rising(memory, loss)
    elif rule.kind == CORRECTED:
        regret.learn_corrected(memory, loss, rule.step)
    elif rule.kind == WATCHED:
        return regret.learn_watched(memory, loss, radius.value, rule.rounding)
    else:
        regret.learn_smooth(memory, loss, rule.step, radius.value)
    return 0.0


@compiled
def finish_round(radius: Any, excess: float) -> None:
    """Count the round, and raise R if all players' parts of the criterion sum to more than zero."""
    radius.rounds += 1
    if excess > 0.0:
        radius.increments += 1
        radius.last_increment = radius.rounds
        if radius.unit == 0.0:
            # Before the first growth of all, R, θ and θ̂ are 0 and the excess is ‖F‖².
            radius.unit = radius.learnt * np.sqrt(excess)
        radius.value = radius.unit * float(radius.first + radius.increments) ** radius.power


class Minimiser:
    """One player's side of a repeated decision: ask for a strategy, tell the losses, and so on.

    Over T rounds the losses suffered exceed those of the best fixed action by o(T), whatever the losses are; two
    minimisers playing a zero-sum game against each other approach its equilibrium on average.

    Parameters
    ----------
    n_actions : number of actions, at least 1.
    rule : the method, in numbers.
    total : what the aggregate sums to at the start.
    radius : the lower bound R on ‖θ‖₁, where the method has one.

    Attributes
    ----------
    rule, memory : the method and what it remembers, as the compiled steps take them.
    bound : the record of R, of type `RADIUS`.

    Raises
    ------
    InvalidInput
        If there is no action.
    """

    def __init__(self, n_actions: int, rule: Rule, total: float = 0.0, radius: float = 0.0) -> None:
        if n_actions < 1:
            raise InvalidInput(f"expected at least one action, got {n_actions}")
        self.rule = rule
        self.memory = new_memory(n_actions, total)
        self.bound = new_bound(radius)
        self._played = False

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return len(self.memory.strategy)

    def next_strategy(self) -> Float64[np.ndarray, " actions"]:
        """Return the probabilities of the actions in the coming round; asking again changes nothing."""
        if not self._played:
            play(self.rule, self.memory, self.bound)
            self._played = True
        return self.memory.strategy.copy()

    def observe(self, loss: ArrayLike) -> None:
        """Finish the round with what each action would have lost in it.

        Parameters
        ----------
        loss : loss of each action, finite; a payoff is a negative loss.

        Raises
        ------
        InvalidInput
            If there is not one finite loss per action.
        """
        losses = np.asarray(loss, dtype=np.float64, order="C")
        if losses.shape != self.memory.strategy.shape:
            raise InvalidInput(f"expected {self.n_actions} losses, one per action, got shape {losses.shape}")
        if not np.isfinite(losses).all():
            raise InvalidInput(f"losses must be finite, got {losses[~np.isfinite(losses)][0]}")
        self.next_strategy()
        self._played = False
        self._finish_round(learn(self.rule, self.memory, losses, self.bound))

    def _finish_round(self, excess: float) -> None:
        finish_round(self.bound, excess)


def new_bound(radius: float, *, learnt: float = 0.0, power: float = 0.0) -> np.void:
    """Return the record of an R; without a power it stays where it is."""
    bound = np.zeros(1, RADIUS)[0]
    bound["value"] = bound["unit"] = radius
    bound["learnt"] = learnt
    bound["power"] = power
    bound["first"] = 1 if radius > 0.0 else 0
    bound["tightest"] = np.inf
    return bound
