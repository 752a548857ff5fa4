"""River endgames: known answers, the same game written out, exact certificates, bad input."""

from pathlib import Path

import numpy as np
import pytest
from tests.games.explicit_endgame import explicit_endgame, explicit_profile

from firstlight.errors import Interrupted, InvalidInput
from firstlight.games.cfr import CFRSolver
from firstlight.games.endgame_solution import EndgameSolution
from firstlight.games.equilibrium import certify
from firstlight.games.flat_game import FlatGame
from firstlight.games.hand_ranges import range_weights
from firstlight.games.river import RiverSolver
from firstlight.games.river_comparison import compare_river_methods

SHARED = Path(__file__).parents[3] / "shared"
METHODS = ("cfr+", "pcfr+", "dcfr", "pdcfr+", "mi-spcfr+")

BOARD = "Ts3h2h5c9s"
TOY = ({"AA": 1, "QQ": 1}, {"KK": 1})

# Ranges with ties, blockers and unequal weights.
RANGES = (
    {"AsJs": 1, "AsJd": 0.5, "9c9d": 0.3, "KdQd": 1, "TcJc": 0.8, "4s6s": 0.2},
    {"AsJh": 1, "AdJd": 0.7, "Td9d": 0.25, "KdQh": 1, "4h6h": 0.4, "7c7d": 2},
)
TERMS = {"pot": 200, "behind": 700, "bets": (0.5, 1.0, "allin"), "big_blind": 20}


def libratus_file(path, board, pot, ranges):
    reach = np.concatenate([range_weights(given, player) for player, given in enumerate(ranges)])
    path.write_text(f"-round 4\n-board {board}\n-pot {pot}\n-reach {' '.join(map(repr, reach.tolist()))}\n")
    return path


def toy_file(tmp_path):
    return libratus_file(tmp_path / "toy.txt", BOARD, 20_000, TOY)


def test_polarised_range_against_a_bluff_catcher_with_half_the_pot_behind(tmp_path):
    # Aces and queens bet 10,000 into 20,000: a third of the queens bluff, two thirds of the kings call.
    solution = RiverSolver.from_libratus(toy_file(tmp_path), bets=("allin",), method="mi-spcfr+").run(target=0.01)
    assert solution.value == pytest.approx(10_000 / 3, abs=0.1)
    assert solution.strategy("", "AsAh")["bet 10000"] == pytest.approx(1, abs=1e-3)
    assert solution.strategy("", "QsQh")["bet 10000"] == pytest.approx(1 / 3, abs=1e-3)
    assert solution.strategy("bet 10000", "KsKh")["call"] == pytest.approx(2 / 3, abs=1e-3)


def test_polarised_range_against_a_bluff_catcher_with_the_pot_behind():
    solution = RiverSolver(BOARD, 100, 100, TOY, bets=("allin",), method="mi-spcfr+").run(target=0.01)
    assert solution.value == pytest.approx(25, abs=0.01)
    assert solution.strategy("", "QcQd")["bet 100"] == pytest.approx(1 / 2, abs=1e-3)
    assert solution.strategy("all-in", "KcKd")["call"] == pytest.approx(1 / 2, abs=1e-3)
    assert solution.hand_value(0, "AsAc") == pytest.approx(50 + 100 / 2, abs=0.1)
    assert solution.hand_value(0, "QsQc") == pytest.approx(-50, abs=0.1)


@pytest.mark.skipif(not (SHARED / "cases/02/river_toy.txt").exists(), reason="the shared case is not here")
def test_the_shared_toy_file_has_the_known_value():
    solver = RiverSolver.from_libratus(SHARED / "cases/02/river_toy.txt", bets=("allin",), method="pcfr+")
    solution = solver.run(target=0.01)
    assert solution.value == pytest.approx(10_000 / 3, abs=0.1)


@pytest.fixture(scope="module")
def written_out():
    return FlatGame.from_tree(explicit_endgame(BOARD, ranges=RANGES, **TERMS))


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_iterates_are_those_of_cfr_on_the_game_written_out(method, alternating, written_out):
    solver = RiverSolver(BOARD, ranges=RANGES, **TERMS, method=method, alternating=alternating)
    # Both sum in another order, and iteration by iteration CFR magnifies the rounding.
    solution = solver.run(20)
    peer = CFRSolver(written_out, method, alternating=alternating).run(20)
    assert solution.exploitability * solution.game.mbb == pytest.approx(peer.exploitability, rel=1e-10)
    ours = explicit_profile(solution, written_out)
    for mine, theirs in zip(ours.plans(written_out), peer.profile.plans(written_out), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-10)


