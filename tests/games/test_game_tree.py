import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.games.random_games import random_tree

from firstlight.errors import InvalidInput
from firstlight.games.game_tree import TERMINAL, TreeBuilder


def guess_the_coin() -> TreeBuilder:
    tree = TreeBuilder("guess")
    coin = tree.chance()
    guess = tree.place(1, "guess", "guess", ["heads", "tails"])
    for side in (0, 1):
        node = tree.decision(1, guess, coin, side, 0.5)
        for call in (0, 1):
            tree.leaf(-1.0 if call == side else 1.0, node, call)
    return tree


@given(seed=st.integers(0, 2**32 - 1))
def test_nodes_stand_in_depth_first_order_and_take_27_bytes(seed):
    tree = random_tree(seed)
    assert tree.parent[0] == -1
    assert (tree.parent[1:] < np.arange(1, len(tree))).all()
    arrays = (tree.parent, tree.player, tree.information_set, tree.action, tree.probability, tree.payoff)
    assert sum(array.nbytes for array in arrays) == 27 * len(tree)
    inner = np.unique(tree.parent[1:])
    np.testing.assert_array_equal(np.setdiff1d(np.arange(len(tree)), inner), np.flatnonzero(tree.player == TERMINAL))


def test_equal_moves_of_many_sets_are_stored_once():
    tree = TreeBuilder()
    node = -1
    for place in range(20):
        known = tree.place(0, place, f"step {place}", ["stop" + "", "go on"], [3, 7])
        node = tree.decision(0, known, node, 1 if place else 0)
        tree.leaf(0.0, node, 0)
    tree.leaf(1.0, node, 1)
    sets = tree.finish().information_sets[0]
    assert len({id(known.actions) for known in sets}) == len({id(known.ids) for known in sets}) == 1


@pytest.mark.parametrize("payoff", [np.nan, np.inf, -np.inf, 1e101])
def test_payoffs_that_no_solver_can_use_are_refused(payoff):
    tree = TreeBuilder()
    tree.leaf(payoff)
    with pytest.raises(InvalidInput, match=r"payoffs must be finite.*node 0"):
        tree.finish()


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ([0.333, 0.333, 0.333], "chance node 0 .* sum to 0.999"),
        ([0.5, 0.75, -0.25], "at least 0, found -0.25 below chance node 0"),
        ([0.5, np.nan, 0.5], "at least 0, found nan"),
    ],
)
def test_chance_must_be_a_distribution(probabilities, message):
    tree = TreeBuilder()
    tree.chance()
    for place, probability in enumerate(probabilities):
        tree.leaf(1.0, 0, place, probability)
    with pytest.raises(InvalidInput, match=message):
        tree.finish()


def test_a_chance_probability_after_a_players_move_is_refused():
    tree = TreeBuilder()
    node = tree.decision(0, tree.place(0, 0, "start", ["only"]))
    tree.leaf(0.0, node, 0, 0.5)
    with pytest.raises(InvalidInput, match="node 1 has a chance probability but does not follow a chance node"):
        tree.finish()


def test_a_missing_move_is_refused():
    tree = TreeBuilder()
    node = tree.decision(0, tree.place(0, 0, "start", ["a", "b"]))
    tree.leaf(0.0, node, 0)
    with pytest.raises(InvalidInput, match="node 0 has 1 branches, expected 2"):
        tree.finish()


def test_a_leaf_with_branches_is_refused():
    tree = TreeBuilder()
    tree.leaf(0.0, tree.leaf(1.0), 0)
    with pytest.raises(InvalidInput, match="node 0 has 1 branches, expected 0"):
        tree.finish()


@pytest.mark.parametrize("parents", [[-1, 0, 0, 1], [-1, 2, 0], [0, 0], [-1, -1]])
def test_nodes_out_of_depth_first_order_are_refused(parents):
    tree = TreeBuilder()
    for parent in parents:
        tree.chance(parent, parents[: len(tree)].count(parent))
    with pytest.raises(InvalidInput, match="out of order"):
        tree.finish()


def test_a_set_must_have_the_same_moves_everywhere():
    tree = TreeBuilder()
    tree.place(0, "key", "hand", ["a", "b"])
    with pytest.raises(InvalidInput, match="'hand' of player 1 has 3 moves"):
        tree.place(0, "key", "hand", ["a", "b", "c"])
    with pytest.raises(InvalidInput, match=r"numbers \[4, 5\].*tell its nodes apart"):
        tree.place(0, "key", "hand", ["a", "b"], [4, 5])
    with pytest.raises(InvalidInput, match="'empty' of player 2 has no moves"):
        tree.place(1, "other", "empty", [])


def test_two_sets_of_one_name_are_refused():
    tree = TreeBuilder()
    first = tree.decision(0, tree.place(0, 1, "twin", ["a"]))
    tree.leaf(0.0, tree.decision(0, tree.place(0, 2, "twin", ["a"]), first), 0)
    with pytest.raises(InvalidInput, match="two information sets of player 1 have the same name"):
        tree.finish()


def test_a_set_that_is_never_met_is_refused():
    tree = guess_the_coin()
    tree.place(0, "ghost", "ghost", ["a"])
    with pytest.raises(InvalidInput, match="information sets of player 1 must be numbered as they are first met"):
        tree.finish()


def test_a_third_player_is_refused():
    tree = TreeBuilder()
    tree.place(0, 0, "start", ["a"])
    tree.leaf(0.0, tree.decision(2, 0), 0)
    with pytest.raises(InvalidInput, match="players are 0, 1, CHANCE or TERMINAL"):
        tree.finish()


def test_an_empty_tree_and_too_many_moves_are_refused():
    with pytest.raises(InvalidInput, match="at least one node"):
        TreeBuilder().finish()
    with pytest.raises(InvalidInput, match="at most 32,768 moves"):
        TreeBuilder().leaf(0.0, 0, 2**15)
