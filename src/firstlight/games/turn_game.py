"""An endgame from the turn on: betting, one of 48 river cards, betting again.

For every river card the hands meet as in a river endgame whose betting is a forest: a tree behind each way in which the
betting on the turn can end without a fold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from firstlight.errors import InvalidInput
from firstlight.games.betting_forest import Forest, grow_forest
from firstlight.games.betting_tree import BetSize, BettingTree, Chips, Ends, grow_betting_tree
from firstlight.games.endgame import Deal, Decision, Endgame, Seen, deal_hands, see, twins
from firstlight.games.flat_game import Treeplex
from firstlight.games.hand_ranges import CARDS, HAND_CARDS, HAND_NAMES, Range, read_board
from firstlight.games.river_game import RiverGame, side_by_side
from firstlight.games.showdown import HandPayoffs, Holdings
from firstlight.games.turn_payoffs import TurnPayoffs

_RIVER_CARDS_LEFT = 44  # of 52, when two hands and four cards on the board are known
_MAX_BYTES = 2**32
_BYTES_PER_SEQUENCE = 100  # a dozen arrays of the solver and its certificate


@dataclass(frozen=True, eq=False)
class TurnGame(Endgame):
    """An endgame from the turn on between two ranges; attributes as in `Endgame`, and two more.

    A player's sequences are the empty one, the turn's moves of each hand (in the order of ``tree.moves``), then for
    each river card the river's moves of each hand that may see it.

    Attributes
    ----------
    forest : the betting on the river.
    rivers : for each of the 48 river cards, by number, the hands that may see it.
    """

    forest: Forest
    rivers: dict[int, Seen]

    @classmethod
    def deal(
        cls,
        board: str,
        pot: Chips,
        behind: Chips,
        ranges: tuple[Range, Range],
        bets: Sequence[BetSize],
        big_blind: Chips,
    ) -> "TurnGame":
        """Set a game up; parameters and errors as in `RiverSolver`."""
        cards = read_board(board)
        tree = grow_betting_tree(pot, behind, bets, big_blind)
        forest = grow_forest(tree, pot, behind, bets, big_blind)
        deal = deal_hands(cards, ranges)
        turn = [side_by_side(tree.treeplexes[player], len(deal.hands[player])) for player in (0, 1)]
        _check_size(forest, deal)
        rivers = {
            card: see((*cards, card), deal, chance=1 / _RIVER_CARDS_LEFT)
            for card in range(len(CARDS))
            if card not in cards
        }
        return cls(
            board,
            float(pot),
            float(behind),
            float(big_blind),
            tuple(bets),
            tree,
            deal.hands,
            deal.weights,
            deal.met,
            (
                _both_streets(turn[0], forest, rivers, tree.treeplexes[0].n_sequences - 1, 0),
                _both_streets(turn[1], forest, rivers, tree.treeplexes[1].n_sequences - 1, 1),
            ),
            (_payoffs(tree, forest, deal, rivers, 0), _payoffs(tree, forest, deal, rivers, 1)),
            forest,
            rivers,
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the betting, those after each river card included."""
        return len(self.tree.nodes) + len(self.rivers) * sum(len(tree.nodes) for tree in self.forest.trees)

    @property
    def payoff_range(self) -> float:
        """Twice the largest stake of a showdown."""
        return 2 * float(self.forest.showdowns[0].stake.max())

    def decision(self, line: str, hand: str) -> Decision:
        """Find where a hand decides; errors as in `EndgameSolution.strategy`."""
        moves = line.split(",")
        cards = [place for place, move in enumerate(moves) if move.strip() in CARDS]
        before = ", ".join(moves[: cards[0]] if cards else moves)
        root = self.tree.nodes[self.tree.find(before)]
        if root not in self.forest.roots:
            if cards:
                raise InvalidInput(
                    f"no river card comes after {', '.join(root.line) or 'no move'!r}; the line was {line!r}"
                )
            player, move, actions = self.tree.decision(line)
            n_moves = self.tree.treeplexes[player].n_sequences - 1
            return Decision(player, 1 + self.row(player, hand) * n_moves + move, actions)
        if not cards:
            where = ", ".join(root.line)
            raise InvalidInput(f"a river card comes after {where!r}; go on with it, as in '{where}, 2c'")
        number, after = self.forest.roots.index(root), ", ".join(moves[cards[0] + 1 :])
        player, move, actions = self.forest.trees[number].decision(after)
        first = self._first_river_sequence(player, CARDS.index(moves[cards[0]].strip()), hand)
        return Decision(player, first + int(self.forest.first_moves[player][number]) + move, actions)

    def by_dealt_hand(self, player: int, values: Float64[np.ndarray, " sequences"]) -> Float64[np.ndarray, " hands"]:
        """Sum values over all sequences of each of a player's `hands`."""
        turn, river = self._streets(player, values)
        rows = np.concatenate([seen.rows[player] for seen in self.rivers.values()])
        return turn.sum(axis=1) + np.bincount(rows, weights=river.sum(axis=1), minlength=len(turn))

    def tables(self, player: int, behaviour: Float64[np.ndarray, " sequences"]) -> dict[str, np.ndarray]:
        """Return the turn's strategy as `RiverGame.tables` does, and the river's with a row per river card and hand.

        ``river_cards`` and ``river_hands`` say what the rows of ``river_strategy`` are, ``river_moves`` the columns.
        """
        turn, river = self._streets(player, behaviour)
        hands = np.array([HAND_NAMES[hand] for hand in self.hands[player]])
        rows = [seen.rows[player] for seen in self.rivers.values()]
        moves = [
            f"{', '.join(root.line)}, river, {move}"
            for root, tree in zip(self.forest.roots, self.forest.trees, strict=True)
            for move in tree.moves(player)
        ]
        return {
            "hands": hands,
            "moves": np.array(self.tree.moves(player)),
            "strategy": turn,
            "river_hands": hands[np.concatenate(rows)],
            "river_cards": np.repeat([CARDS[card] for card in self.rivers], [len(row) for row in rows]),
            "river_moves": np.array(moves),
            "river_strategy": river,
        }

    def behaviour_in(self, player: int, tables: dict[str, np.ndarray]) -> Float64[np.ndarray, " sequences"]:
        """Put a strategy that `tables` laid out together again."""
        return np.concatenate(([1.0], tables["strategy"].ravel(), tables["river_strategy"].ravel()))

    def _streets(
        self, player: int, values: Float64[np.ndarray, " sequences"]
    ) -> tuple[Float64[np.ndarray, "hands moves"], Float64[np.ndarray, "river_hands river_moves"]]:
        """View an array over sequences as a row per hand on the turn, and a row per card and hand on the river."""
        n_hands = len(self.hands[player])
        n_turn = 1 + n_hands * (self.tree.treeplexes[player].n_sequences - 1)
        n_river_moves = self.forest.treeplexes[player].n_sequences - 1
        return values[1:n_turn].reshape(n_hands, -1), values[n_turn:].reshape(-1, n_river_moves)

    def _first_river_sequence(self, player: int, card: int, hand: str) -> int:
        """The first of a hand's sequences behind a river card."""
        row = self.row(player, hand)
        if card not in self.rivers:
            raise InvalidInput(f"the river cannot be {CARDS[card]}, which is on the board {self.board}")
        place = np.flatnonzero(self.rivers[card].rows[player] == row)
        if not len(place):
            raise InvalidInput(f"the river cannot be {CARDS[card]} when player {player + 1} holds {hand}")
        earlier = sum(len(seen.rows[player]) for other, seen in self.rivers.items() if other < card)
        n_turn = 1 + len(self.hands[player]) * (self.tree.treeplexes[player].n_sequences - 1)
        return n_turn + (earlier + int(place[0])) * (self.forest.treeplexes[player].n_sequences - 1)


