"""A hold'em river endgame as a two-player zero-sum game in sequence form, its payoff matrix never written down.

Each hand a player may hold walks its own copy of the betting tree, so a player's `Treeplex` is as many copies of a
small one, side by side under one empty sequence. The payoff matrix would have an entry for each pair of hands and
each end of the betting; `showdown.payoff_gradient` multiplies by it in time linear in the hands.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from firstlight.errors import InvalidInput
from firstlight.games.betting_tree import BetSize, BettingTree, Chips, grow_betting_tree
from firstlight.games.certificate import ROUNDING, Certificate
from firstlight.games.flat_game import Treeplex
from firstlight.games.hand_ranges import HAND_CARDS, Range, hand_strengths, range_weights, read_board
from firstlight.games.showdown import Holdings, Payoffs, payoff_gradient
from firstlight.games.sweeps import best_response, realise


@dataclass(frozen=True, eq=False)
class RiverGame:
    """A river endgame between two ranges of hands.

    Two hands without a common card are dealt with probability proportional to the product of their weights (card
    removal). Payoffs are the chips won or lost in the whole hand, half the pot included: to win an unraised pot of
    500 pays +250.

    Attributes
    ----------
    board : the five cards, as written.
    pot : chips in the middle when the river begins, half from each player.
    behind : chips each player has left.
    big_blind : the smallest bet, and the unit of mbb, which is a thousandth of it.
    bets : bet sizes as shares of the pot, and ``"allin"``.
    tree : the betting.
    hands : for each player, the hands with positive weight that some hand of the opponent can meet, as places among
        `hand_ranges.HAND_NAMES`, weakest first.
    holdings : the same hands as the showdown kernel takes them; the product of two weights is the chance of the pair.
    met : for each hand, the total weight of the opponent's hands that it can meet.
    payoffs : what each player wins, for `showdown.payoff_gradient`, the product with the payoff matrix.
    treeplexes : all decisions of each player: those of the weakest hand, then of the next, …
    """

    board: str
    pot: float
    behind: float
    big_blind: float
    bets: tuple[BetSize, ...]
    tree: BettingTree
    hands: tuple[Int64[np.ndarray, " hands_1"], Int64[np.ndarray, " hands_2"]]
    holdings: tuple[Holdings, Holdings]
    met: tuple[Float64[np.ndarray, " hands_1"], Float64[np.ndarray, " hands_2"]]
    payoffs: tuple[Payoffs, Payoffs]
    treeplexes: tuple[Treeplex, Treeplex]

    @classmethod
    def deal(
        cls,
        board: str,
        pot: Chips,
        behind: Chips,
        ranges: tuple[Range, Range],
        bets: Sequence[BetSize],
        big_blind: Chips,
    ) -> "RiverGame":
        """Set a game up; parameters and errors as in `RiverSolver`."""
        cards = read_board(board)
        tree = grow_betting_tree(pot, behind, bets, big_blind)
        weights = [range_weights(given, player) for player, given in enumerate(ranges)]
        off_board = ~np.isin(HAND_CARDS, cards).any(axis=1)
        dealt = [np.flatnonzero(off_board & (weight > 0)) for weight in weights]
        can_meet = _can_meet(*dealt)
        if not can_meet.any():
            raise InvalidInput(
                f"no hand of player 1 can be dealt together with one of player 2 on the board {board}: "
                "they share a card with each other or with the board"
            )
        # A hand that can meet none is never dealt.
        hands = [numbers[can_meet.any(axis=1 - player)] for player, numbers in enumerate(dealt)]
        strengths = [hand_strengths(cards, numbers) for numbers in hands]
        for player in (0, 1):
            weakest_first = np.argsort(strengths[player], kind="stable")
            hands[player], strengths[player] = hands[player][weakest_first], strengths[player][weakest_first]
        shares, met = _chances(hands, weights)
        holdings = [
            Holdings(HAND_CARDS[hands[player]], strengths[player], shares[player], _twins(hands, player))
            for player in (0, 1)
        ]
        return cls(
            board,
            float(pot),
            float(behind),
            float(big_blind),
            tuple(bets),
            tree,
            (hands[0], hands[1]),
            (holdings[0], holdings[1]),
            (met[0], met[1]),
            (
                Payoffs(holdings[0], holdings[1], tree.folds[0], tree.showdowns[0]),
                Payoffs(holdings[1], holdings[0], tree.folds[1], tree.showdowns[1]),
            ),
            (_side_by_side(tree.treeplexes[0], len(hands[0])), _side_by_side(tree.treeplexes[1], len(hands[1]))),
        )

    @property
    def mbb(self) -> float:
        """Chips in a thousandth of a big blind."""
        return self.big_blind / 1000

    def by_hand(self, player: int, values: Float64[np.ndarray, " sequences"]) -> Float64[np.ndarray, "hands moves"]:
        """View an array over a player's sequences as a row per hand; column k is sequence k + 1 of the betting tree."""
        return values[1:].reshape(len(self.hands[player]), -1)

    def plans(
        self, behaviour: tuple[Float64[np.ndarray, "hands_1 moves_1"], Float64[np.ndarray, "hands_2 moves_2"]]
    ) -> tuple[Float64[np.ndarray, " sequences_1"], Float64[np.ndarray, " sequences_2"]]:
        """Return the realisation plans of strategies given as rows by hand, columns as in `by_hand`."""
        plans = []
        for treeplex, probabilities in zip(self.treeplexes, behaviour, strict=True):
            plan = np.empty(treeplex.n_sequences)
            flat = np.concatenate(([1.0], probabilities.ravel()))
            realise(treeplex.parent, treeplex.start, treeplex.n_actions, flat, plan)
            plans.append(plan)
        return plans[0], plans[1]

    def certify(
        self, plans: tuple[Float64[np.ndarray, " sequences_1"], Float64[np.ndarray, " sequences_2"]]
    ) -> Certificate:
        """Measure both players' plans by exact best responses; all figures in chips per deal.

        Parameters
        ----------
        plans : realisation plans of both players, ``plan[0] = 1``.
        """
        gradients = [np.empty_like(plan) for plan in plans]
        for player in (0, 1):
            payoff_gradient(self.payoffs[player], plans[1 - player], gradients[player])
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

    def hand_values(
        self, player: int, plans: tuple[Float64[np.ndarray, " sequences_1"], Float64[np.ndarray, " sequences_2"]]
    ) -> Float64[np.ndarray, " hands"]:
        """Return what a player expects to win with each hand, in chips, given that it is dealt."""
        gradient = np.empty_like(plans[player])
        payoff_gradient(self.payoffs[player], plans[1 - player], gradient)
        won = (self.by_hand(player, gradient) * self.by_hand(player, plans[player])).sum(axis=1)
        return won / (self.holdings[player].weight * self.met[player])

    def _rounding_slack(self) -> float:
        """Bound the rounding error of a best-response value.

        The value of a reply is a sum of terms weight × weight × plan × stake. If none goes through more than m
        roundings, the sum is off by at most γ = m u / (1 - m u) times the sum of the absolute terms, u = 2⁻⁵³
        (Higham 2002, section 3.1). A deal of two hands ends once, for at most the largest stake; removing blocked
        pairs by inclusion and exclusion adds each hand of the opponent up to nine times in absolute terms: in the
        sum of all and of two cards, taken away once and added twice.
        """
        # Per hand of the opponent, one addition to the first sum and two to the second; then the sums over the own
        # hands, the deal's normalisation over all hands, and the moves and ends of the betting.
        n_hands = len(self.hands[0]) + len(self.hands[1])
        roundings = 4 * n_hands + 3 * len(self.tree.nodes) + 20
        gamma = roundings * ROUNDING / (1 - roundings * ROUNDING)
        pairs = float(self.holdings[0].weight.sum() * self.holdings[1].weight.sum())
        return 1.01 * gamma * 9 * pairs * (self.pot / 2 + self.behind)


