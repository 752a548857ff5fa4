import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.games.random_games import best_pure_payoff, expected_payoff, n_pure, random_behaviour, random_tree

from firstlight.errors import InvalidInput
from firstlight.games.flat_game import FlatGame
from firstlight.games.game_tree import TreeBuilder
from firstlight.games.sweeps import best_response, condition, multiply, realise

seeds = st.integers(0, 2**32 - 1)


def plans_of(game, behaviour):
    plans = [np.empty_like(values) for values in behaviour]
    for treeplex, values, plan in zip(game.treeplexes, behaviour, plans, strict=True):
        realise(treeplex.parent, treeplex.start, treeplex.n_actions, values, plan)
    return plans


@given(seed=seeds)
def test_the_bilinear_form_is_the_expected_payoff(seed):
    game = FlatGame.from_tree(random_tree(seed))
    behaviour = random_behaviour(game, seed)
    x, y = plans_of(game, behaviour)
    assert x @ (game.payoff @ y) == pytest.approx(expected_payoff(game, behaviour), abs=1e-12)
    assert game.payoff.indices.dtype == game.payoff_transposed.indptr.dtype == np.int32
    assert game.payoff.has_canonical_format
    assert (game.payoff_transposed != game.payoff.T).nnz == 0


@settings(max_examples=40)
@given(seed=seeds)
def test_best_response_equals_the_best_of_all_pure_strategies(seed):
    game = FlatGame.from_tree(random_tree(seed, depth=3))
    behaviour = random_behaviour(game, seed)
    x, y = plans_of(game, behaviour)
    for player, gradient in ((0, game.payoff @ y), (1, -(game.payoff_transposed @ x))):
        if n_pure(game, player) > 200:
            continue
        treeplex = game.treeplexes[player]
        value = best_response(treeplex.parent, treeplex.start, treeplex.n_actions, gradient)
        assert value == pytest.approx(best_pure_payoff(game, player, behaviour), abs=1e-12)


@given(seed=seeds)
def test_conditioning_a_plan_gives_the_behaviour_back_where_it_is_reached(seed):
    game = FlatGame.from_tree(random_tree(seed))
    behaviour = random_behaviour(game, seed)
    for treeplex, values, plan in zip(game.treeplexes, behaviour, plans_of(game, behaviour), strict=True):
        again = np.empty_like(values)
        condition(treeplex.start, treeplex.n_actions, 7.0 * plan, again)
        np.testing.assert_allclose(again, values, atol=1e-12)


def test_a_plan_that_is_zero_becomes_uniform():
    behaviour = np.empty(5)
    condition(np.array([1, 3], np.int32), np.array([2, 2], np.int32), np.array([1, 0, 0, -1e-17, 3.0]), behaviour)
    np.testing.assert_array_equal(behaviour, [1, 0.5, 0.5, 0, 1])


@given(seed=seeds)
def test_multiply_agrees_with_scipy(seed):
    game = FlatGame.from_tree(random_tree(seed, depth=5))
    vector = np.random.default_rng(seed).normal(size=game.payoff.shape[1])
    out = np.empty(game.payoff.shape[0])
    multiply(game.payoff.indptr, game.payoff.indices, game.payoff.data, vector, out)
    np.testing.assert_allclose(out, game.payoff @ vector, atol=1e-12)


def test_a_zero_probability_branch_keeps_its_information_sets():
    tree = TreeBuilder()
    deal = tree.chance()
    for place, probability in enumerate((0.25, 0.75, 0.0)):
        known = tree.place(0, place, f"card {place}", ["bet", "pass"])
        node = tree.decision(0, known, deal, place, probability)
        tree.leaf(4.0, node, 0)
        tree.leaf(8.0, node, 1)
    game = FlatGame.from_tree(tree.finish())
    np.testing.assert_array_equal(game.treeplexes[0].start, [1, 3, 5])
    np.testing.assert_array_equal(game.payoff.toarray()[:, 0], [0, 1, 2, 3, 6, 0, 0])
    assert game.payoff.nnz == 4


def test_leaves_with_the_same_sequences_are_added_up():
    tree = TreeBuilder()
    coin = tree.chance()
    for side, payoff in enumerate((3.0, -1.0)):
        node = tree.decision(0, tree.place(0, "blind", "blind", ["only"]), coin, side, 0.5)
        tree.leaf(payoff, node, 0)
    game = FlatGame.from_tree(tree.finish())
    np.testing.assert_array_equal(game.payoff.toarray(), [[0], [1]])


