from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.games.random_games import random_tree

from firstlight.games.exact_certificate import certify_exactly
from firstlight.games.flat_game import FlatGame
from firstlight.games.game_tree import TreeBuilder
from firstlight.games.linear_program import lp_solve


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), payoff_sum=st.sampled_from([0.0, 3.0]))
def test_solutions_are_equilibria_by_best_response(seed, payoff_sum):
    game = FlatGame.from_tree(random_tree(seed, depth=5, payoff_sum=payoff_sum))
    solved = lp_solve(game)
    assert solved.exploitability < 1e-9
    assert min(solved.certificate.improvements) >= 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kuhn_poker", -1 / 18),
        ("leduc_poker", -0.0856064241),
        ("liars_dice(numdice=1,dice_sides=4)", 0.0625),
        ("matrix_rps", 0.0),
    ],
)
def test_values_of_known_games(name, value):
    pytest.importorskip("pyspiel")
    equilibrium = FlatGame.from_openspiel(name).lp_solve()
    assert equilibrium.value == pytest.approx(value, abs=1e-10)
    lower, upper = equilibrium.value_bounds
    assert upper - lower < 1e-12
    assert equilibrium.exploitability < 1e-13


@pytest.mark.parametrize(
    ("name", "value"),
    [("kuhn_poker", Fraction(-1, 18)), ("liars_dice(numdice=1,dice_sides=4)", Fraction(1, 16))],
)
def test_simple_equilibria_are_proved_in_exact_arithmetic(name, value):
    pytest.importorskip("pyspiel")
    game = FlatGame.from_openspiel(name)
    exact = certify_exactly(game, game.lp_solve().profile)
    assert exact.value == value
    assert exact.nash_conv == 0


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_matrix_games_agree_with_the_textbook_program(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 6, 2)
    payoffs = rng.normal(size=(rows, columns))
    tree = TreeBuilder("matrix")
    first = tree.decision(0, tree.place(0, 0, "row", [str(row) for row in range(rows)]))
    for row in range(rows):
        second = tree.decision(1, tree.place(1, 0, "column", [str(column) for column in range(columns)]), first, row)
        for column in range(columns):
            tree.leaf(payoffs[row, column], second, column)
    value = lp_solve(FlatGame.from_tree(tree.finish())).value
    # maximise v such that every column pays at least v against x
    textbook = linprog(
        c=[*np.zeros(rows), -1.0],
        A_ub=np.hstack([-payoffs.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=[[*np.ones(rows), 0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
    )
    assert value == pytest.approx(-textbook.fun, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1e12, 1e80])
def test_payoffs_of_any_scale_are_solved_alike(scale):
    game = FlatGame.from_tree(random_tree(12, depth=5))
    tree = random_tree(12, depth=5)
    tree.payoff[:] *= scale
    scaled = FlatGame.from_tree(tree)
    assert lp_solve(scaled).value == pytest.approx(scale * lp_solve(game).value, rel=1e-9)
    assert lp_solve(game).value != 0


def two_streets() -> FlatGame:
    """A strong or weak hand, a bet, a second card of which one never comes, and a second bet."""
    tree = TreeBuilder("two streets")
    deal = tree.chance()
    for hand, (name, probability) in enumerate((("strong", 0.01), ("weak", 0.99))):
        bet = tree.decision(0, tree.place(0, name, name, ["bet", "check"]), deal, hand, probability)
        call = tree.decision(1, tree.place(1, "bet 1", "bet 1", ["call", "fold"]), bet, 0)
        card = tree.chance(call, 0)
        for place, (street, chance) in enumerate((("blank", 0.5), ("good", 0.5), ("never", 0.0))):
            if street == "good":
                tree.leaf(2.0 - 4.0 * hand, card, place, chance)
                continue
            last = tree.decision(1, tree.place(1, street, f"bet 2, {street}", ["call", "fold"]), card, place, chance)
            tree.leaf(5.0 - 9.0 * hand, last, 0)
            tree.leaf(2.0, last, 1)
        tree.leaf(1.0, call, 1)
        tree.leaf(0.0 - hand, bet, 1)
    return FlatGame.from_tree(tree.finish())


def test_a_card_of_probability_zero_does_no_harm():
    game = two_streets()
    equilibrium = game.lp_solve()
    assert equilibrium.exploitability < 1e-9
    never = equilibrium.profile.to_dict()["bet 2, never"]
    assert sum(never.values()) == pytest.approx(1, abs=1e-12)
    assert min(never.values()) >= 0


def test_trivial_games_are_solved():
    leaf = TreeBuilder("nobody moves")
    leaf.leaf(3.5)
    assert FlatGame.from_tree(leaf.finish()).lp_solve().value == 3.5
    zero = TreeBuilder("nothing to win")
    node = zero.decision(1, zero.place(1, 0, "start", ["a", "b"]))
    zero.leaf(0.0, node, 0)
    zero.leaf(0.0, node, 1)
    solved = FlatGame.from_tree(zero.finish()).lp_solve()
    assert (solved.value, solved.exploitability) == (0, 0)


TRIAL_CASES = Path(__file__).parents[3] / "shared" / "cases" / "02"


@pytest.mark.skipif(not TRIAL_CASES.is_dir(), reason="the trial cases are not part of the package")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("matching_neutral", Fraction(0)),
        ("ante_inner", Fraction(3, 4)),
        ("labels_reuse", Fraction(-163, 112)),
        ("same_labels", Fraction(1, 2)),
        ("zero_branch", Fraction(-19, 40)),
        ("gambit/4cards", Fraction(23, 24)),
        ("gambit/nim", Fraction(-1)),
        ("gambit/large_payoff_game", Fraction(1)),
        ("gambit/ttt", Fraction(0)),
        ("gambit/poker", Fraction(1, 3)),
        ("gambit/zerosum_efg_from_sequence_form_STOC94_paper", Fraction(13)),
        ("gambit/two_player_perfect_info_win_lose_with_nonterm_outcomes", Fraction(1)),
    ],
)
def test_trial_cases_have_their_known_values_proved_exactly(name, value):
    game = FlatGame.from_efg(TRIAL_CASES / f"{name}.efg")
    solved = game.lp_solve()
    assert solved.value_bounds[0] <= value <= solved.value_bounds[1]
    exact = certify_exactly(game, solved.profile)
    assert (exact.value, exact.nash_conv) == (value, 0)
