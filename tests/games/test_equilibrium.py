from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.games.random_games import best_pure_payoff, expected_payoff, n_pure, random_behaviour, random_tree

from firstlight.errors import InvalidInput
from firstlight.games import exact_certificate
from firstlight.games.certificate import certify
from firstlight.games.equilibrium import Equilibrium
from firstlight.games.exact_certificate import certify_exactly
from firstlight.games.flat_game import FlatGame
from firstlight.games.game_tree import TreeBuilder
from firstlight.games.profile import Profile

seeds = st.integers(0, 2**32 - 1)


def random_profile(seed, **options):
    game = FlatGame.from_tree(random_tree(seed, **options))
    return game, Profile(game.tree.information_sets, random_behaviour(game, seed), game.tree.title)


def matrix_game(payoffs, payoff_sum=0.0) -> FlatGame:
    """Player 1 picks a row, player 2 a column without seeing it."""
    tree = TreeBuilder("matrix", payoff_sum)
    row = tree.decision(0, tree.place(0, "row", "row", [str(row) for row in range(len(payoffs))]))
    for place, entries in enumerate(payoffs):
        column = tree.place(1, "column", "column", [str(column) for column in range(len(entries))])
        node = tree.decision(1, column, row, place)
        for move, payoff in enumerate(entries):
            tree.leaf(float(payoff), node, move)
    return FlatGame.from_tree(tree.finish())


@settings(max_examples=40)
@given(seed=seeds, payoff_sum=st.sampled_from([0.0, 2.0, -0.3]))
def test_improvements_equal_those_over_all_pure_strategies(seed, payoff_sum):
    game, profile = random_profile(seed, depth=3, payoff_sum=payoff_sum)
    assume(max(n_pure(game, 0), n_pure(game, 1)) <= 200)
    certificate = certify(game, profile)
    value = expected_payoff(game, profile.behaviour)
    assert certificate.value == pytest.approx(value, abs=1e-12)
    for player, own in ((0, value), (1, payoff_sum - value)):
        gain = best_pure_payoff(game, player, profile.behaviour) - own
        assert certificate.improvements[player] == pytest.approx(gain, abs=1e-12)
        assert certificate.improvements[player] >= 0
    assert certificate.nash_conv == sum(certificate.improvements)
    assert certificate.exploitability == certificate.nash_conv / 2


@settings(max_examples=60)
@given(seed=seeds, exponent=st.integers(-100, 19))
def test_value_bounds_contain_the_exact_ones_and_are_tight(seed, exponent):
    """Payoffs differ by up to 19 orders of magnitude, so sums cancel badly."""
    game, profile = random_profile(seed, magnitude=10.0**exponent)
    rounded, exact = certify(game, profile), certify_exactly(game, profile)
    assert Fraction(rounded.value_bounds[0]) <= exact.value_bounds[0] <= exact.value <= exact.value_bounds[1]
    assert exact.value_bounds[1] <= Fraction(rounded.value_bounds[1])
    largest = np.abs(game.tree.payoff).max()
    for ours, theirs in zip(rounded.value_bounds, exact.value_bounds, strict=True):
        assert abs(ours - theirs) <= 1e-12 * largest + 1e-300


@settings(max_examples=30)
@given(seed=seeds)
def test_exact_bounds_are_rational_and_agree_with_brute_force(seed):
    game, profile = random_profile(seed, depth=3)
    assume(max(n_pure(game, 0), n_pure(game, 1)) <= 200)
    exact = certify_exactly(game, profile)
    assert exact.nash_conv == exact.value_bounds[1] - exact.value_bounds[0] >= 0
    assert min(exact.improvements) >= 0
    assert float(exact.value_bounds[1]) == pytest.approx(best_pure_payoff(game, 0, profile.behaviour), abs=1e-12)
    assert -float(exact.value_bounds[0]) == pytest.approx(best_pure_payoff(game, 1, profile.behaviour), abs=1e-12)