def deal_endgame(
    board: str,
    pot: Chips,
    behind: Chips,
    ranges: tuple[Range, Range],
    bets: Sequence[BetSize],
    big_blind: Chips,
) -> Endgame:
    """Set up the game that the board asks for, from the turn or the river on; parameters as in `RiverSolver`."""
    street = TurnGame if len(read_board(board)) == 4 else RiverGame
    return street.deal(board, pot, behind, ranges, bets, big_blind)


def _check_size(forest: Forest, deal: Deal) -> None:
    """Refuse what does not fit in memory before it is built."""
    n_bytes = sum(
        _BYTES_PER_SEQUENCE * 46 * len(deal.hands[player]) * forest.treeplexes[player].n_sequences for player in (0, 1)
    )
    if n_bytes > _MAX_BYTES:
        raise InvalidInput(
            f"the endgame needs about {n_bytes / 2**30:.0f} GiB of memory, more than {_MAX_BYTES / 2**30:.0f}; "
            "use fewer or larger bet sizes, such as (1.0, 'allin')"
        )


def _both_streets(turn: Treeplex, forest: Forest, rivers: dict[int, Seen], n_moves: int, player: int) -> Treeplex:
    """A player's decisions: those of the turn, where each hand has `n_moves`, then those behind every river card."""
    river = forest.treeplexes[player]
    rows = np.concatenate([seen.rows[player] for seen in rivers.values()])[:, None]
    shift = turn.n_sequences - 1 + (river.n_sequences - 1) * np.arange(len(rows))[:, None]
    parent = np.where(river.parent > 0, river.parent + shift, 1 + rows * n_moves + forest.origins[player])
    return Treeplex(
        np.concatenate([turn.parent, parent.ravel().astype(np.int32)]),
        np.concatenate([turn.start, (river.start + shift).ravel().astype(np.int32)]),
        np.concatenate([turn.n_actions, np.tile(river.n_actions, len(rows))]),
    )


def _payoffs(tree: BettingTree, forest: Forest, deal: Deal, rivers: dict[int, Seen], player: int) -> TurnPayoffs:
    """What a player wins; on the turn all hands are as strong as each other, and nothing is shown."""
    both = (player, 1 - player)
    on_turn = [
        Holdings(
            HAND_CARDS[deal.hands[one]],
            np.zeros(len(deal.hands[one]), dtype=np.int64),
            deal.weights[one],
            twins(deal.hands[one], deal.hands[1 - one]),
        )
        for one in both
    ]
    on_river = [
        Holdings(
            *(np.concatenate(parts) for parts in zip(*(seen.holdings[one] for seen in rivers.values()), strict=True))
        )
        for one in both
    ]
    n_turn = [1 + len(deal.hands[one]) * (tree.treeplexes[one].n_sequences - 1) for one in both]
    rows = [np.cumsum([0, *(len(seen.rows[one]) for seen in rivers.values())]) for one in both]
    nothing_shown = Ends(*(values[:0] for values in tree.showdowns[player]))
    turn = HandPayoffs(on_turn[0], on_turn[1], tree.folds[player], nothing_shown)
    return TurnPayoffs(
        turn,
        my_turn=n_turn[0],
        their_turn=n_turn[1],
        mine=on_river[0],
        theirs=on_river[1],
        my_rows=rows[0],
        their_rows=rows[1],
        folds=forest.folds[player],
        showdowns=forest.showdowns[player],
    )
