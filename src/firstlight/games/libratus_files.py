"""Reads the endgame files that the Libratus poker AI left behind (Brown & Sandholm 2018).

A file has the entries ``-round`` (3 turn, 4 river), ``-board`` (cards in a row), ``-pot`` (chips, half from each
player) and ``-reach``: 2,652 numbers, the probability of getting here with each of the 1,326 hands, first of the
player who acts first, then of the button. Hands stand in the order of `hand_ranges.HAND_NAMES`.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float64

from firstlight.errors import InvalidInput
from firstlight.games.hand_ranges import HAND_NAMES, read_board

_MAX_BYTES = 2**20  # thirty times the size of the published files


@dataclass(frozen=True)
class LibratusEndgame:
    """What a file says.

    Attributes
    ----------
    board : the cards on the table, as written: four on the turn, five on the river.
    pot : chips in the middle, half from each player.
    reach : one row per player, the one who acts first in row 0.
    """

    board: str
    pot: float
    reach: Float64[np.ndarray, "2 1326"]


def read_libratus(path: str | Path) -> LibratusEndgame:
    """Read a Libratus endgame.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or an entry is missing, given twice or malformed; the text names the line.
    """
    path = Path(path)
    entries = _entries(path)
    line, values = entries["-round"]
    if values not in (["3"], ["4"]):
        raise InvalidInput(f"{path}, line {line}: -round is {' '.join(values)!r}; expected 3 (turn) or 4 (river)")
    n_cards = 1 + int(values[0])

    line, values = entries["-board"]
    board = "".join(values)
    try:
        cards = read_board(board)
    except InvalidInput as error:
        raise InvalidInput(f"{path}, line {line}: {error}") from None

    if len(cards) != n_cards:
        raise InvalidInput(
            f"{path}, line {line}: -board has {len(cards)} cards, but -round says that {n_cards} are out"
        )

    line, values = entries["-pot"]
    pot = _numbers(path, line, "-pot", values, expected=1)
    if pot[0] == 0:
        raise InvalidInput(f"{path}, line {line}: the pot is 0; expected a positive number of chips")

    line, values = entries["-reach"]
    reach = _numbers(path, line, "-reach", values, expected=2 * len(HAND_NAMES))
    return LibratusEndgame(board, float(pot[0]), reach.reshape(2, len(HAND_NAMES)))


def _entries(path: Path) -> dict[str, tuple[int, list[str]]]:
    """Line number and words of each entry."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InvalidInput(f"{path} has over {_MAX_BYTES:,} bytes; that is no Libratus endgame file")
        text = path.read_text(encoding="ascii")
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not a text file; expected a Libratus endgame (-round, -board, …)") from error
    entries: dict[str, tuple[int, list[str]]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, *values = line.split()
        if name not in {"-round", "-board", "-pot", "-reach"}:
            raise InvalidInput(
                f"{path}, line {number}: {name[:20]!r} is no entry of a Libratus endgame; "
                "expected -round, -board, -pot or -reach"
            )
        if name in entries:
            raise InvalidInput(f"{path}, line {number}: {name} was already given in line {entries[name][0]}")
        entries[name] = (number, values)
    missing = {"-round", "-board", "-pot", "-reach"} - entries.keys()
    if missing:
        raise InvalidInput(f"{path} has no entry {', '.join(sorted(missing))}; is it a Libratus endgame file?")
    return entries


def _numbers(path: Path, line: int, name: str, values: list[str], expected: int) -> Float64[np.ndarray, " numbers"]:
    """The words of an entry as finite numbers, at least 0."""
    if len(values) != expected:
        raise InvalidInput(f"{path}, line {line}: {name} has {len(values):,} numbers, expected {expected:,}")
    numbers = np.empty(expected)
    for place, word in enumerate(values):
        try:
            numbers[place] = float(word)
        except ValueError:
            numbers[place] = np.nan
        if not (np.isfinite(numbers[place]) and numbers[place] >= 0):
            raise InvalidInput(
                f"{path}, line {line}: number {place + 1} of {name} is {word!r}; expected a finite number, at least 0"
            )
    return numbers
