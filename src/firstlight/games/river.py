"""Solves hold'em endgames: two ranges of hands, a board, a pot and bet sizes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firstlight.errors import InvalidInput
from firstlight.games.betting_tree import BetSize, Chips
from firstlight.games.certificate import Certificate
from firstlight.games.cfr_runs import CFRRun
from firstlight.games.endgame import Plans
from firstlight.games.endgame_solution import EndgameSolution
from firstlight.games.hand_ranges import Range
from firstlight.games.libratus_files import read_libratus
from firstlight.games.sweeps import condition
from firstlight.games.turn_game import deal_endgame


class RiverSolver(CFRRun[EndgameSolution]):
    """Solve a river endgame by counterfactual regret minimisation, or one that begins on the turn.

    Parameters
    ----------
    board : the five cards, such as ``"4s8hTc9h2s"``; four if the river is still to come.
    pot : chips in the middle, half from each player.
    behind : chips that each player has left.
    ranges : what player 1, who acts first, and player 2 may hold: each a mapping from hands or classes of hands to
        weights, such as ``{"AA": 1, "AKs": 0.5, "QsJh": 0.25}``, or 1,326 weights in the order of
        `hand_ranges.HAND_NAMES`.
    bets : bet sizes as shares of the pot (for raises, of the pot after calling), and ``"allin"``.
    big_blind : the smallest bet, and the unit of mbb.
    method : ``"dcfr"``, ``"cfr+"``, ``"pcfr+"``, ``"pdcfr+"``, ``"mi-spcfr+"`` or another of
        `firstlight.games.cfr_methods`. DCFR is the fastest that we measured on endgames with many hands.
    alternating, averaging : as in `CFRSolver`.

    Raises
    ------
    InvalidInput
        If the cards are not different, an amount, size or weight is not usable, no pair of hands can be dealt, an
        option is unknown, or the game is too large for the memory.
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
        self.game = deal_endgame(board, pot, behind, ranges, bets, big_blind)
        super().__init__(
            self.game.treeplexes,
            self.game.payoffs,
            payoff_range=self.game.payoff_range,
            unit=self.game.mbb,
            method=method,
            alternating=alternating,
            averaging=averaging,
        )

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
        path : a file with ``-round 4`` (river) or ``-round 3`` (turn).
        stack : chips of each player at the start of the hand, of which half the pot is gone.
        bets, big_blind, options : as in `RiverSolver`.

        Raises
        ------
        InvalidInput
            As `RiverSolver`; if the file cannot be read, with the line; or if the pot holds more than both stacks.
        """
        endgame = read_libratus(path)
        behind = stack - endgame.pot / 2
        if behind < 0:
            raise InvalidInput(f"{path}: half the pot of {endgame.pot:g} is more than the stack of {stack:g} chips")
        ranges = (endgame.reach[0], endgame.reach[1])
        return cls(endgame.board, endgame.pot, behind, ranges, bets=bets, big_blind=big_blind, **options)

    def _behaviour(self) -> Plans:
        """The answer: the probability of every move in the average strategies."""
        first, second, _ = self._memory
        if self.averaging == "last":
            return first.behaviour.copy(), second.behaviour.copy()
        behaviour = [np.empty_like(half.total) for half in (first, second)]
        for half, total, probabilities in zip((first, second), self._answer(), behaviour, strict=True):
            condition(half.start, half.n_actions, total, probabilities)
        return behaviour[0], behaviour[1]

    def _certify(self) -> Certificate:
        return self.game.certify(self.game.plans(self._behaviour()))

    def _solution(self, certificate: Certificate) -> EndgameSolution:
        behaviour = self._behaviour()
        plans = self.game.plans(behaviour)
        values = (self.game.hand_values(0, plans), self.game.hand_values(1, plans))
        return EndgameSolution(self.game, behaviour, certificate, values, **self._history())
