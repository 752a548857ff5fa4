"""The tree of a two-player constant-sum game, as arrays over its nodes.

Readers (OpenSpiel games, Gambit files) grow a tree with a `TreeBuilder`, node by node in depth-first
order; everything else works on the finished arrays, 27 bytes a node.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int8, Int16, Int32

from firstlight.compiled import compiled
from firstlight.errors import InvalidInput

LARGEST_PAYOFF = 1e100
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
    """Grows a `GameTree` node by node, in depth-first order, the moves of each node in their own order.

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
        self._action = array("h")
        # What only some nodes have is kept apart, and laid out when the tree is finished.
        self._decision_sets = array("i")
        self._leaf_payoffs = array("d")
        self._chosen_by_chance = array("i")
        self._probabilities = array("d")
        self._sets: tuple[list[InformationSet], list[InformationSet]] = ([], [])
        self._places: tuple[dict[object, int], dict[object, int]] = ({}, {})
        # Thousands of sets share a few tuples of moves; each is kept once.
        self._shared: dict[Any, Any] = {}

    def __len__(self) -> int:
        """Return the number of nodes so far."""
        return len(self._parent)

    def chance(self, parent: int = -1, action: int = 0, probability: float = 1.0) -> int:
        """Add a chance node and return its number."""
        return self._add(parent, CHANCE, action, probability)

    def leaf(self, payoff: float, parent: int = -1, action: int = 0, probability: float = 1.0) -> int:
        """Add a leaf with what player 1 gets there, and return its number."""
        self._leaf_payoffs.append(payoff)
        return self._add(parent, TERMINAL, action, probability)

    def decision(
        self,
        player: int,
        information_set: int,
        parent: int = -1,
        action: int = 0,
        probability: float = 1.0,
    ) -> int:
        """Add a node at which `player` (0 or 1) moves, in a set that `place` returned; return its number."""
        self._decision_sets.append(information_set)
        return self._add(parent, player, action, probability)

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
            If the set has no moves, or was met before with other moves.
        """
        place = self._places[player].get(key)
        labels, ids = tuple(actions), tuple(range(len(actions)) if ids is None else ids)
        if place is None:
            if not labels:
                raise InvalidInput(f"information set {name!r} of player {player + 1} has no moves")
            place = len(self._sets[player])
            self._places[player][key] = place
            share = self._shared.setdefault
            labels = tuple(share(label, label) for label in labels)
            self._sets[player].append(InformationSet(name, share(labels, labels), share(ids, ids)))
            return place
        before = self._sets[player][place]
        if (len(before.actions), before.ids) != (len(labels), ids):
            raise InvalidInput(
                f"information set {name!r} of player {player + 1} has {len(labels)} moves (numbers {list(ids)}) at one "
                f"node and {len(before.actions)} (numbers {list(before.ids)}) at another; "
                "its player must not be able to tell its nodes apart"
            )
        return place

    def finish(self) -> GameTree:
        """Return the finished tree, checked by `check_tree`."""
        player = np.frombuffer(self._player, dtype=np.int8)
        information_set = np.full(len(player), -1, np.int32)
        information_set[player >= 0] = self._decision_sets
        payoff = np.zeros(len(player))
        payoff[player == TERMINAL] = self._leaf_payoffs
        probability = np.ones(len(player))
        probability[self._chosen_by_chance] = self._probabilities
        tree = GameTree(
            parent=np.frombuffer(self._parent, dtype=np.int32),
            player=player,
            information_set=information_set,
            action=np.frombuffer(self._action, dtype=np.int16),
            probability=probability,
            payoff=payoff,
            information_sets=(tuple(self._sets[0]), tuple(self._sets[1])),
            payoff_sum=self.payoff_sum,
            title=self.title,
        )
        check_tree(tree)
        return tree

    def _add(self, parent: int, player: int, action: int, probability: float) -> int:
        node = len(self._parent)
        try:
            self._action.append(action)
        except OverflowError as error:
            raise InvalidInput(f"a node may have at most 32,768 moves, got move number {action}") from error
        self._parent.append(parent)
        self._player.append(player)
        if probability != 1.0:
            self._chosen_by_chance.append(node)
            self._probabilities.append(probability)
        return node


def check_tree(tree: GameTree) -> None:
    """Refuse arrays that are not the tree of a game.

    Raises
    ------
    InvalidInput
        If nodes are missing or out of depth-first order, a payoff is not finite, or the probabilities of a chance
        node are negative or do not sum to one. Nodes are named by their number in depth-first order, from 0.
    """
    if not len(tree):
        raise InvalidInput("a game needs at least one node, got none")
    _check_information_sets(tree)
    _check_shape(tree)
    _check_payoffs(tree)
    _check_chance(tree)


def _check_information_sets(tree: GameTree) -> None:
    """Each set is named once, and the sets are numbered in the order in which they are first met."""
    if not np.isin(tree.player, (0, 1, CHANCE, TERMINAL)).all():
        raise InvalidInput("players are 0, 1, CHANCE or TERMINAL; other players need another tool")
    if (tree.information_set[tree.player < 0] != -1).any():
        raise InvalidInput("only nodes at which a player moves belong to an information set; the others have -1")
    for player, sets in enumerate(tree.information_sets):
        if len({known.name for known in sets}) < len(sets):
            raise InvalidInput(f"two information sets of player {player + 1} have the same name; give each its own")
        places = tree.information_set[tree.player == player]
        newest = np.maximum.accumulate(np.concatenate(([-1], places)))
        if (places < 0).any() or (np.diff(newest) > 1).any() or newest[-1] + 1 != len(sets):
            raise InvalidInput(
                f"information sets of player {player + 1} must be numbered as they are first met and all be met; "
                "call TreeBuilder.place when the first node of the set is added"
            )


def _check_shape(tree: GameTree) -> None:
    """Nodes stand in depth-first order, and every decision has one branch for each of its moves."""
    moves = np.zeros(len(tree), np.int32)
    for player, sets in enumerate(tree.information_sets):
        mine = tree.player == player
        moves[mine] = np.array([len(known.actions) for known in sets], np.int32)[tree.information_set[mine]]
    branches = np.zeros(len(tree), np.int32)
    stray = _first_stray(tree.parent, tree.action, branches)
    if stray >= 0:
        raise InvalidInput(
            f"node {stray} (below node {tree.parent[stray]}, move {tree.action[stray]}) is out of order; add nodes "
            "depth first, below the latest path, the moves of a node as 0, 1, 2, …"
        )
    wrong = np.flatnonzero((branches != moves) & (tree.player != CHANCE))
    if len(wrong):
        raise InvalidInput(f"node {wrong[0]} has {branches[wrong[0]]} branches, expected {moves[wrong[0]]}")


@compiled
def _first_stray(parent, action, branches):
    """Count the branches of each node; return the first node that is out of depth-first order, else -1."""
    depth = np.zeros(len(parent), np.int32)
    path = np.zeros(len(parent) + 1, np.int32)
    if parent[0] != -1:
        return 0
    for node in range(1, len(parent)):
        above = parent[node]
        # The node above lies on the path from the root to the node before this one.
        if above < 0 or above >= node or depth[above] > depth[node - 1] or path[depth[above]] != above:
            return node
        if action[node] != branches[above]:
            return node
        branches[above] += 1
        depth[node] = depth[above] + 1
        path[depth[node]] = node
    return -1


def _check_payoffs(tree: GameTree) -> None:
    # Beyond this size the squares of payoffs, which solvers need, are no longer finite.
    bad = np.flatnonzero(~(np.abs(tree.payoff) <= LARGEST_PAYOFF))
    if len(bad):
        raise InvalidInput(
            f"payoffs must be finite and at most {LARGEST_PAYOFF:g} in size; node {bad[0]} has {tree.payoff[bad[0]]}"
        )


def _check_chance(tree: GameTree) -> None:
    """Probabilities of each chance node are at least 0 and sum to one to rounding; other moves have none."""
    edges = np.arange(1, len(tree))
    by_chance = tree.player[tree.parent[1:]] == CHANCE
    misplaced = edges[~by_chance & (tree.probability[1:] != 1)]
    if len(misplaced) or tree.probability[0] != 1:
        raise InvalidInput(f"node {[*misplaced, 0][0]} has a chance probability but does not follow a chance node")
    edges = edges[by_chance]
    negative = edges[~(tree.probability[edges] >= 0)]
    if len(negative):
        raise InvalidInput(
            f"chance probabilities must be at least 0, found {tree.probability[negative[0]]} "
            f"below chance node {tree.parent[negative[0]]}"
        )
    sums = np.bincount(tree.parent[edges], weights=tree.probability[edges], minlength=len(tree))
    wrong = np.flatnonzero((tree.player == CHANCE) & ~(np.abs(sums - 1) <= 1e-9))
    if len(wrong):
        raise InvalidInput(
            f"chance probabilities must sum to 1, those of chance node {wrong[0]} (depth-first count) "
            f"sum to {sums[wrong[0]]:.12g}; give exact fractions such as 1/3"
        )