def test_certificate_is_that_of_the_game_written_out(written_out):
    solution = RiverSolver(BOARD, ranges=RANGES, **TERMS).run(200)
    peer = certify(written_out, explicit_profile(solution, written_out))
    assert solution.value == pytest.approx(peer.value, abs=1e-10)
    assert solution.certificate.exploitability == pytest.approx(peer.exploitability, abs=1e-10)


def test_value_bounds_close_in_on_the_linear_program(written_out):
    exact = written_out.lp_solve().value
    solution = RiverSolver(BOARD, ranges=RANGES, **TERMS, method="mi-spcfr+").run(target=0.2)
    lowest, highest = solution.value_bounds
    assert lowest - 1e-7 <= exact <= highest + 1e-7
    # Exploitability is half the distance between best responses, in thousandths of the big blind of 20.
    assert highest - lowest == pytest.approx(2 * solution.exploitability * 20 / 1000, abs=1e-8)
    assert solution.exploitability <= 0.2


def test_hand_values_average_to_the_value():
    solution = RiverSolver(BOARD, ranges=RANGES, **TERMS).run(100)
    for player, sign in ((0, 1), (1, -1)):
        dealt = solution.game.weights[player] * solution.game.met[player]
        assert dealt.sum() == pytest.approx(1)
        assert dealt @ solution.hand_values[player] == pytest.approx(sign * solution.value, abs=1e-9)


def test_suits_that_are_alike_are_played_alike():
    # Spades, hearts and clubs appear once on the board as ranks that do not pair; no suit can make a flush.
    solution = RiverSolver("As7h2c9dKs", 100, 200, ({"QQ": 1, "JTs": 1}, {"KQ": 1, "88": 1})).run(200)
    for line in ("", "check, bet 100"):
        hearts, clubs = solution.strategy(line, "JhTh"), solution.strategy(line, "JcTc")
        assert hearts == pytest.approx(clubs, abs=1e-9)


def test_running_on_equals_running_at_once():
    at_once = RiverSolver(BOARD, ranges=RANGES, **TERMS).run(60)
    solver = RiverSolver(BOARD, ranges=RANGES, **TERMS)
    solver.run(25)
    in_parts = solver.run(35)
    assert in_parts.iterations == at_once.iterations == solver.iteration == 60
    for one, other in zip(in_parts.behaviour, at_once.behaviour, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_last_strategies_can_be_the_answer():
    solver = RiverSolver(BOARD, 100, 100, TOY, bets=("allin",), method="mi-spcfr+", averaging="last")
    assert solver.run(1).exploitability > 10
    assert solver.run(500).exploitability < 1e-3


def test_run_stops_at_the_target_and_at_the_time():
    solver = RiverSolver(BOARD, ranges=RANGES, **TERMS)
    solution = solver.run(target=5.0)
    assert solution.exploitability <= 5.0
    assert solution.exploitabilities[-1] == pytest.approx(solution.exploitability, rel=1e-9)
    assert (solution.exploitabilities[:-1] > 5.0).all()
    assert (np.diff(solution.checked_at) > 0).all()
    assert solver.run(seconds=0.05).seconds >= 0.05


def test_ctrl_c_keeps_what_is_done(monkeypatch):
    solver = RiverSolver(BOARD, ranges=RANGES, **TERMS)
    solver.run(10)
    iterate = solver._iterate

    def stopped(count):
        iterate(count)
        if count and solver.iteration == 20:
            raise KeyboardInterrupt

    monkeypatch.setattr(solver, "_iterate", stopped)
    with pytest.raises(Interrupted, match="after 20 iterations") as caught:
        solver.run(1000)
    assert caught.value.finished["equilibrium"].iterations == 20
    assert solver.run(5).iterations == 25


def test_a_saved_solution_is_read_back(tmp_path):
    solution = RiverSolver(BOARD, ranges=RANGES, **TERMS).run(30)
    solution.save(tmp_path / "river.npz")
    again = EndgameSolution.load(tmp_path / "river.npz")
    assert again.strategy("check, bet 100", "JcTc") == solution.strategy("check, bet 100", "JcTc")
    assert again.exploitability == pytest.approx(solution.exploitability, rel=1e-9)
    assert (again.method, again.iterations) == ("dcfr", 30)
    np.testing.assert_array_equal(again.exploitabilities, solution.exploitabilities)
    stored = np.load(tmp_path / "river.npz")
    row = stored["hands_1"].tolist().index("TcJc")
    column = stored["moves_1"].tolist().index("bet 100")
    assert stored["strategy_1"][row, column] == solution.strategy("", "JcTc")["bet 100"]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"strategy_1": np.zeros((6, 4))}, "the strategy of player 1 has 25 probabilities"),
        ({"strategy_2": None}, "no array named 'strategy'"),
        ({"pot": None}, "no array named 'pot'"),
        ({"board": np.array("TsTs")}, "1 different cards"),
    ],
)
def test_a_damaged_solution_is_refused(tmp_path, changed, complaint):
    RiverSolver(BOARD, ranges=RANGES, **TERMS).run(3).save(tmp_path / "river.npz")
    arrays = dict(np.load(tmp_path / "river.npz")) | changed
    np.savez(tmp_path / "damaged.npz", **{name: values for name, values in arrays.items() if values is not None})
    with pytest.raises(InvalidInput, match=complaint):
        EndgameSolution.load(tmp_path / "damaged.npz")


