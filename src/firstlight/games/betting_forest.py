"""The public side of the river in an endgame from the turn on: a betting tree behind each way of getting there."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64

from firstlight.games.betting_tree import BetSize, BettingTree, Chips, Ends, PublicNode, grow_betting_tree
from firstlight.games.flat_game import Treeplex
from firstlight.games.game_tree import TERMINAL


class Forest(NamedTuple):
    """The betting on the river, after any betting on the turn that did not end in a fold.

    The moves of a player in all trees are counted through, tree after tree.

    Attributes
    ----------
    roots : the turn's node before each tree, the end of its betting.
    trees : the betting on the river.
    first_moves : for each player, the first move of each tree.
    treeplexes : for each player, the decisions in all trees; sequence 0 stands for all that was before.
    origins : for each decision, the player's last move on the turn.
    folds, showdowns : where the betting ends, seen by each player.
    """

    roots: tuple[PublicNode, ...]
    trees: tuple[BettingTree, ...]
    first_moves: tuple[Int64[np.ndarray, " trees"], Int64[np.ndarray, " trees"]]
    treeplexes: tuple[Treeplex, Treeplex]
    origins: tuple[Int64[np.ndarray, " decisions_1"], Int64[np.ndarray, " decisions_2"]]
    folds: tuple[Ends, Ends]
    showdowns: tuple[Ends, Ends]


def grow_forest(turn: BettingTree, pot: Chips, behind: Chips, bets: Sequence[BetSize], big_blind: Chips) -> Forest:
    """Grow the river's betting behind each end of the turn's betting that is no fold.

    Parameters
    ----------
    turn : the betting on the turn.
    pot, behind, bets, big_blind : those with which it was grown; errors as in `grow_betting_tree`.
    """
    roots = tuple(node for node in turn.nodes if node.player == TERMINAL and node.folded is None)
    trees = tuple(
        grow_betting_tree(pot + 2 * root.committed[0], behind - root.committed[0], bets, big_blind) for root in roots
    )
    first_moves = [_first_moves(trees, player) for player in (0, 1)]
    origins = [
        np.repeat(turn.showdowns[player].mine, [len(tree.decisions[player]) for tree in trees]) for player in (0, 1)
    ]
    return Forest(
        roots,
        trees,
        (first_moves[0], first_moves[1]),
        (_merged_treeplex(trees, 0, first_moves[0]), _merged_treeplex(trees, 1, first_moves[1])),
        (origins[0], origins[1]),
        (
            _merged_ends([tree.folds[0] for tree in trees], first_moves[0], first_moves[1]),
            _merged_ends([tree.folds[1] for tree in trees], first_moves[1], first_moves[0]),
        ),
        (
            _merged_ends([tree.showdowns[0] for tree in trees], first_moves[0], first_moves[1]),
            _merged_ends([tree.showdowns[1] for tree in trees], first_moves[1], first_moves[0]),
        ),
    )


def _first_moves(trees: tuple[BettingTree, ...], player: int) -> Int64[np.ndarray, " trees"]:
    n_moves = np.array([tree.treeplexes[player].n_sequences - 1 for tree in trees], dtype=np.int64)
    return np.cumsum(n_moves) - n_moves


def _merged_treeplex(trees: tuple[BettingTree, ...], player: int, first_moves: Int64[np.ndarray, " trees"]) -> Treeplex:
    treeplexes = [tree.treeplexes[player] for tree in trees]
    shifted = [first.astype(np.int32) for first in first_moves]
    return Treeplex(
        np.concatenate(
            [np.where(each.parent > 0, each.parent + shift, 0) for each, shift in zip(treeplexes, shifted, strict=True)]
        ),
        np.concatenate([each.start + shift for each, shift in zip(treeplexes, shifted, strict=True)]),
        np.concatenate([each.n_actions for each in treeplexes]),
    )


def _merged_ends(
    ends: list[Ends], my_first: Int64[np.ndarray, " trees"], their_first: Int64[np.ndarray, " trees"]
) -> Ends:
    return Ends(
        np.concatenate([each.mine + first for each, first in zip(ends, my_first, strict=True)]),
        np.concatenate([each.theirs + first for each, first in zip(ends, their_first, strict=True)]),
        np.concatenate([each.stake for each in ends]),
    )
