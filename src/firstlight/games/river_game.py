"""A river endgame: one full board, one street of betting."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

from firstlight.games.betting_tree import BetSize, Chips, grow_betting_tree
from firstlight.games.endgame import Decision, Endgame, deal_hands, see
from firstlight.games.flat_game import Treeplex
from firstlight.games.hand_ranges import HAND_NAMES, Range, read_board
from firstlight.games.showdown import HandPayoffs


class RiverGame(Endgame):
    """A river endgame between two ranges; attributes as in `Endgame`.

    `hands` stand weakest first. A player's sequences are the empty one, then the moves of the weakest hand in the order
    of ``tree.moves``, those of the next, and so on.
    """

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
        deal = deal_hands(cards, ranges)
        (first, second), (rows_1, rows_2) = see(cards, deal)
        return cls(
            board,
            float(pot),
            float(behind),
            float(big_blind),
            tuple(bets),
            tree,
            hands=(deal.hands[0][rows_1], deal.hands[1][rows_2]),
            weights=(first.weight, second.weight),
            met=(deal.met[0][rows_1], deal.met[1][rows_2]),
            treeplexes=(
                side_by_side(tree.treeplexes[0], len(first.weight)),
                side_by_side(tree.treeplexes[1], len(second.weight)),
            ),
            payoffs=(
                HandPayoffs(first, second, tree.folds[0], tree.showdowns[0]),
                HandPayoffs(second, first, tree.folds[1], tree.showdowns[1]),
            ),
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the betting."""
        return len(self.tree.nodes)

    @property
    def payoff_range(self) -> float:
        """Twice the largest stake of a showdown."""
        return 2 * float(self.tree.showdowns[0].stake.max())

    def decision(self, line: str, hand: str) -> Decision:
        """Find where a hand decides; errors as in `EndgameSolution.strategy`."""
        player, move, actions = self.tree.decision(line)
        n_moves = self.tree.treeplexes[player].n_sequences - 1
        return Decision(player, 1 + self.row(player, hand) * n_moves + move, actions)

    def by_dealt_hand(self, player: int, values: Float64[np.ndarray, " sequences"]) -> Float64[np.ndarray, " hands"]:
        """Sum values over all sequences of each hand."""
        return values[1:].reshape(len(self.hands[player]), -1).sum(axis=1)

    def tables(self, player: int, behaviour: Float64[np.ndarray, " sequences"]) -> dict[str, np.ndarray]:
        """Return ``strategy``, a row for each of ``hands`` and a column for each of ``moves``, the lines they end."""
        return {
            "hands": np.array([HAND_NAMES[hand] for hand in self.hands[player]]),
            "moves": np.array(self.tree.moves(player)),
            "strategy": behaviour[1:].reshape(len(self.hands[player]), -1),
        }

    def behaviour_in(self, player: int, tables: dict[str, np.ndarray]) -> Float64[np.ndarray, " sequences"]:
        """Put a strategy that `tables` laid out together again."""
        return np.concatenate(([1.0], tables["strategy"].ravel()))


def side_by_side(treeplex: Treeplex, copies: int) -> Treeplex:
    """Copies of a treeplex under one empty sequence, the sequences of each copy behind those of the one before."""
    shift = (treeplex.n_sequences - 1) * np.arange(copies, dtype=np.int32)[:, None]
    return Treeplex(
        np.where(treeplex.parent > 0, treeplex.parent + shift, 0).ravel(),
        (treeplex.start + shift).ravel(),
        np.tile(treeplex.n_actions, copies),
    )