def _can_meet(
    first: Int64[np.ndarray, " hands_1"], second: Int64[np.ndarray, " hands_2"]
) -> Bool[np.ndarray, "hands_1 hands_2"]:
    """Which hands have no card in common."""
    held = [np.bitwise_or.reduce(np.int64(1) << HAND_CARDS[numbers], axis=1) for numbers in (first, second)]
    return (held[0][:, None] & held[1][None, :]) == 0


def _chances(
    hands: list[Int64[np.ndarray, " _"]], weights: list[Float64[np.ndarray, "1326"]]
) -> tuple[list[Float64[np.ndarray, " _"]], list[Float64[np.ndarray, " _"]]]:
    """Both players' weights, scaled so that the products of all pairs that can meet sum to one; and what each meets."""
    can_meet = _can_meet(hands[0], hands[1]).astype(np.float64)
    shares = [weight[numbers] / weight[numbers].max() for weight, numbers in zip(weights, hands, strict=True)]
    total = shares[0] @ can_meet @ shares[1]
    if not total > 0:
        raise InvalidInput("the weights of hands that can be dealt together are too far below the largest weights")
    shares = [share / np.sqrt(total) for share in shares]
    return shares, [can_meet @ shares[1], shares[0] @ can_meet]


def _twins(hands: list[Int64[np.ndarray, " _"]], player: int) -> Int64[np.ndarray, " hands"]:
    """Where each hand of a player stands among those of the opponent; -1 if it does not."""
    place = {number: row for row, number in enumerate(hands[1 - player].tolist())}
    return np.array([place.get(number, -1) for number in hands[player].tolist()], dtype=np.int64)


def _side_by_side(treeplex: Treeplex, copies: int) -> Treeplex:
    """Copies of a treeplex under one empty sequence, the sequences of each copy behind those of the one before."""
    shift = (treeplex.n_sequences - 1) * np.arange(copies, dtype=np.int32)[:, None]
    return Treeplex(
        np.where(treeplex.parent > 0, treeplex.parent + shift, 0).ravel(),
        (treeplex.start + shift).ravel(),
        np.tile(treeplex.n_actions, copies),
    )
