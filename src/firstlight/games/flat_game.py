"""A game laid flat: sequences, information sets and one sparse payoff matrix.

Sequence form (von Stengel 1996; Koller, Megiddo, von Stengel 1996): a *sequence* is a player's own moves on a
path, number 0 is the empty one. With realisation plans x and y the expected payoff is bilinear, xᵀ U y, where
U holds payoffs times chance probabilities. Every iteration of a solver is then three passes over arrays.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64, Int32

from firstlight.compiled import compiled
from firstlight.errors import InvalidInput
from firstlight.games.game_tree import CHANCE, TERMINAL, GameTree
from firstlight.games.openspiel_games import read_openspiel
from firstlight.games.saved_trees import load_tree, save_tree

if TYPE_CHECKING:
    from firstlight.games.equilibrium import Equilibrium


@dataclass(frozen=True, eq=False)
class Treeplex:
    """One player's decisions in sequence form.

    Information sets stand parents first; the moves of set i are the sequences
    ``start[i] … start[i] + n_actions[i] - 1``.

    Attributes
    ----------
    parent : the player's own sequence on the way into each information set.
    start : first sequence of each information set.
    n_actions : number of moves in each information set.
    """

    parent: Int32[np.ndarray, " sets"]
    start: Int32[np.ndarray, " sets"]
    n_actions: Int32[np.ndarray, " sets"]

    @property
    def n_sequences(self) -> int:
        """Number of sequences, the empty one included."""
        return 1 + int(self.n_actions.sum())


class Leaves(NamedTuple):
    """The leaves of a game as the two players and chance reach them.

    Attributes
    ----------
    sequences : of player 1 (first row) and player 2 on the way to each leaf.
    reach : product of the chance probabilities on the way.
    payoff : what player 1 gets.
    """

    sequences: Int32[np.ndarray, "2 leaves"]
    reach: Float64[np.ndarray, " leaves"]
    payoff: Float64[np.ndarray, " leaves"]


@dataclass(frozen=True, eq=False)
class FlatGame:
    """A two-player constant-sum game with perfect recall, as arrays.

    >>> game = FlatGame.from_openspiel("kuhn_poker")
    >>> game.payoff.shape
    (13, 13)
    >>> round(game.lp_solve().value, 9)
    -0.055555556

    Attributes
    ----------
    treeplexes : the decisions of both players.
    payoff : U, rows are sequences of player 1 (index 0), columns those of player 2; float64 CSR.
        The payoffs are player 1's own; player 2 gets ``tree.payoff_sum`` minus that.
    payoff_transposed : Uᵀ, CSR as well.
    tree : the game's nodes, names and labels.
    """

    treeplexes: tuple[Treeplex, Treeplex]
    payoff: sp.csr_array
    payoff_transposed: sp.csr_array
    tree: GameTree

    @classmethod
    def from_tree(cls, tree: GameTree) -> "FlatGame":
        """Lay a game tree flat.

        Raises
        ------
        InvalidInput
            If a player forgets (imperfect recall); the text names the player, the information set and how.
        """
        treeplexes, leaves = _paths(tree)
        # The conversion from coordinates adds up the leaves that share a pair of sequences.
        payoff = sp.coo_array(
            (leaves.payoff * leaves.reach, tuple(leaves.sequences)),
            shape=(treeplexes[0].n_sequences, treeplexes[1].n_sequences),
        ).tocsr()
        payoff.eliminate_zeros()
        return cls(treeplexes, payoff, payoff.T.tocsr(), tree)

    @classmethod
    def from_openspiel(cls, game: Any) -> "FlatGame":
        """Lay an OpenSpiel game flat.

        Parameters
        ----------
        game : a ``pyspiel.Game``, or a name with parameters such as ``"liars_dice(numdice=1,dice_sides=4)"``.

        Raises
        ------
        InvalidInput
            If the game is not one of two players with constant sum and perfect recall; see `read_openspiel`.
        MissingExtra
            If OpenSpiel is not installed.
        """
        return cls.from_tree(read_openspiel(game))

    @classmethod
    def from_efg(cls, path: str | Path, *, normalise: bool = False) -> "FlatGame":
        """Lay a Gambit game tree (``.efg``) flat; arguments and errors as in `gambit_files.read_efg`."""
        from firstlight.games.gambit_files import read_efg

        return cls.from_tree(read_efg(path, normalise=normalise))

    def to_efg(self, path: str | Path) -> None:
        """Write the game as a Gambit game tree (``.efg``), chance probabilities as exact fractions."""
        from firstlight.games.gambit_files import write_efg

        write_efg(self.tree, path)

    @classmethod
    def load(cls, path: str | Path) -> "FlatGame":
        """Read a game that `save` wrote; the tree is checked as if it were new.

        Raises
        ------
        InvalidInput
            If the file is damaged or holds something else.
        """
        return cls.from_tree(load_tree(path))

    def save(self, path: str | Path) -> None:
        """Write the game, its names and labels to a ``.npz`` file, whole or not at all."""
        save_tree(path, self.tree)

    def leaves(self) -> Leaves:
        """Return the leaves in depth-first order, those of chance zero and payoff zero included."""
        return _paths(self.tree)[1]

    def lp_solve(self) -> "Equilibrium":
        """Solve the game by linear programming; see `firstlight.games.linear_program.lp_solve`."""
        from firstlight.games.linear_program import lp_solve

        return lp_solve(self)

    def exploitability(self, policy: Any) -> float:
        """Return what best responders win on average against a policy, as ``pyspiel.exploitability`` does.

        This is half of NashConv, the sum of both players' improvements.

        Parameters
        ----------
        policy : a `Profile`, an OpenSpiel policy (Python or C++), or a mapping from the name of each information
            set to ``{move: probability}``, moves given by their label or their number.

        Raises
        ------
        InvalidInput
            If an information set is missing or its probabilities do not sum to one.
        """
        from firstlight.games.equilibrium import certify
        from firstlight.games.profile import Profile

        return certify(self, Profile.of(self, policy)).exploitability


def _paths(tree: GameTree) -> tuple[tuple[Treeplex, Treeplex], Leaves]:
    """Follow all paths: the decisions of both players, and how the leaves are reached."""
    n_actions = [np.array([len(known.actions) for known in sets], np.int32) for sets in tree.information_sets]
    start = [(1 + np.cumsum(counts) - counts).astype(np.int32) for counts in n_actions]
    above = [np.full(len(counts), -1, np.int32) for counts in n_actions]
    sequences = np.zeros((2, len(tree)), np.int32)
    reach = np.ones(len(tree))
    stopped = _follow(
        tree.parent,
        tree.player,
        tree.information_set,
        tree.action,
        tree.probability,
        (start[0], start[1]),
        (above[0], above[1]),
        sequences,
        reach,
    )
    if stopped >= 0:
        raise InvalidInput(_how_recall_fails(tree, stopped))
    treeplexes = (Treeplex(above[0], start[0], n_actions[0]), Treeplex(above[1], start[1], n_actions[1]))
    leaves = tree.player == TERMINAL
    return treeplexes, Leaves(sequences[:, leaves], reach[leaves], tree.payoff[leaves])


@compiled
def _follow(parent, player, information_set, action, probability, start, above, sequences, reach):
    """Carry both players' sequences and the chance reach from the root to all nodes.

    `above` receives the own sequence on the way into each set. Returns the first node that is reached by another
    own sequence than its set was before, -1 when there is none, that is under perfect recall.
    """
    for node in range(len(parent)):
        origin = parent[node]
        if origin >= 0:
            sequences[0, node] = sequences[0, origin]
            sequences[1, node] = sequences[1, origin]
            reach[node] = reach[origin]
            mover = player[origin]
            if mover == CHANCE:
                reach[node] *= probability[node]
            else:
                sequences[mover, node] = start[mover][information_set[origin]] + action[node]
        mover = player[node]
        if mover >= 0:
            place = information_set[node]
            if above[mover][place] < 0:
                above[mover][place] = sequences[mover, node]
            elif above[mover][place] != sequences[mover, node]:
                return node
    return -1


def _how_recall_fails(tree: GameTree, node: int) -> str:
    player, place = tree.player[node], tree.information_set[node]
    name = tree.information_sets[player][place].name
    above = tree.parent[node]
    while above >= 0 and (tree.player[above], tree.information_set[above]) != (player, place):
        above = tree.parent[above]
    how = "is met twice on one path" if above >= 0 else "is reached by two different histories of own moves"
    return (
        f"player {player + 1} has imperfect recall: information set {name!r} {how}; "
        "the solvers here need players who remember their own moves"
    )
