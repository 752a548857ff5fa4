import numpy as np
import pyspiel
import pytest

from firstlight.errors import InvalidInput
from firstlight.games import FlatGame, read_payoffs, solve_matrix_game
from firstlight.games.data import BENCHMARK_GAMES, SLOW_GAME, random_matrix_game

MATRIX = np.array([[1.0, -2.5, 0.0], [1e-3, 4.0, -1e19]])
CONSTANT_SUM = 'NFG 1 R "Both get two" { "Ann" "Bo" } { 2 3 }\n\n3 -1  1 1  0 2  5 -3  2 0  2 0\n'


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_slow_game_has_value_one_quarter():
    lower, upper = solve_matrix_game(SLOW_GAME, "lp").value_bounds
    assert lower <= 0.25 <= upper
    assert upper - lower < 1e-12


@pytest.mark.parametrize("title", BENCHMARK_GAMES)
def test_benchmark_games_load_and_are_small_enough_to_measure(title):
    game = pyspiel.load_game(*BENCHMARK_GAMES[title])
    assert game.num_players() == 2
    assert game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
    flat = FlatGame.from_openspiel(game)
    assert 50 < len(flat.tree) < 60_000


def test_there_are_eight_benchmark_games_and_no_two_are_the_same():
    games = {str(pyspiel.load_game(*game)) for game in BENCHMARK_GAMES.values()}
    assert len(games) == len(BENCHMARK_GAMES) == 8


def test_random_games_come_from_their_seed():
    game = random_matrix_game(40, seed=1)
    np.testing.assert_array_equal(game, random_matrix_game(40, seed=1))
    np.testing.assert_array_equal(64.0 * game, random_matrix_game(40, std=64.0, seed=1))
    assert not np.isclose(game, random_matrix_game(40, seed=2)).any()
    assert game.std() == pytest.approx(1.0, abs=0.1)
    assert game.mean() == pytest.approx(0.0, abs=0.1)


@pytest.mark.parametrize("arguments", [{"dimension": 0}, {"dimension": 3, "std": 0.0}, {"dimension": 3, "std": np.inf}])
def test_refuses_random_games_of_no_size_or_no_spread(arguments):
    with pytest.raises(InvalidInput):
        random_matrix_game(**arguments)


def test_reads_csv_and_npy_as_written(tmp_path):
    np.savetxt(tmp_path / "game.csv", MATRIX, delimiter=",", fmt="%.17g", header="loss of the row player")
    np.save(tmp_path / "game.npy", MATRIX)
    np.testing.assert_array_equal(read_payoffs(tmp_path / "game.csv"), MATRIX)
    np.testing.assert_array_equal(read_payoffs(str(tmp_path / "game.npy")), MATRIX)


def test_csv_may_have_blanks_and_come_from_a_spreadsheet(tmp_path):
    path = written(tmp_path / "game.csv", "\ufeff1, 2\r\n\r\n 3 ,-4e0\r\n")
    np.testing.assert_array_equal(read_payoffs(path), [[1.0, 2.0], [3.0, -4.0]])


def test_gambit_payoffs_become_losses_of_player_1(tmp_path):
    # In the file the rows of player 1 run fastest.
    payoffs = read_payoffs(written(tmp_path / "game.nfg", CONSTANT_SUM))
    np.testing.assert_array_equal(payoffs, [[-3.0, 0.0, -2.0], [-1.0, -5.0, -2.0]])
    lower, upper = solve_matrix_game(payoffs, "lp").value_bounds
    assert lower <= -2.0 <= upper


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2\n3\n", "line 2: expected 2 payoffs as in the rows above, found 1"),
        ("1,2\n3,4,5\n", "line 2: expected 2 payoffs as in the rows above, found 3"),
        ("1,2\n\n3,nan\n", "found nan at row 1, column 1"),
        ("1,inf\n", "found inf at row 0, column 1"),
        ("rock,paper\n1,2\n", "line 1: expected numbers separated by commas, found 'rock'"),
        ("1;2\n3;4\n", "found '1;2'"),
        ("# only a title\n\n", "holds no payoffs"),
        ("", "holds no payoffs"),
    ],
)
def test_refuses_broken_csv_naming_the_place(tmp_path, text, words):
    path = written(tmp_path / "game.csv", text)
    with pytest.raises(InvalidInput, match=words) as error:
        read_payoffs(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array([1.0, 2.0]), "two dimensions"),
        (np.array([[1.0, np.nan]]), "found nan at row 0, column 1"),
        (np.array([[1j]]), "complex128"),
        (np.array([["a"]]), "real numbers"),
        (np.zeros((3, 0)), "at least one action"),
    ],
)
def test_refuses_arrays_that_are_no_game(tmp_path, array, words):
    np.save(tmp_path / "game.npy", array)
    with pytest.raises(InvalidInput, match=words):
        read_payoffs(tmp_path / "game.npy")


def test_unpickles_nothing(tmp_path):
    np.save(tmp_path / "game.npy", np.array([[print]]), allow_pickle=True)
    with pytest.raises(InvalidInput, match=r"not a readable \.npy file"):
        read_payoffs(tmp_path / "game.npy")


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"\x00\xff" * 20])
@pytest.mark.parametrize("ending", [".npy", ".csv", ".nfg"])
def test_refuses_unreadable_files(tmp_path, content, ending):
    path = tmp_path / f"game{ending}"
    path.write_bytes(content)
    with pytest.raises(InvalidInput):
        read_payoffs(path)


def test_refuses_missing_files_and_other_endings(tmp_path):
    with pytest.raises(InvalidInput, match="no such file"):
        read_payoffs(tmp_path / "game.csv")
    with pytest.raises(InvalidInput, match=r"ending in \.csv, \.npy, \.nfg"):
        read_payoffs(written(tmp_path / "game.txt", "1,2"))
