import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.games.random_games import random_behaviour, random_tree

from firstlight.errors import InvalidInput
from firstlight.games.flat_game import FlatGame
from firstlight.games.game_tree import TreeBuilder
from firstlight.games.profile import Profile

seeds = st.integers(0, 2**32 - 1)


def random_profile(seed):
    game = FlatGame.from_tree(random_tree(seed))
    return game, Profile(game.tree.information_sets, random_behaviour(game, seed), game.tree.title)


def call_or_fold() -> FlatGame:
    """Both players have a set called "hand", and player 1 has two moves called "fold"."""
    tree = TreeBuilder("call or fold")
    mine = tree.place(0, "hand", "hand", ["fold", "fold", "go"], [5, 6, 9])
    first = tree.decision(0, mine)
    tree.leaf(-1.0, first, 0)
    tree.leaf(0.5, first, 1)
    second = tree.decision(1, tree.place(1, "hand", "hand", ["fold", "call"], [0, 3]), first, 2)
    tree.leaf(1.0, second, 0)
    tree.leaf(-2.0, second, 1)
    return FlatGame.from_tree(tree.finish())


@settings(max_examples=30)
@given(seed=seeds)
def test_plans_and_behaviour_carry_the_same_strategy(seed):
    game, profile = random_profile(seed)
    again = Profile.from_plans(game, profile.plans(game))
    for ours, theirs in zip(profile.behaviour, again.behaviour, strict=True):
        np.testing.assert_allclose(theirs, ours, atol=1e-12)
    for plan, treeplex in zip(profile.plans(game), game.treeplexes, strict=True):
        assert plan[0] == 1
        for parent, start, n_actions in zip(treeplex.parent, treeplex.start, treeplex.n_actions, strict=True):
            assert plan[start : start + n_actions].sum() == pytest.approx(plan[parent], abs=1e-12)


@settings(max_examples=30)
@given(seed=seeds)
def test_saving_and_loading_gives_the_same_profile(tmp_path_factory, seed):
    _, profile = random_profile(seed)
    path = tmp_path_factory.mktemp("saved") / "policy.npz"
    profile.save(path)
    again = Profile.load(path)
    assert again.information_sets == profile.information_sets
    assert again.title == profile.title
    for ours, theirs in zip(profile.behaviour, again.behaviour, strict=True):
        np.testing.assert_array_equal(theirs, ours)


def test_a_saved_profile_is_readable_with_numpy_alone(tmp_path):
    game = call_or_fold()
    Profile.of(game, {"player 1: hand": {"go": 1}, "player 2: hand": {3: 0.25, 0: 0.75}}).save(tmp_path / "policy.npz")
    with np.load(tmp_path / "policy.npz", allow_pickle=False) as stored:
        assert stored["sets_2"].tolist() == ["hand"]
        assert stored["counts_1"].tolist() == [3]
        assert stored["moves_1"].tolist() == ["fold", "fold", "go"]
        assert stored["ids_2"].tolist() == [0, 3]
        assert stored["probabilities_2"].tolist() == [0.75, 0.25]


def test_repeated_names_and_labels_stay_apart():
    game = call_or_fold()
    table = {
        "player 1: hand": {"fold (1)": 0.125, "fold (2)": 0.25, "go": 0.625},
        "player 2: hand": {"fold": 0.75, "call": 0.25},
    }
    profile = Profile.of(game, table)
    assert profile.to_dict() == table
    np.testing.assert_array_equal(profile.behaviour[0], [1, 0.125, 0.25, 0.625])
    by_number = Profile.of(
        game, {"player 1: hand": [(5, 0.125), (6, 0.25), (9, 0.625)], "player 2: hand": {3: 0.25, 0: 0.75}}
    )
    assert by_number.to_dict() == table


def test_single_precision_policies_are_divided_by_their_sum():
    game = call_or_fold()
    thirds = {move: float(np.float32(1) / np.float32(3)) for move in (5, 6, 9)}
    profile = Profile.of(game, {"player 1: hand": thirds, "player 2: hand": {0: 1.0}})
    assert sum(thirds.values()) != 1
    np.testing.assert_allclose(profile.behaviour[0][1:], 1 / 3, rtol=1e-15)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"player 1: hand": {"go": 1}}, "no probabilities for information set 'player 2: hand' of player 2"),
        ({"hand": {"go": 1}}, "the game has no information set named 'hand'"),
        ({"player 1: hand": {"raise": 1}, "player 2: hand": {0: 1}}, "has no move 'raise'; its moves are"),
        ({"player 1: hand": {"go": 0.9}, "player 2: hand": {0: 1}}, "'player 1: hand' must be at least 0 and sum to 1"),
        ({"player 1: hand": {"go": 2, 5: -1}, "player 2: hand": {0: 1}}, "must be at least 0 and sum to 1"),
        ({"player 1: hand": {"go": np.nan}, "player 2: hand": {0: 1}}, "must be at least 0 and sum to 1"),
        (3.5, "expected a Profile, an OpenSpiel policy or a mapping, got float"),
    ],
)
def test_policies_that_are_none_are_refused(table, message):
    with pytest.raises(InvalidInput, match=message):
        Profile.of(call_or_fold(), table)


@pytest.mark.parametrize(
    ("player_1", "message"),
    [
        ([1, 0.5, 0.5], "expected 4 probabilities for player 1, got shape"),
        ([1, 0.5, 0.5, 0.5], "'hand' of player 1 must sum to 1, they sum to"),
        ([1, 1.5, 0, -0.5], "must be at least 0"),
        ([1, np.nan, 0.5, 0.5], "must be at least 0"),
        ([0.5, 0, 0.5, 0.5], "the first .no move. must be 1"),
    ],
)
def test_the_constructor_checks_probabilities(player_1, message):
    sets = call_or_fold().tree.information_sets
    with pytest.raises(InvalidInput, match=message):
        Profile(sets, (np.array(player_1, float), np.array([1, 0.5, 0.5])))


def test_plans_of_another_game_are_refused():
    with pytest.raises(InvalidInput, match="expected a plan of 4 sequences, got 2"):
        Profile.from_plans(call_or_fold(), (np.ones(2), np.ones(3)))


@pytest.mark.parametrize("lost", ["ids_1", "probabilities_2", "counts_1"])
def test_a_damaged_file_is_refused(tmp_path, lost):
    path = tmp_path / "policy.npz"
    Profile.uniform(call_or_fold()).save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, **{**arrays, lost: arrays[lost][:-1]})
    with pytest.raises(InvalidInput, match="is damaged"):
        Profile.load(path)
    arrays.pop(lost)
    np.savez(path, **arrays)
    with pytest.raises(InvalidInput, match="not a profile saved by Firstlight"):
        Profile.load(path)
