"""An endgame from the turn on equals the same game written out, river card by river card."""

from pathlib import Path

import numpy as np
import pytest
from tests.games.explicit_endgame import explicit_endgame, explicit_profile

from firstlight.errors import InvalidInput
from firstlight.games.cfr import CFRSolver
from firstlight.games.endgame_solution import EndgameSolution
from firstlight.games.equilibrium import certify
from firstlight.games.flat_game import FlatGame
from firstlight.games.river import RiverSolver

SHARED = Path(__file__).parents[3] / "shared"

BOARD = "Ts8h2h5c"
# Made hands, draws and blockers; for some river cards a player has no hand left.
RANGES = ({"AsAd": 1, "9h7h": 0.5, "QcJc": 0.25}, {"KsKd": 1, "Ah3h": 0.7})
TERMS = {"pot": 200, "behind": 300, "bets": (1.0, "allin"), "big_blind": 20}


@pytest.fixture(scope="module")
def written_out():
    return FlatGame.from_tree(explicit_endgame(BOARD, ranges=RANGES, **TERMS))


# When players alternate, one of them is soon indifferent somewhere, and rounding decides.
@pytest.mark.parametrize(("alternating", "iterations"), [(False, 15), (True, 3)])
@pytest.mark.parametrize("method", ["dcfr", "mi-spcfr+"])
def test_iterates_are_those_of_cfr_on_the_game_written_out(method, alternating, iterations, written_out):
    solution = RiverSolver(BOARD, ranges=RANGES, **TERMS, method=method, alternating=alternating).run(iterations)
    peer = CFRSolver(written_out, method, alternating=alternating).run(iterations)
    assert solution.exploitability * solution.game.mbb == pytest.approx(peer.exploitability, rel=1e-10)
    ours = explicit_profile(solution, written_out)
    for mine, theirs in zip(ours.plans(written_out), peer.profile.plans(written_out), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-10)


def test_certificate_is_that_of_the_game_written_out(written_out):
    solution = RiverSolver(BOARD, ranges=RANGES, **TERMS).run(100)
    peer = certify(written_out, explicit_profile(solution, written_out))
    assert solution.value == pytest.approx(peer.value, abs=1e-10)
    assert solution.certificate.exploitability == pytest.approx(peer.exploitability, abs=1e-10)
    assert solution.value_bounds == pytest.approx(peer.value_bounds, abs=1e-8)


def test_value_bounds_contain_the_linear_program(written_out):
    exact = written_out.lp_solve().value
    lowest, highest = RiverSolver(BOARD, ranges=RANGES, **TERMS).run(target=10.0).value_bounds
    assert lowest - 1e-7 <= exact <= highest + 1e-7


def test_hand_values_average_to_the_value():
    solution = RiverSolver(BOARD, ranges=RANGES, **TERMS).run(50)
    for player, sign in ((0, 1), (1, -1)):
        dealt = solution.game.weights[player] * solution.game.met[player]
        assert dealt @ solution.hand_values[player] == pytest.approx(sign * solution.value, abs=1e-9)


def test_drawing_dead_hands_lose_half_the_pot():
    # Against quads, aces that never bet lose what is in the pot and no more.
    solution = RiverSolver("8c8d8h2s", 200, 0, ({"8s7s": 1}, {"AA": 1}), big_blind=20).run(1)
    assert solution.value == pytest.approx(100)
    assert solution.hand_value(1, "AsAh") == pytest.approx(-100)


def test_a_saved_solution_is_read_back(tmp_path):
    solution = RiverSolver(BOARD, ranges=RANGES, **TERMS).run(10)
    solution.save(tmp_path / "turn.npz")
    again = EndgameSolution.load(tmp_path / "turn.npz")
    assert again.exploitability == pytest.approx(solution.exploitability, rel=1e-9)
    line, hand = "check, bet 200, call, 7d, check", "KsKd"
    assert again.strategy(line, hand) == solution.strategy(line, hand)
    stored = np.load(tmp_path / "turn.npz")
    row = np.flatnonzero((stored["river_cards_2"] == "7d") & (stored["river_hands_2"] == "KsKd"))[0]
    column = stored["river_moves_2"].tolist().index("check, bet 200, call, river, check, bet 100")
    assert stored["river_strategy_2"][row, column] == solution.strategy(line, hand)["bet 100"]


@pytest.mark.parametrize(
    ("line", "hand", "complaint"),
    [
        ("check, check", "AsAd", "a river card comes after 'check, check'; go on with it"),
        ("check, 7d", "KsKd", "no river card comes after 'check'"),
        ("bet 200, fold, 7d", "KsKd", "no river card comes after 'bet 200, fold'"),
        ("bet 200, fold", "KsKd", "the betting is over after 'bet 200, fold'"),
        ("check, check, 8h", "AsAd", "the river cannot be 8h, which is on the board"),
        ("check, check, Ad", "AsAd", "the river cannot be Ad when player 1 holds AsAd"),
        ("check, check, 7d, check, check", "AsAd", "the betting is over after 'check, check'"),
        ("check, check, 7d, bet 7", "AsAd", "'bet 7' is not possible first"),
        ("check, check, 7d", "KsKd", "player 1 cannot hold KsKd"),
    ],
)
def test_an_impossible_question_is_refused(line, hand, complaint):
    solution = RiverSolver(BOARD, ranges=RANGES, **TERMS).run(1)
    with pytest.raises(InvalidInput, match=complaint):
        solution.strategy(line, hand)


def test_a_game_beyond_the_memory_is_refused():
    everything = np.ones(1326)
    with pytest.raises(InvalidInput, match="GiB of memory"):
        RiverSolver(BOARD, 500, 19_750, (everything, everything))


@pytest.mark.skipif(not (SHARED / "data/02").is_dir(), reason="the published endgames are not here")
def test_a_libratus_turn_endgame_is_bracketed():
    solver = RiverSolver.from_libratus(SHARED / "data/02/subgame2.txt", bets=("allin",))
    solution = solver.run(100)
    assert solution.exploitability < 100
