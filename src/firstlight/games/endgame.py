"""A hold'em endgame as a two-player zero-sum game in sequence form, its payoff matrix never written down.

Each hand a player may hold walks its own copy of the betting tree, so a player's `Treeplex` is as many copies of a
small one, side by side under one empty sequence. The payoff matrix would have an entry for each pair of hands and each
end of the betting; `showdown` multiplies by it in time linear in the hands.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64

from firstlight.errors import InvalidInput
from firstlight.games.betting_tree import BetSize, BettingTree
from firstlight.games.certificate import ROUNDING, Certificate
from firstlight.games.flat_game import Treeplex
from firstlight.games.hand_ranges import CARDS, HAND_CARDS, Range, hand_number, hand_strengths, range_weights
from firstlight.games.payoffs import pay
from firstlight.games.showdown import Holdings
from firstlight.games.sweeps import best_response, realise

Plans = tuple[Float64[np.ndarray, " sequences_1"], Float64[np.ndarray, " sequences_2"]]


class Decision(NamedTuple):
    """Where a hand decides: who moves, the first of the player's sequences there, and the moves."""

    player: int
    first_sequence: int
    actions: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Endgame(ABC):
    """What is left of a hand of hold'em between two ranges; `RiverGame` and `TurnGame` are the two kinds.

    Two hands without a common card are dealt with probability proportional to the product of their weights (card
    removal). Payoffs are the chips won or lost in the whole hand, half the pot included: to win an unraised pot of
    500 pays +250.

    Attributes
    ----------
    board : the cards on the table, as written.
    pot : chips in the middle when the endgame begins, half from each player.
    behind : chips each player has left.
    big_blind : the smallest bet, and the unit of mbb, which is a thousandth of it.
    bets : bet sizes as shares of the pot, and ``"allin"``.
    tree : the betting on the first street.
    hands : for each player, the hands with positive weight that some hand of the opponent can meet, as places among
        `hand_ranges.HAND_NAMES`.
    weights : of the same hands; the product of two is the chance of the pair.
    met : for each hand, the total weight of the opponent's hands that it can meet.
    treeplexes : all decisions of each player.
    payoffs : what each player wins, in a form that `firstlight.games.payoffs.pay` knows.
    """

    board: str
    pot: float
    behind: float
    big_blind: float
    bets: tuple[BetSize, ...]
    tree: BettingTree
    hands: tuple[Int64[np.ndarray, " hands_1"], Int64[np.ndarray, " hands_2"]]
    weights: tuple[Float64[np.ndarray, " hands_1"], Float64[np.ndarray, " hands_2"]]
    met: tuple[Float64[np.ndarray, " hands_1"], Float64[np.ndarray, " hands_2"]]
    treeplexes: tuple[Treeplex, Treeplex]
    payoffs: tuple[Any, Any]

    @property
    def mbb(self) -> float:
        """Chips in a thousandth of a big blind."""
        return self.big_blind / 1000

    @property
    @abstractmethod
    def n_nodes(self) -> int:
        """Number of nodes of the betting, those after each river card included."""

    @property
    @abstractmethod
    def payoff_range(self) -> float:
        """The most that a player can win plus the most that a player can lose."""

    @abstractmethod
    def decision(self, line: str, hand: str) -> Decision:
        """Find where a hand decides after a line of betting; errors as in `EndgameSolution.strategy`."""

    @abstractmethod
    def by_dealt_hand(self, player: int, values: Float64[np.ndarray, " sequences"]) -> Float64[np.ndarray, " hands"]:
        """Sum values over all sequences of each of a player's `hands`."""

    @abstractmethod
    def tables(self, player: int, behaviour: Float64[np.ndarray, " sequences"]) -> dict[str, np.ndarray]:
        """Lay a player's strategy out in named arrays, for files; `behaviour_in` is the inverse."""

    @abstractmethod
    def behaviour_in(self, player: int, tables: dict[str, np.ndarray]) -> Float64[np.ndarray, " sequences"]:
        """Put a strategy that `tables` laid out together again."""

    def row(self, player: int, hand: str) -> int:
        """Return the place of a hand among a player's `hands`.

        Raises
        ------
        InvalidInput
            If the text is no hand, or the player cannot hold it.
        """
        rows = np.flatnonzero(self.hands[player] == hand_number(hand))
        if not len(rows):
            raise InvalidInput(
                f"player {player + 1} cannot hold {hand}: it has weight 0, shares a card with the board, "
                "or blocks all hands of the opponent"
            )
        return int(rows[0])

    def plans(self, behaviour: Plans) -> Plans:
        """Return the realisation plans of strategies given as probabilities of all moves."""
        plans = [np.empty_like(probabilities) for probabilities in behaviour]
        for treeplex, probabilities, plan in zip(self.treeplexes, behaviour, plans, strict=True):
            realise(treeplex.parent, treeplex.start, treeplex.n_actions, probabilities, plan)
        return plans[0], plans[1]

    def certify(self, plans: Plans) -> Certificate:
        """Measure both players' plans by exact best responses; all figures in chips per deal."""
        gradients = [np.empty_like(plan) for plan in plans]
        for player in (0, 1):
            pay(self.payoffs[player], plans[1 - player], gradients[player])
        value = float(plans[0] @ gradients[0])
        best = [
            best_response(treeplex.parent, treeplex.start, treeplex.n_actions, gradient)
            for treeplex, gradient in zip(self.treeplexes, gradients, strict=True)
        ]
        slack = self._rounding_slack()
        return Certificate(
            improvements=(max(best[0] - value, 0.0), max(best[1] + value, 0.0)),
            value=value,
            value_bounds=(-best[1] - slack, best[0] + slack),
        )

    def hand_values(self, player: int, plans: Plans) -> Float64[np.ndarray, " hands"]:
        """Return what a player expects to win with each hand, in chips, given that it is dealt."""
        gradient = np.empty_like(plans[player])
        pay(self.payoffs[player], plans[1 - player], gradient)
        won = self.by_dealt_hand(player, gradient * plans[player])
        return won / (self.weights[player] * self.met[player])

    def _rounding_slack(self) -> float:
        """Bound the rounding error of a best-response value.

        The value of a reply is a sum of terms weight × weight × plan × stake. If none goes through more than m
        roundings, the sum is off by at most γ = m u / (1 - m u) times the sum of the absolute terms, u = 2⁻⁵³
        (Higham 2002, section 3.1). A deal of two hands ends once, for at most the largest stake; removing blocked
        pairs by inclusion and exclusion adds each hand of the opponent up to nine times in absolute terms, in the sums
        of all and of two cards, taken away once and added twice, and pairs that block each other may count on any of 48
        river cards instead of 44.
        """
        # Per hand of the opponent, one addition to the first sum and two to the second; then the sums over the own
        # hands, the deal's normalisation over all hands, and the moves and ends of the betting.
        roundings = 4 * (len(self.hands[0]) + len(self.hands[1])) + 3 * self.n_nodes + 20
        gamma = roundings * ROUNDING / (1 - roundings * ROUNDING)
        pairs = float(self.weights[0].sum() * self.weights[1].sum()) * 48 / 44
        return 1.01 * gamma * 9 * pairs * (self.pot / 2 + self.behind)


