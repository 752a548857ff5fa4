"""Solves hold'em river endgames: two ranges of hands, a board, a pot and bet sizes.

CFR on a river endgame is CFR as on any other game (see `cfr_kernels`), only that what each sequence pays comes from
`showdown`, in time linear in the hands.
"""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64

from firstlight.compiled import compiled
from firstlight.errors import Interrupted, InvalidInput
from firstlight.games.betting_tree import BetSize, Chips
from firstlight.games.cfr import _check_limits
from firstlight.games.cfr_kernels import PROGRESS, _add, _grow, _learn, _play
from firstlight.games.cfr_memory import _new_half
from firstlight.games.cfr_methods import averaging_power, find_method
from firstlight.games.hand_ranges import Range
from firstlight.games.libratus_files import read_libratus
from firstlight.games.river_game import RiverGame
from firstlight.games.river_solution import RiverSolution
from firstlight.games.showdown import payoff_gradient
from firstlight.games.sweeps import condition

# Exploitability is measured when the iterations have grown by this factor; a measurement costs about one iteration.
CHECK_SPACING = 1.05
NO_MATRIX = sp.csr_array((0, 0))  # the payoffs come from `showdown`


class RiverSolver:
    """Solve a river endgame by counterfactual regret minimisation.

    Parameters
    ----------
    board : the five cards, such as ``"4s8hTc9h2s"``.
    pot : chips in the middle, half from each player.
    behind : chips that each player has left.
    ranges : what player 1, who acts first, and player 2 may hold: each a mapping from hands or classes of hands to
        weights, such as ``{"AA": 1, "AKs": 0.5, "QsJh": 0.25}``, or 1,326 weights in the order of
        `hand_ranges.HAND_NAMES`.
    bets : bet sizes as shares of the pot (for raises, of the pot after calling), and ``"allin"``.
    big_blind : the smallest bet, and the unit of mbb.
    method : ``"dcfr"``, ``"cfr+"``, ``"pcfr+"``, ``"pdcfr+"``, ``"mi-spcfr+"`` or another of
        `firstlight.games.cfr_methods`. DCFR is the fastest that we measured on river endgames.
    alternating : whether player 2 answers the new strategy of player 1, or both move at once.
    averaging : ``"uniform"``, ``"linear"``, ``"quadratic"``, a number p for weights t^p, or ``"last"``; the
        method's own unless given.

    Raises
    ------
    InvalidInput
        If the board is not five different cards, an amount, size or weight is not usable, no pair of hands can be
        dealt, or an option is unknown.
    MissingExtra
        If phevaluator is not installed.

    Examples
    --------
    Aces and queens against kings, with the size of the pot behind: queens bluff half as often as aces bet.

    >>> ranges = ({"AA": 1, "QQ": 1}, {"KK": 1})
    >>> solution = RiverSolver("Ts3h2h5c9s", pot=100, behind=100, ranges=ranges, bets=("allin",)).run(target=0.1)
    >>> round(solution.value), round(solution.strategy("", "QsQh")["bet 100"], 2)
    (25, 0.5)
    """

    def __init__(
        self,
        board: str,
        pot: Chips,
        behind: Chips,
        ranges: tuple[Range, Range],
        *,
        bets: Sequence[BetSize] = (0.5, 1.0, "allin"),
        big_blind: Chips = 100,
        method: str = "dcfr",
        alternating: bool = True,
        averaging: str | float | None = None,
    ) -> None:
        self._method = find_method(method, "auto")
        self.method = method
        self.alternating = alternating
        self.averaging = self._method.averaging if averaging is None else averaging
        self._power = averaging_power(self.averaging)
        self.game = RiverGame.deal(board, pot, behind, ranges, bets, big_blind)
        payoff_range = 2 * self.game.tree.showdowns[0].stake.max()
        radius = self._method.radius * (payoff_range if self._method.scale_free else 1.0)
        self._halves = tuple(
            _new_half(treeplex, NO_MATRIX, NO_MATRIX.data, radius) for treeplex in self.game.treeplexes
        )
        self._progress = np.zeros(1, PROGRESS)[0]
        self._progress["radius"] = radius
        self._checks: list[tuple[int, float]] = []
        self._seconds = 0.0

    @classmethod
    def from_libratus(
        cls,
        path: str | Path,
        *,
        stack: Chips = 20_000,
        bets: Sequence[BetSize] = (0.5, 1.0, "allin"),
        big_blind: Chips = 100,
        **options: Any,
    ) -> "RiverSolver":
        """Set up an endgame of the Libratus files (https://github.com/Sandholm-Lab/LibratusEndgames).

        Parameters
        ----------
        path : a file with ``-round 4``.
        stack : chips of each player at the start of the hand, of which half the pot is gone.
        bets, big_blind, options : as in `RiverSolver`.

        Raises
        ------
        InvalidInput
            As `RiverSolver`; if the file cannot be read as a river endgame, with the line; or if the pot holds more
            than both stacks.
        """
        endgame = read_libratus(path)
        behind = stack - endgame.pot / 2
        if behind < 0:
            raise InvalidInput(f"{path}: half the pot of {endgame.pot:g} is more than the stack of {stack:g} chips")
        ranges = (endgame.reach[0], endgame.reach[1])
        return cls(endgame.board, endgame.pot, behind, ranges, bets=bets, big_blind=big_blind, **options)

    @property
    def iteration(self) -> int:
        """Iterations finished."""
        return int(self._progress["iteration"])

    def run(
        self, iterations: int | None = None, *, target: float | None = None, seconds: float | None = None
    ) -> RiverSolution:
        """Iterate until the first of the given limits is met; a later call goes on from there.

        Parameters
        ----------
        iterations : how many more iterations to run.
        target : stop once the exploitability of the average is at most this, in mbb. It is measured whenever the
            iterations have grown by a twentieth.
        seconds : stop after this time. Compiling, once per machine, comes before.

        Returns
        -------
        The average strategies, their certificate, and the exploitability on the way since the solver was made.

        Raises
        ------
        InvalidInput
            If no limit is given, or one is not positive.
        Interrupted
            On Ctrl-C. The solver stands after a whole iteration and can go on; ``finished["solution"]`` holds the
            result so far.
        """
        _check_limits(iterations, target, seconds)
        self._iterate(0)
        began = time.perf_counter()
        last = math.inf if iterations is None else self.iteration + iterations
        deadline = math.inf if seconds is None else began + seconds
        limit = -math.inf if target is None else target
        next_check = self.iteration + 1
        try:
            while self.iteration < last and time.perf_counter() < deadline:
                self._iterate(1)
                if self.iteration >= next_check:
                    next_check = max(self.iteration + 1, math.ceil(CHECK_SPACING * self.iteration))
                    if self._check() <= limit:
                        break
            return self._solution(began)
        except KeyboardInterrupt:
            solution = self._solution(began)
            raise Interrupted(
                f"{self.method} stopped after {solution.iterations:,} iterations with exploitability "
                f"{solution.exploitability:.3g} mbb; nothing is lost, run() goes on from here",
                {"solution": solution},
            ) from None

    def _iterate(self, count: int) -> None:
        method = self._method
        _iterate(
            *self._halves,
            *self.game.payoffs,
            self._progress,
            method.rule,
            self.alternating,
            self._power,
            method.weighs_by_radius,
            count,
        )

    def _average(self) -> tuple[Float64[np.ndarray, "hands_1 moves_1"], Float64[np.ndarray, "hands_2 moves_2"]]:
        """The answer: for each player and hand, the probability of each move."""
        behaviour = []
        for player, half in enumerate(self._halves):
            probabilities = half.behaviour.copy()
            if self.averaging != "last":
                condition(half.start, half.n_actions, half.total, probabilities)
            behaviour.append(self.game.by_hand(player, probabilities))
        return behaviour[0], behaviour[1]

    def _check(self) -> float:
        """Measure the average, in mbb, and remember it, once per iteration."""
        if not self._checks or self._checks[-1][0] < self.iteration:
            certificate = self.game.certify(self.game.plans(self._average()))
            self._checks.append((self.iteration, certificate.exploitability / self.game.mbb))
        return self._checks[-1][1]

    def _solution(self, began: float) -> RiverSolution:
        self._check()
        iterations, exploitabilities = zip(*self._checks, strict=True)
        self._seconds += time.perf_counter() - began
        return RiverSolution.of(
            self.game,
            self._average(),
            method=self.method,
            iterations=self.iteration,
            seconds=self._seconds,
            checked_at=np.array(iterations, np.int64),
            exploitabilities=np.array(exploitabilities),
        )


@compiled
def _iterate(first, second, payoffs_1, payoffs_2, progress, rule, alternating, power, by_radius, count):
    """Run `count` iterations, as `cfr_kernels.iterate` does with payoffs in a matrix."""
    for _ in range(count):
        weight = float(progress.iteration + 1) ** power * (progress.radius if by_radius else 1.0)
        _add(first, weight)
        _add(second, weight)
        payoff_gradient(payoffs_1, second.plan, first.gradient)
        if alternating:
            violation = _learn(first, rule, progress)
            _play(first, rule, progress.radius)
            payoff_gradient(payoffs_2, first.plan, second.gradient)
            violation += _learn(second, rule, progress)
            _grow(progress, rule, violation)
        else:
            payoff_gradient(payoffs_2, first.plan, second.gradient)
            violation = _learn(first, rule, progress) + _learn(second, rule, progress)
            _grow(progress, rule, violation)
            _play(first, rule, progress.radius)
        _play(second, rule, progress.radius)
        progress.iteration += 1
