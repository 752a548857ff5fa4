from fractions import Fraction
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import firstlight.games.matrix_games
from firstlight.errors import Interrupted, InvalidInput
from firstlight.games import PRMPlus, solve_matrix_game
from firstlight.games.data import SLOW_GAME, random_matrix_game
from firstlight.games.matrix_games import METHODS
from firstlight.games.matrix_payoffs import checked_payoffs, value_bounds

CASES = Path(__file__).parents[3] / "shared" / "cases" / "02"
SCALES = st.sampled_from([1e-19, 1e-3, 1.0, 1e6, 1e19])


def matrices(elements, largest=4):
    sides = st.integers(1, largest)
    return st.tuples(sides, sides).flatmap(lambda shape: arrays(np.float64, shape, elements=elements))


def value_2x2(A):
    """The value of a 2 × 2 game in exact arithmetic: a saddle point if there is one, else the mixed solution."""
    (a, b), (c, d) = ([Fraction(float(entry)) for entry in row] for row in A)
    pure_upper, pure_lower = min(max(a, b), max(c, d)), max(min(a, c), min(b, d))
    return pure_upper if pure_upper == pure_lower else (a * d - b * c) / (a + d - b - c)


@settings(max_examples=50)
@given(A=arrays(np.float64, (2, 2), elements=st.integers(-9, 9).map(float)), scale=SCALES)
def test_bounds_enclose_the_exact_value_at_every_scale(A, scale):
    solution = solve_matrix_game(scale * A, iterations=20_000)
    lower, upper = solution.value_bounds
    assert Fraction(lower) <= value_2x2(scale * A) <= Fraction(upper)
    assert solution.gap <= 1e-6 * scale * np.abs(A).max()


@settings(max_examples=100)
@given(A=matrices(st.floats(-1e19, 1e19)), data=st.data())
def test_bounds_hold_in_exact_arithmetic_whatever_the_strategies(A, data):
    x, y = (data.draw(arrays(np.float64, n, elements=st.floats(1e-3, 1.0))) for n in A.shape)
    x, y = x / x.sum(), y / y.sum()
    lower, upper = value_bounds(A, x, y)
    exact_A = [[Fraction(entry) for entry in row] for row in A.tolist()]
    exact_x, exact_y = ([Fraction(p) / sum(map(Fraction, s.tolist())) for p in s.tolist()] for s in (x, y))
    loss = min(sum(a * p for a, p in zip(row, exact_y, strict=True)) for row in exact_A)
    win = max(sum(row[j] * p for row, p in zip(exact_A, exact_x, strict=True)) for j in range(A.shape[1]))
    assert Fraction(lower) <= loss
    assert win <= Fraction(upper)
    assert upper - lower <= float(win - loss) + 1e-14 * np.abs(A).max()


@settings(max_examples=25)
@given(A=matrices(st.integers(-5, 5).map(float), largest=6))
def test_agrees_with_the_linear_program(A):
    solution, program = solve_matrix_game(A, iterations=20_000), solve_matrix_game(A, "lp")
    assert program.gap <= 1e-8
    assert solution.value_bounds[0] <= program.value_bounds[1]
    assert program.value_bounds[0] <= solution.value_bounds[1]
    assert solution.gap <= 2e-6 * np.abs(A).max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("averaging", ["uniform", "linear", "quadratic", "last"])