def test_thirds_are_exact():
    game = matrix_game([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    exact = certify_exactly(game, Profile.uniform(game))
    assert (exact.value, exact.improvements, exact.exploitability) == (0, (0, 0), 0)


def test_constant_sum_gives_player_1s_own_payoffs():
    game = matrix_game([[2, 0], [0, 2]], payoff_sum=2.0)
    certificate = certify(game, Profile.uniform(game))
    assert certificate.value == 1
    assert certificate.nash_conv == 0
    assert certificate.value_bounds == pytest.approx((1, 1), abs=1e-14)


def test_an_all_zero_game_has_value_and_gap_zero():
    game = matrix_game(np.zeros((2, 2)))
    certificate = certify(game, Profile.uniform(game))
    assert (certificate.value, certificate.exploitability) == (0, 0)
    assert certificate.value_bounds[0] <= 0 <= certificate.value_bounds[1]
    assert certificate.value_bounds[1] - certificate.value_bounds[0] < 1e-300


def one_leaf(payoff) -> FlatGame:
    tree = TreeBuilder("nobody moves")
    tree.leaf(payoff)
    return FlatGame.from_tree(tree.finish())


def test_a_game_without_moves_is_worth_its_leaf():
    game = one_leaf(3.5)
    certificate = certify(game, Profile.uniform(game))
    assert certificate.value == 3.5
    assert certificate.nash_conv == 0
    assert certify_exactly(game, Profile.uniform(game)).value == Fraction(7, 2)


def large_payoffs() -> FlatGame:
    """A coin, then both players choose; 1e19 stands beside 1, and the value is exactly 1."""
    tree = TreeBuilder("large payoffs")
    coin = tree.chance()
    payoffs = {("left", 0, 0): 1e19, ("left", 0, 1): 1.0, ("left", 1, 0): -1.0, ("left", 1, 1): 0.0}
    payoffs |= {("right", 0, 0): -1.0, ("right", 0, 1): 1.0, ("right", 1, 0): 0.0, ("right", 1, 1): 1e19}
    for side, name in enumerate(("left", "right")):
        known = tree.place(0, name, name, ["A", "B"])
        first = tree.decision(0, known, coin, side, 0.5)
        for move in (0, 1):
            second = tree.decision(1, tree.place(1, move, f"after {'AB'[move]}", ["X", "Y"]), first, move)
            for reply in (0, 1):
                tree.leaf(payoffs[name, move, reply], second, reply)
    return FlatGame.from_tree(tree.finish())


def test_payoffs_of_1e19_give_a_bracket_around_1_of_honest_width():
    game = large_payoffs()
    equilibrium = game.lp_solve()
    lower, upper = equilibrium.value_bounds
    assert lower <= 1 <= upper
    assert 1e3 < upper - lower < 1e6
    exact = certify_exactly(game, equilibrium.profile)
    assert exact.value_bounds[0] <= 1 <= exact.value_bounds[1]


@settings(max_examples=30)
@given(seed=seeds, weight=st.floats(0, 1))
def test_brackets_contain_the_value_whatever_the_strategies(seed, weight):
    game, profile = random_profile(seed)
    solved = game.lp_solve()
    mixed = tuple(
        weight * ours + (1 - weight) * solution
        for ours, solution in zip(profile.plans(game), solved.profile.plans(game), strict=True)
    )
    lower, upper = certify(game, Profile.from_plans(game, mixed)).value_bounds
    assert lower <= solved.value_bounds[1]
    assert solved.value_bounds[0] <= upper


def test_exact_arithmetic_refuses_large_games(monkeypatch):
    monkeypatch.setattr(exact_certificate, "LARGEST_GAME", 3)
    game = matrix_game(np.eye(2))
    with pytest.raises(InvalidInput, match="exact arithmetic is for games of at most 3 nodes, this one has 7"):
        certify_exactly(game, Profile.uniform(game))


def converging(slope: float) -> Equilibrium:
    game = matrix_game(np.eye(2))
    profile = Profile.uniform(game)
    times = np.array([1, 10, 100, 1000, 10000])
    # The start does not follow the law and must not count.
    exploitabilities = np.where(times < 100, 5.0, times.astype(float) ** slope)
    return Equilibrium(profile, certify(game, profile), "test method", 10000, 0.1, times, exploitabilities)


def test_slope_is_the_exponent_of_the_late_measurements():
    assert converging(-1.5).slope == pytest.approx(-1.5, abs=1e-12)


def test_slope_of_nothing_is_nan_and_there_is_no_curve():
    game = matrix_game(np.eye(2))
    solved = game.lp_solve()
    assert np.isnan(solved.slope)
    with pytest.raises(InvalidInput, match=r"HiGHS.* recorded no exploitability"):
        solved.plot()


def test_plot_draws_the_measurements_and_the_fit():
    pytest.importorskip("matplotlib").use("Agg")
    equilibrium = converging(-1.0)
    axes = equilibrium.plot()
    measured, fitted = axes.get_lines()
    np.testing.assert_array_equal(measured.get_xydata()[:, 1], equilibrium.exploitabilities)
    np.testing.assert_allclose(fitted.get_xydata()[:, 1], [1e-2, 1e-3, 1e-4], rtol=1e-9)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["test method", "slope -1.00"]
    assert equilibrium.plot(axes) is axes


def test_figures_are_those_of_the_certificate():
    equilibrium = converging(-1.0)
    certificate = equilibrium.certificate
    assert equilibrium.value == certificate.value == 0.5
    assert equilibrium.value_bounds == certificate.value_bounds
    assert (equilibrium.nash_conv, equilibrium.exploitability) == (certificate.nash_conv, certificate.exploitability)
