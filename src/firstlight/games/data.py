"""Games to solve: matrices from files and from seeds, and the benchmark games of the field."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from firstlight.errors import InvalidInput
from firstlight.games.gambit_files import read_nfg
from firstlight.games.matrix_payoffs import checked_matrix

# The 3 × 3 game on which predictive regret matching⁺ converges slowly (Farina et al. 2023), solved in
# MI-SPRM⁺'s first table. The row player pays; its value is 1/4.
SLOW_GAME = np.array([[3.0, 0.0, -3.0], [0.0, 3.0, -4.0], [0.0, 0.0, 1.0]])

# Eight extensive-form games, by title: their names in OpenSpiel and the parameters they are loaded with. They are those
# of Xu et al. (2024) and Meng et al. (2026) that OpenSpiel describes with perfect recall.
_HIDDEN = {"imp_info": True, "returns_type": "win_loss"}
BENCHMARK_GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "Kuhn poker": ("kuhn_poker", {}),
    "Leduc poker": ("leduc_poker", {}),
    "Liar's dice 4": ("liars_dice", {"dice_sides": 4}),
    "Liar's dice 5": ("liars_dice", {"dice_sides": 5}),
    "Goofspiel 4": ("goofspiel", {"num_cards": 4, "points_order": "descending", **_HIDDEN}),
    "Goofspiel 4, random order": ("goofspiel", {"num_cards": 4, "points_order": "random", **_HIDDEN}),
    "Goofspiel 5": ("goofspiel", {"num_cards": 5, "points_order": "descending", **_HIDDEN}),
    "Battleship 2 × 2": (
        "battleship",
        {
            "board_width": 2,
            "board_height": 2,
            "ship_sizes": "[2]",
            "ship_values": "[2]",
            "num_shots": 3,
            "allow_repeated_shots": False,
        },
    ),
}


def random_matrix_game(dimension: int, std: float = 1.0, seed: int = 0) -> Float64[np.ndarray, "dimension dimension"]:
    """Return a square game of independent Gaussian payoffs with mean 0.

    Parameters
    ----------
    dimension : number of actions of each player.
    std : standard deviation of the payoffs; games of one seed differ by this factor alone.
    seed : which game.
    """
    if dimension < 1:
        raise InvalidInput(f"a game needs at least one action for each player, got dimension {dimension}")
    if not 0.0 < std < np.inf:
        raise InvalidInput(f"the standard deviation of payoffs must be positive and finite, got {std}")
    return std * np.random.default_rng([dimension, seed]).standard_normal((dimension, dimension))


def read_payoffs(path: str | Path) -> Float64[np.ndarray, "rows columns"]:
    """Read what the row player loses, and the column player wins, from a file.

    Parameters
    ----------
    path : a ``.csv`` of numbers, one row of the matrix per line (blank lines and lines that start with # are skipped);
        a ``.npy`` array; or a ``.nfg`` of Gambit with two players and constant payoff sum. In the last, payoffs are
        those of player 1, who picks the row and maximises, so the matrix is their negative.

    Returns
    -------
    The matrix, as `solve_matrix_game` takes it.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or does not hold a rectangular matrix of finite real numbers.
    """
    path = Path(path)
    readers = {".csv": _read_csv, ".npy": _read_npy, ".nfg": _read_nfg}
    if path.suffix.lower() not in readers:
        raise InvalidInput(f"cannot read payoffs from {path}: expected a file ending in {', '.join(readers)}")
    if not path.is_file():
        raise InvalidInput(f"cannot read payoffs from {path}: there is no such file")
    payoffs = readers[path.suffix.lower()](path)
    try:
        return checked_matrix(payoffs)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error


def _read_csv(path: Path) -> np.ndarray:
    rows: list[list[float]] = []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file)
            for cells in lines:
                if not any(map(str.strip, cells)) or cells[0].lstrip().startswith("#"):
                    continue
                rows.append([_number(cell, path, lines.line_num) for cell in cells])
                if len(rows[-1]) != len(rows[0]):
                    raise InvalidInput(
                        f"{path}, line {lines.line_num}: expected {len(rows[0])} payoffs as in the rows above, "
                        f"found {len(rows[-1])}"
                    )
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path} is not a text file of comma-separated numbers: {error}") from error
    if not rows:
        raise InvalidInput(f"{path} holds no payoffs; write one row of the matrix per line, separated by commas")
    return np.array(rows)


def _number(cell: str, path: Path, line: int) -> float:
    try:
        return float(cell)
    except ValueError:
        raise InvalidInput(
            f"{path}, line {line}: expected numbers separated by commas, found {cell.strip()!r}"
        ) from None


def _read_npy(path: Path) -> np.ndarray:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InvalidInput(f"{path} is not a readable .npy file of plain numbers: {error}") from error


def _read_nfg(path: Path) -> np.ndarray:
    return 0.0 - read_nfg(path).payoffs