def absent_minded() -> TreeBuilder:
    tree = TreeBuilder()
    crossing = tree.place(0, "crossing", "same crossing", ["on", "exit"])
    first = tree.decision(0, crossing)
    second = tree.decision(0, crossing, first, 0)
    tree.leaf(1.0, second, 0)
    tree.leaf(2.0, second, 1)
    tree.leaf(0.0, first, 1)
    return tree


def forgetful() -> TreeBuilder:
    tree = TreeBuilder()
    first = tree.decision(1, tree.place(1, "start", "start", ["L", "R"]))
    later = tree.place(1, "later", "later", ["l", "r"])
    for move in (0, 1):
        node = tree.decision(1, later, first, move)
        tree.leaf(1.0, node, 0)
        tree.leaf(float(move), node, 1)
    return tree


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (absent_minded(), "player 1 has imperfect recall: information set 'same crossing' is met twice on one path"),
        (forgetful(), "player 2 has imperfect recall: .*'later' is reached by two different histories of own moves"),
    ],
)
def test_imperfect_recall_is_refused_by_kind(tree, message):
    with pytest.raises(InvalidInput, match=message):
        FlatGame.from_tree(tree.finish())


def test_a_very_deep_game_is_laid_flat():
    depth = 5000
    tree = TreeBuilder()
    node = -1
    for step in range(depth):
        player = step % 2
        known = tree.place(player, step, f"step {step}", ["stop", "go on"])
        node = tree.decision(player, known, node, 1 if step else 0)
        tree.leaf(float(player), node, 0)
    tree.leaf(5.0, node, 1)
    game = FlatGame.from_tree(tree.finish())
    assert game.payoff.shape == (1 + depth, 1 + depth)
    assert game.payoff.sum() == depth / 2 + 5


@given(seed=seeds)
@settings(max_examples=20)
def test_saving_and_loading_gives_the_same_game(tmp_path_factory, seed):
    game = FlatGame.from_tree(random_tree(seed, payoff_sum=0.1))
    path = tmp_path_factory.mktemp("saved") / "game.npz"
    game.save(path)
    again = FlatGame.load(path)
    assert again.tree.information_sets == game.tree.information_sets
    assert (again.tree.title, again.tree.payoff_sum) == (game.tree.title, game.tree.payoff_sum)
    for name in ("parent", "player", "information_set", "action", "probability", "payoff"):
        np.testing.assert_array_equal(getattr(again.tree, name), getattr(game.tree, name))
    assert (again.payoff != game.payoff).nnz == 0


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "game.npz"
    FlatGame.from_tree(random_tree(3)).save(path)
    return path


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "weights.npz"
    np.savez(path, layer=np.ones(3))
    with pytest.raises(InvalidInput, match=r"not a game saved by Firstlight: it holds \['layer'\]"):
        FlatGame.load(path)
    path.write_text("EFG 2 R")
    with pytest.raises(InvalidInput, match=r"not a readable \.npz file"):
        FlatGame.load(path)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("payoff", lambda array: array[:-1]),
        ("payoff", lambda array: array * np.nan),
        ("player", lambda array: array + np.int8(7)),
        ("parent", lambda array: array.astype(np.int64)),
        ("parent", lambda array: np.maximum(array - 1, -1).astype(np.int32)),
        ("information_set", lambda array: array + np.int32(1)),
        ("names", lambda array: array[:-5]),
        ("names", lambda array: np.frombuffer(b'{"title": 1}', np.uint8)),
        ("names", lambda array: np.frombuffer(b'{"information_sets": [[], [], []]}', np.uint8)),
    ],
)
def test_a_damaged_file_is_refused(saved, name, damage):
    with np.load(saved) as stored:
        arrays = dict(stored)
    arrays[name] = damage(arrays[name])
    np.savez(saved, **arrays)
    with pytest.raises(InvalidInput, match="is damaged"):
        FlatGame.load(saved)


def test_flipped_bytes_are_refused_or_harmless(saved):
    whole = saved.read_bytes()
    original = FlatGame.load(saved)
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 200):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.integers(8)
        saved.write_bytes(damaged)
        try:
            game = FlatGame.load(saved)
        except InvalidInput:
            continue
        assert (game.payoff != original.payoff).nnz == 0


@given(seed=seeds)
@settings(max_examples=20)
def test_a_gambit_file_gives_the_same_game(tmp_path_factory, seed):
    game = FlatGame.from_tree(random_tree(seed))
    path = tmp_path_factory.mktemp("gambit") / "game.efg"
    game.to_efg(path)
    again = FlatGame.from_efg(path)
    behaviour = random_behaviour(game, seed)
    assert expected_payoff(again, behaviour) == pytest.approx(expected_payoff(game, behaviour), abs=1e-12)