def test_compiled_and_general_loops_agree(method, averaging):
    A = random_matrix_game(6, seed=3)[:, :4]
    compiled, general = (
        solve_matrix_game(payoffs, method, 300, averaging=averaging) for payoffs in (A, aslinearoperator(A))
    )
    np.testing.assert_allclose(compiled.x, general.x, atol=1e-8)
    np.testing.assert_allclose(compiled.y, general.y, atol=1e-8)
    np.testing.assert_allclose(compiled.gaps, general.gaps, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_approaches_equilibrium(method):
    early, late = (solve_matrix_game(SLOW_GAME, method, n, averaging="uniform").gap for n in (100, 30_000))
    assert 0.0 < late < early / 10


def test_averages_weigh_rounds_as_named():
    A = random_matrix_game(4, seed=1)
    row, column = PRMPlus(4), PRMPlus(4)
    rounds = []
    for _ in range(50):
        rounds.append(row.next_strategy())
        row.observe(A @ column.next_strategy())
        column.observe(-A.T @ rounds[-1])
    t = np.arange(1, 51)
    for averaging, weights in (("uniform", t**0), ("linear", t), ("quadratic", t**2), ("last", t == 50)):
        expected = np.average(rounds, axis=0, weights=weights)
        solution = solve_matrix_game(A, "prm+", 50, averaging=averaging)
        np.testing.assert_allclose(solution.x, expected, atol=1e-12)


def test_radius_weighs_the_averages_of_mi_sprm():
    A = random_matrix_game(4, seed=1)
    radii, last = np.zeros(50), np.zeros((50, 4))
    for rounds in range(1, 51):
        solution = solve_matrix_game(A, iterations=rounds, averaging="last", scale="paper")
        last[rounds - 1] = solution.x
        radii[rounds - 1] = solve_matrix_game(A, iterations=rounds - 1 or 1, scale="paper").radius.values[-1]
    radii[0] = 1.0  # R before the first round
    for averaging, power in (("R", 0), ("linear", 1), ("quadratic", 2)):
        expected = np.average(last, axis=0, weights=radii * np.arange(1, 51) ** power)
        solution = solve_matrix_game(A, iterations=50, averaging=averaging, scale="paper")
        np.testing.assert_allclose(solution.x, expected, atol=1e-12)


@given(factor=st.sampled_from([1e-3, 7.0, 1e6]), seed=st.integers(0, 99))
@settings(max_examples=10)
def test_unit_of_payoff_does_not_change_the_course(factor, seed):
    A = random_matrix_game(8, seed=seed)
    plain, scaled = (solve_matrix_game(c * A, iterations=10_000, averaging="R") for c in (1.0, factor))
    np.testing.assert_allclose(scaled.gaps / factor, plain.gaps, rtol=0.5)


def test_traces_how_the_radius_grew():
    radius = solve_matrix_game(random_matrix_game(10, seed=2), iterations=20_000).radius
    assert np.all(np.diff(radius.values) >= 0)
    assert radius.increments > 100
    assert 0 < radius.last_increment < 10_000
    assert radius.tightest == pytest.approx(1.0, abs=1e-12)
    assert solve_matrix_game(SLOW_GAME, "prm+", 10).radius is None


def test_rounding_does_not_raise_the_radius_after_convergence():
    # Past convergence both sides of the criterion are rounding errors; the published rule takes them at face value.
    published, scale_free = (solve_matrix_game(SLOW_GAME, iterations=50_000, scale=s).radius for s in ("paper", "auto"))
    assert published.last_increment > 3000
    assert scale_free.last_increment < 3000


@pytest.mark.parametrize(
    ("A", "value"),
    [
        ([[3.0]], 3.0),
        ([[2.0, -1.0, 5.0]], 5.0),
        ([[2.0], [-1.0], [5.0]], -1.0),
        ([[7.0, 7.0], [7.0, 7.0], [7.0, 7.0]], 7.0),
        ([[0.0, 0.0], [0.0, 0.0]], 0.0),
        ([[1.0, -1.0, -1.0], [-1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]], 0.0),  # the same action twice
        ([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1e4]], 0.0),
        ([[100.0, 0, 0, 100.0], [0, 0, 0, 100.0], [100.0, 0, 0, 0], [0, 0, 0, 50.0]], 100 / 3),
        ([[1e19, 1e19], [1.0, 1e19]], 1e19),
        ([[1.0, -1e19], [1e19, 1e19]], 1.0),
    ],
)
def test_solves_degenerate_games(A, value):
    solution = solve_matrix_game(A, iterations=100_000)
    assert solution.value_bounds[0] <= value <= solution.value_bounds[1]
    assert solution.gap <= 1e-6 * max(1.0, np.abs(A).max())
    assert np.isfinite([*solution.x, *solution.y]).all()


def test_nothing_at_stake_has_value_and_gap_zero():
    solution = solve_matrix_game(np.zeros((2, 3)), iterations=100)
    assert solution.value_bounds == (0.0, 0.0)
    np.testing.assert_array_equal(solution.x, [0.5, 0.5])
    assert solution.radius.values[-1] == 0.0


# Values are those of a row player who maximises.
@pytest.mark.skipif(not CASES.is_dir(), reason="the collected cases are not here")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cyclic6", 0.0),
        ("signs4", 0.0),
        ("ties4_50", -100 / 3),
        ("ties4_33", -24.99999998125),
        ("mixed_scale3", 0.0),
        ("zeros2x2", 0.0),
    ],
)
def test_solves_the_collected_cases(name, value):
    payoffs = np.load(CASES / f"{name}.npy")
    solution = solve_matrix_game(-payoffs, iterations=100_000)
    lower, upper = solution.value_bounds
    assert lower - 1e-14 * abs(value) <= -value <= upper + 1e-14 * abs(value)
    assert solution.gap <= 1e-6 * max(1.0, np.abs(payoffs).max())