class Deal(NamedTuple):
    """Both players' hands, weights and met weights, as in `Endgame`."""

    hands: tuple[Int64[np.ndarray, " hands_1"], Int64[np.ndarray, " hands_2"]]
    weights: tuple[Float64[np.ndarray, " hands_1"], Float64[np.ndarray, " hands_2"]]
    met: tuple[Float64[np.ndarray, " hands_1"], Float64[np.ndarray, " hands_2"]]


def deal_hands(board: tuple[int, ...], ranges: tuple[Range, Range]) -> Deal:
    """Return the hands that can be dealt on a board, in ascending order of their numbers, and how often they are.

    Raises
    ------
    InvalidInput
        If a range is broken, or no hand of one player can be dealt together with one of the other.
    """
    given = [range_weights(weights, player) for player, weights in enumerate(ranges)]
    off_board = ~np.isin(HAND_CARDS, board).any(axis=1)
    dealt = [np.flatnonzero(off_board & (weights > 0)) for weights in given]
    meet = can_meet(*dealt)
    if not meet.any():
        raise InvalidInput(
            "no hand of player 1 can be dealt together with one of player 2 on the board "
            f"{''.join(CARDS[card] for card in board)}: they share a card with each other or with the board"
        )
    # A hand that can meet none is never dealt.
    first, second = dealt[0][meet.any(axis=1)], dealt[1][meet.any(axis=0)]
    meet = can_meet(first, second).astype(np.float64)
    weights_1 = given[0][first] / given[0][first].max()
    weights_2 = given[1][second] / given[1][second].max()
    total = weights_1 @ meet @ weights_2
    if not total > 0:
        raise InvalidInput("the weights of hands that can be dealt together are too far below the largest weights")
    weights_1, weights_2 = weights_1 / np.sqrt(total), weights_2 / np.sqrt(total)
    return Deal((first, second), (weights_1, weights_2), (meet @ weights_2, weights_1 @ meet))


def can_meet(
    first: Int64[np.ndarray, " hands_1"], second: Int64[np.ndarray, " hands_2"]
) -> Bool[np.ndarray, "hands_1 hands_2"]:
    """Return which hands have no card in common."""
    held = [np.bitwise_or.reduce(np.int64(1) << HAND_CARDS[numbers], axis=1) for numbers in (first, second)]
    return (held[0][:, None] & held[1][None, :]) == 0


class Seen(NamedTuple):
    """Both players' hands on a full board, weakest first: as the showdown takes them, and which hands of a `Deal`."""

    holdings: tuple[Holdings, Holdings]
    rows: tuple[Int64[np.ndarray, " hands_1"], Int64[np.ndarray, " hands_2"]]


def see(board: tuple[int, ...], deal: Deal, chance: float = 1.0) -> Seen:
    """Return the hands that share no card with a full board, weakest first; pairs of weights are times `chance`."""
    rows, strengths = [], []
    for numbers in deal.hands:
        free = np.flatnonzero(~np.isin(HAND_CARDS[numbers], board).any(axis=1))
        strength = hand_strengths(board, numbers[free])
        weakest_first = np.argsort(strength, kind="stable")
        rows.append(free[weakest_first])
        strengths.append(strength[weakest_first])
    hands = [numbers[row] for numbers, row in zip(deal.hands, rows, strict=True)]
    weights = [weight[row] * np.sqrt(chance) for weight, row in zip(deal.weights, rows, strict=True)]
    first, second = (
        Holdings(HAND_CARDS[hands[player]], strengths[player], weights[player], twins(hands[player], hands[1 - player]))
        for player in (0, 1)
    )
    return Seen((first, second), (rows[0], rows[1]))


def twins(mine: Int64[np.ndarray, " mine"], theirs: Int64[np.ndarray, " theirs"]) -> Int64[np.ndarray, " mine"]:
    """Return where each of my hands stands among theirs; -1 if it does not."""
    place = {number: row for row, number in enumerate(theirs.tolist())}
    return np.array([place.get(number, -1) for number in mine.tolist()], dtype=np.int64)
