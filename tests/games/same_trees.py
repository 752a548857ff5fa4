"""Game trees that must agree to the bit."""

import numpy as np

from firstlight.games.game_tree import GameTree


def same_tree(one: GameTree, other: GameTree) -> None:
    """Hold all parts equal but the host tool's numbers of the moves, which files do not have."""
    for name in ("parent", "player", "information_set", "action", "probability", "payoff"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    names = [
        [[(known.name, known.actions) for known in sets] for sets in tree.information_sets] for tree in (one, other)
    ]
    assert names[0] == names[1]
    assert (one.payoff_sum, one.title) == (other.payoff_sum, other.title)
