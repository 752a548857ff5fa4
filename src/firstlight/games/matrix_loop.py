"""Self-play of two minimisers over a matrix game: compiled for dense payoffs, in Python for everything else."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.sparse.linalg import aslinearoperator

from firstlight.compiled import compiled
from firstlight.games.matrix_payoffs import Payoffs
from firstlight.games.minimiser import Minimiser, Rule, finish_round, learn, play
from firstlight.games.regret_kernels import Memory

# Rounds times entries in one compiled run, less than a second of work, so that Ctrl-C is heard.
SLICE = 10**8


class Weights(NamedTuple):
    """How much the strategies of round t count in the average.

    Attributes
    ----------
    power : they count t^power,
    by_radius : times R of that round;
    last_only : or all this is ignored, and only the last round counts.
    """

    power: float
    by_radius: bool
    last_only: bool


class Side(NamedTuple):
    """One player, for the compiled loop.

    Attributes
    ----------
    rule, memory : the minimiser's.
    total : weighted sum of the strategies so far.
    loss : room for the losses of a round.
    """

    rule: Rule
    memory: Memory
    total: Float64[np.ndarray, " actions"]
    loss: Float64[np.ndarray, " actions"]


class SelfPlay:
    """Two minimisers against each other, and the average of what they play.

    Parameters
    ----------
    payoffs : what the row player loses and the column player wins, checked.
    players : the minimisers of the row and the column player.
    weights : what the average is.
    """

    def __init__(self, payoffs: Payoffs, players: tuple[Minimiser, Minimiser], weights: Weights) -> None:
        self.payoffs = payoffs
        self.weights = weights
        self.bound = players[0].bound
        self._players = players
        self._row, self._column = (
            Side(player.rule, player.memory, np.zeros(player.n_actions), np.empty(player.n_actions))
            for player in players
        )
        if isinstance(payoffs, np.ndarray):
            self._transposed = np.ascontiguousarray(payoffs.T)
        else:
            self._operator = aslinearoperator(payoffs)

    @property
    def rounds(self) -> int:
        """Number of rounds played."""
        return int(self.bound["rounds"])

    def play_until(self, rounds: int) -> None:
        """Play on until so many rounds have been played in all."""
        in_a_run = max(1, SLICE // (len(self._row.loss) * len(self._column.loss)))
        while self.rounds < rounds:
            count = min(in_a_run, rounds - self.rounds)
            if isinstance(self.payoffs, np.ndarray):
                iterate(self.payoffs, self._transposed, self._row, self._column, self.bound, self.weights, count)
            else:
                self._iterate(count)

    def strategies(self) -> tuple[Float64[np.ndarray, " rows"], Float64[np.ndarray, " columns"]]:
        """Return the average strategies so far."""
        x, y = (_average(side, self.weights) for side in (self._row, self._column))
        return x, y

    def _iterate(self, rounds: int) -> None:
        """The loop of `iterate`, through the products of an operator."""
        row, column = self._players
        for _ in range(rounds):
            x, y = row.next_strategy(), column.next_strategy()
            radius = float(self.bound["value"]) if self.weights.by_radius else 1.0
            weight = float(self.rounds + 1) ** self.weights.power * radius
            self._row.total[:] += weight * x
            self._column.total[:] += weight * y
            row.observe(self._operator.matvec(y))
            column.observe(-self._operator.rmatvec(x))


def _average(side: Side, weights: Weights) -> np.ndarray:
    total = side.total.sum()
    # While R is 0, nothing is at stake and nothing has weight.
    if weights.last_only or total == 0.0:
        return side.memory.strategy.copy()
    return side.total / total


@compiled
def iterate(payoffs: Any, transposed: Any, row: Side, column: Side, bound: Any, weights: Weights, rounds: int) -> None:
    """Play rounds over dense payoffs; both matrices are C-contiguous."""
    for _ in range(rounds):
        play(row.rule, row.memory, bound)
        play(column.rule, column.memory, bound)
        weight = float(bound.rounds + 1) ** weights.power
        if weights.by_radius:
            weight *= bound.value
        add(row, weight)
        add(column, weight)
        multiply(transposed, column.memory.strategy, 1.0, row.loss)
        multiply(payoffs, row.memory.strategy, -1.0, column.loss)
        excess = learn(row.rule, row.memory, row.loss, bound)
        excess += learn(column.rule, column.memory, column.loss, bound)
        finish_round(bound, excess)


@compiled
def add(side: Side, weight: float) -> None:
    """Add the strategy in play to the sum."""
    for k in range(len(side.total)):
        side.total[k] += weight * side.memory.strategy[k]


@compiled
def multiply(matrix: Any, strategy: Any, sign: float, out: Any) -> None:
    """out = sign · strategy @ matrix, skipping the rows that are not played, which are many."""
    for j in range(len(out)):
        out[j] = 0.0
    for i in range(len(strategy)):
        if strategy[i] != 0.0:
            weight = sign * strategy[i]
            for j in range(len(out)):
                out[j] += weight * matrix[i, j]
