"""A game laid flat: sequences, information sets and one sparse payoff matrix.

Sequence form (von Stengel 1996; Koller, Megiddo, von Stengel 1996): a *sequence* is a player's own moves on a
path, number 0 is the empty one. With realisation plans x and y the expected payoff is bilinear, xᵀ U y, where
U holds payoffs times chance probabilities. Every iteration of a solver is then three passes over arrays.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int32

from firstlight.games.game_tree import GameTree


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class FlatGame:
    """A two-player constant-sum game with perfect recall, as arrays.

    Attributes
    ----------
    treeplexes : the decisions of both players.
    payoff : U, rows are sequences of player 1 (index 0), columns those of player 2; float64 CSR.
    payoff_transposed : Uᵀ, CSR as well.
    tree : the game's nodes, names and labels.
    """

    treeplexes: tuple[Treeplex, Treeplex]
    payoff: sp.csr_array
    payoff_transposed: sp.csr_array
    tree: GameTree