def test_takes_payoffs_in_many_forms():
    A = np.array([[3, 0, -3], [0, 3, -4], [0, 0, 1]])
    expected = solve_matrix_game(A.astype(float), iterations=200)
    forms = [
        A,
        A.tolist(),
        np.asfortranarray(A),
        A.astype(np.float32),
        torch.tensor(A, dtype=torch.float32, requires_grad=True),
        [[Fraction(entry) for entry in row] for row in A.tolist()],
        sp.csr_array(A),
        sp.coo_matrix(A),
        LinearOperator(A.shape, matvec=lambda y: A @ y, rmatvec=lambda x: A.T @ x, dtype=np.float64),
    ]
    for form in forms:
        np.testing.assert_allclose(solve_matrix_game(form, iterations=200).x, expected.x, atol=1e-12)


def test_whole_numbers_beyond_64_bits_do_not_overflow():
    solution = solve_matrix_game([[10**30, -(10**30)], [-(10**30), 10**30]], iterations=100)
    assert solution.value_bounds[0] <= 0.0 <= solution.value_bounds[1]


@pytest.mark.parametrize(
    ("A", "words"),
    [
        ([[1.0, np.nan], [0.0, 2.0]], "found nan at row 0, column 1"),
        (sp.csr_array([[0.0, 0.0], [0.0, np.inf]]), "found inf at row 1, column 1"),
        ([[1.0, 2.0], [3.0]], "rectangular"),
        ([1.0, 2.0], "two dimensions"),
        (np.zeros((2, 2, 2)), "two dimensions"),
        (np.zeros((0, 2)), "at least one action"),
        (np.array([[1j]]), "complex128"),
        ([["1", "2"]], "real numbers"),
        (np.array([[None]]), "object"),
        ([[1e200, 0.0]], "at most 1e\\+100"),
        ({"a": 1}, "rectangular"),
    ],
)
def test_refuses_what_is_no_finite_real_matrix(A, words):
    with pytest.raises(InvalidInput, match=words):
        solve_matrix_game(A)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "cfr"}, "method must be one of mi-sprm"),
        ({"iterations": 0}, "iterations must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"averaging": "cubic"}, "averaging must be one of"),
        ({"averaging": "R", "method": "prm+"}, "radius of mi-sprm"),
        ({"eta": 0.1}, "mi-sprm\\+ has no option 'eta'; it has growth, scale"),
        ({"method": "prm+", "eta": 0.1}, "it has none"),
        ({"method": "lp", "eta": 0.1}, "lp has no option 'eta'"),
        ({"scale": "huge"}, "scale must be"),
        ({"method": "sprm+", "eta": -1.0}, "eta must be positive"),
    ],
)
def test_refuses_options_that_make_no_sense(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        solve_matrix_game(SLOW_GAME, **arguments)


def test_stops_at_the_tolerance():
    solution = solve_matrix_game(SLOW_GAME, iterations=10**7, tol=1e-3)
    assert solution.gap <= 1e-3
    assert solution.iterations < 10_000
    assert solution.checked_at[-1] == solution.iterations
    assert solution.gaps[-1] == pytest.approx(solution.gap)
    assert np.all(solution.gaps[:-1] > 1e-3)


def test_interruption_keeps_the_solution_so_far(monkeypatch):
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return value_bounds(*arguments)

    monkeypatch.setattr(firstlight.games.matrix_games, "value_bounds", interrupted)
    with pytest.raises(Interrupted, match="stopped after") as stop:
        solve_matrix_game(SLOW_GAME, iterations=10**6)
    solution = stop.value.finished["solution"]
    assert solution.iterations > solution.checked_at[-1] > 0
    assert solution.value_bounds[0] <= 0.25 <= solution.value_bounds[1]


def test_draws_the_gap_with_its_slope():
    solution = solve_matrix_game(SLOW_GAME, iterations=10_000, averaging="R")
    figure, axes = plt.subplots()
    assert solution.plot(axes) is axes
    assert axes.get_xlabel() == "iterations"
    assert "payoff units" in axes.get_ylabel()
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), solution.gaps)
    assert -1.5 < solution.slope < -0.8
    plt.close(figure)
    with pytest.raises(InvalidInput, match="no curve"):
        solve_matrix_game(SLOW_GAME, "lp").plot()


def test_linear_program_needs_entries():
    with pytest.raises(InvalidInput, match="entries"):
        solve_matrix_game(aslinearoperator(SLOW_GAME), "lp")


def test_leaves_the_payoffs_alone():
    A = random_matrix_game(5)
    before = A.copy()
    assert checked_payoffs(A) is A
    solve_matrix_game(A, iterations=100)
    np.testing.assert_array_equal(A, before)