def test_probabilities_that_do_not_sum_to_one_are_refused(tmp_path):
    RiverSolver(BOARD, ranges=RANGES, **TERMS).run(3).save(tmp_path / "river.npz")
    arrays = dict(np.load(tmp_path / "river.npz"))
    np.savez(tmp_path / "damaged.npz", **arrays | {"strategy_1": arrays["strategy_1"] * 1.01})
    with pytest.raises(InvalidInput, match="do not sum to 1"):
        EndgameSolution.load(tmp_path / "damaged.npz")


def test_plot_shows_the_history():
    solution = RiverSolver(BOARD, ranges=RANGES, **TERMS).run(30)
    axes = solution.plot()
    (line,) = axes.lines
    np.testing.assert_array_equal(line.get_ydata(), solution.exploitabilities)
    assert axes.get_ylabel() == "exploitability (mbb per hand)"


@pytest.mark.parametrize(
    ("line", "hand", "complaint"),
    [
        ("check, check", "AsJs", "the betting is over after 'check, check'"),
        ("check, call", "AsJs", "'call' is not possible after 'check'"),
        ("", "AhKh", "player 1 cannot hold AhKh"),
        ("check", "AsJs", "player 2 cannot hold AsJs"),
        ("", "AsJ", "'AsJ' is not a hand"),
    ],
)
def test_an_impossible_question_is_refused(line, hand, complaint):
    solution = RiverSolver(BOARD, ranges=RANGES, **TERMS).run(1)
    with pytest.raises(InvalidInput, match=complaint):
        solution.strategy(line, hand)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"method": "cfr++"}, "no CFR method is named 'cfr\\+\\+'"),
        ({"averaging": "cubic"}, "no average is named 'cubic'"),
        ({"averaging": -1.0}, "at least 0"),
        ({"board": "Ts3h2h"}, "3 different cards"),
        ({"pot": -200}, "the pot is -200"),
        ({"bets": ()}, "expected some sizes"),
        ({"ranges": ({"AsTs": 1}, {"KK": 1})}, "no hand of player 1 can be dealt"),
    ],
)
def test_broken_endgames_are_refused_with_their_reason(changed, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        RiverSolver(**{"board": BOARD, "ranges": RANGES} | TERMS | changed)


def test_a_pot_larger_than_both_stacks_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="half the pot of 20000 is more than the stack of 9000"):
        RiverSolver.from_libratus(toy_file(tmp_path), stack=9000)


@pytest.mark.parametrize("limits", [{}, {"iterations": 0}, {"target": -1.0}, {"seconds": float("nan")}])
def test_a_run_needs_a_positive_limit(limits):
    with pytest.raises(InvalidInput):
        RiverSolver(BOARD, ranges=RANGES, **TERMS).run(**limits)


def test_comparison_measures_every_method(tmp_path):
    rows = compare_river_methods({"toy": toy_file(tmp_path)}, target=10.0, seconds=20.0)
    assert [row["method"] for row in rows] == list(METHODS)
    assert all(row["mbb"] <= 10.0 for row in rows)


@pytest.mark.skipif(not (SHARED / "data/02").is_dir(), reason="the published endgames are not here")
def test_a_libratus_endgame_is_solved_below_one_mbb():
    solution = RiverSolver.from_libratus(SHARED / "data/02/subgame4.txt").run(target=1.0, seconds=120.0)
    assert solution.exploitability < 1.0
