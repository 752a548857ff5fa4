"""The tree of a two-player constant-sum game, as arrays over its nodes.

Readers (OpenSpiel games, Gambit files) grow a tree with a `TreeBuilder`, node by node in depth-first
order; everything else works on the finished arrays, 27 bytes a node.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int8, Int16, Int32

from firstlight.errors import InvalidInput

# The ids that pyspiel.PlayerId gives to nodes at which no player moves.
CHANCE = -1
TERMINAL = -4


class InformationSet(NamedTuple):
    """What a player knows when moving.

    Attributes
    ----------
    name : unique among the sets of its player.
    actions : what the moves are called; labels may repeat.
    ids : the host tool's number of each move.
    """

    name: str
    actions: tuple[str, ...]
    ids: tuple[int, ...]


@dataclass(frozen=True)
class GameTree:
    """A finite two-player constant-sum game in extensive form.

    Attributes
    ----------
    parent : the node above; -1 for the root. Nodes stand in depth-first order, a parent before its children.
    player : who moves at the node: 0, 1, `CHANCE` or `TERMINAL`.
    information_set : place in ``information_sets[player]``; -1 where no player moves.
    action : which of the parent's moves leads here.
    probability : chance of the edge into the node; 1 unless the parent is a chance node.
    payoff : at a leaf, what player 1 (index 0) gets in total; 0 elsewhere.
    information_sets : the information sets of both players, in the order in which they are first met.
    payoff_sum : what both players get together at every leaf; 0 for a zero-sum game.
    title : name of the game.
    """

    parent: Int32[np.ndarray, " nodes"]
    player: Int8[np.ndarray, " nodes"]
    information_set: Int32[np.ndarray, " nodes"]
    action: Int16[np.ndarray, " nodes"]
    probability: Float64[np.ndarray, " nodes"]
    payoff: Float64[np.ndarray, " nodes"]
    information_sets: tuple[tuple[InformationSet, ...], tuple[InformationSet, ...]]
    payoff_sum: float = 0.0
    title: str = ""

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.parent)


class TreeBuilder:
    """Grows a `GameTree` node by node, in depth-first order.

    Parameters
    ----------
    title : name of the game.
    payoff_sum : what both players get together at every leaf.
    """

    def __init__(self, title: str = "", payoff_sum: float = 0.0) -> None:
        self.title = title
        self.payoff_sum = payoff_sum
        self._parent = array("i")
        self._player = array("b")
        self._information_set = array("i")
        self._action = array("h")
        self._probability = array("d")
        self._payoff = array("d")
        self._sets: tuple[list[InformationSet], list[InformationSet]] = ([], [])
        self._places: tuple[dict[object, int], dict[object, int]] = ({}, {})

    def chance(self, parent: int = -1, action: int = 0, probability: float = 1.0) -> int:
        """Add a chance node and return its number."""
        return self._add(parent, CHANCE, -1, action, probability, 0.0)

    def leaf(self, payoff: float, parent: int = -1, action: int = 0, probability: float = 1.0) -> int:
        """Add a leaf with what player 1 gets there."""
        return self._add(parent, TERMINAL, -1, action, probability, payoff)

    def decision(
        self,
        player: int,
        information_set: int,
        parent: int = -1,
        action: int = 0,
        probability: float = 1.0,
    ) -> int:
        """Add a node at which `player` (0 or 1) moves, in a set that `place` returned."""
        return self._add(parent, player, information_set, action, probability, 0.0)

    def known(self, player: int, key: object) -> int | None:
        """Return the place of an information set met before, else None."""
        return self._places[player].get(key)

    def place(
        self,
        player: int,
        key: object,
        name: str,
        actions: Sequence[str],
        ids: Sequence[int] | None = None,
    ) -> int:
        """Return the place of the information set with this key, adding it when it is new.

        Raises
        ------
        InvalidInput
            If the set was met before with another number of moves.
        """
        place = self._places[player].get(key)
        if place is None:
            place = len(self._sets[player])
            self._places[player][key] = place
            ids = range(len(actions)) if ids is None else ids
            self._sets[player].append(InformationSet(name, tuple(actions), tuple(ids)))
        elif len(self._sets[player][place].actions) != len(actions):
            raise InvalidInput(
                f"information set {name!r} of player {player + 1} has {len(actions)} moves at one node and "
                f"{len(self._sets[player][place].actions)} at another; a player must not be able to tell its nodes apart"
            )
        return place

    def finish(self) -> GameTree:
        """Return the finished tree.

        Raises
        ------
        InvalidInput
            If a payoff is not finite, or the probabilities of a chance node are negative or do not sum to one.
        """
        tree = GameTree(
            parent=np.frombuffer(self._parent, dtype=np.int32),
            player=np.frombuffer(self._player, dtype=np.int8),
            information_set=np.frombuffer(self._information_set, dtype=np.int32),
            action=np.frombuffer(self._action, dtype=np.int16),
            probability=np.frombuffer(self._probability, dtype=np.float64),
            payoff=np.frombuffer(self._payoff, dtype=np.float64),
            information_sets=(tuple(self._sets[0]), tuple(self._sets[1])),
            payoff_sum=self.payoff_sum,
            title=self.title,
        )
        _check_payoffs(tree)
        _check_chance(tree)
        return tree

    def _add(
        self,
        parent: int,
        player: int,
        information_set: int,
        action: int,
        probability: float,
        payoff: float,
    ) -> int:
        self._parent.append(parent)
        self._player.append(player)
        self._information_set.append(information_set)
        self._action.append(action)
        self._probability.append(probability)
        self._payoff.append(payoff)
        return len(self._parent) - 1


def _check_payoffs(tree: GameTree) -> None:
    bad = np.flatnonzero(~np.isfinite(tree.payoff))
    if len(bad):
        raise InvalidInput(f"payoffs must be finite, found {tree.payoff[bad[0]]} at node {bad[0]} (depth-first count)")


def _check_chance(tree: GameTree) -> None:
    """Probabilities of each chance node are at least 0 and sum to one to rounding."""
    edges = np.flatnonzero(tree.parent >= 0)
    edges = edges[tree.player[tree.parent[edges]] == CHANCE]
    negative = edges[~(tree.probability[edges] >= 0)]
    if len(negative):
        raise InvalidInput(
            f"chance probabilities must be at least 0, found {tree.probability[negative[0]]} "
            f"below chance node {tree.parent[negative[0]]} (depth-first count)"
        )
    sums = np.bincount(tree.parent[edges], weights=tree.probability[edges], minlength=len(tree))
    wrong = np.flatnonzero((tree.player == CHANCE) & (np.abs(sums - 1) > 1e-9))
    if len(wrong):
        raise InvalidInput(
            f"chance probabilities must sum to 1, those of chance node {wrong[0]} (depth-first count) "
            f"sum to {sums[wrong[0]]:.12g}; give exact fractions such as 1/3"
        )
