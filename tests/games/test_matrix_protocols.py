import numpy as np
import pytest

from firstlight.games.data import SLOW_GAME
from firstlight.games.game_solution import convergence_slope
from firstlight.games.matrix_protocols import best_smooth_gap, random_games, scale_sensitivity, slow_game_gaps


def test_the_papers_first_table():
    gaps = slow_game_gaps(copies=31)
    published = {"SPRM+ (step 0.01)": 3.9e-4, "SPRM+ (step 0.1)": 4.0e-5, "SPRM+ (step 1)": 2.1e-4}
    assert 2.3e-5 <= gaps["MI-SPRM+ (published rule)"] <= 2.9e-5
    for name, gap in published.items():
        assert gaps[name] == pytest.approx(gap, rel=0.15)
    assert min(gaps, key=gaps.__getitem__) == "MI-SPRM+ (scale-free)"
    ranked = [gaps[name] for name in ("MI-SPRM+ (published rule)", *sorted(published, key=published.__getitem__))]
    assert ranked == sorted(ranked)


def test_random_games_converge_like_one_over_t_far_below_tuned_peers():
    ours = random_games(10, 100.0, seeds=range(6), iterations=30_000)
    tuned, step = best_smooth_gap(10, 100.0, seeds=range(6), iterations=30_000)
    assert step in (0.01, 0.1, 1.0)
    assert ours.gaps[-1] <= 0.15 * tuned
    assert ours.slope <= -0.95
    assert ours.settled == 1.0
    assert ours.final_gaps.shape == (6,)


def test_unit_of_payoff_matters_to_the_published_rule_alone():
    factors = (1e-3, 1e6)
    assert max(scale_sensitivity(SLOW_GAME, factors, iterations=10_000).values()) <= 2.0
    assert max(scale_sensitivity(SLOW_GAME, factors, iterations=10_000, scale="paper").values()) > 5.0


@pytest.mark.parametrize("exponent", [-0.5, -1.0, -2.0])
def test_slope_is_that_of_a_power_law(exponent):
    iterations = np.arange(1, 1000)
    assert convergence_slope(iterations, 3.0 * iterations**exponent) == pytest.approx(exponent)


def test_slope_of_too_few_positive_gaps_is_not_a_number():
    assert np.isnan(convergence_slope(np.array([1, 10]), np.array([1.0, 0.0])))
