"""A Libratus file is read as it stands; anything else is refused with the line."""

from pathlib import Path

import numpy as np
import pytest

from firstlight.errors import InvalidInput
from firstlight.games.libratus_files import read_libratus

SHARED = Path(__file__).parents[3] / "shared" / "data" / "02"


def lines(**changed):
    """The lines of a small valid file, some of them changed; None leaves one out."""
    reach = np.linspace(0, 1, 2652)
    entries = {
        "round": "-round 4",
        "board": "-board 4s8hTc9h2s",
        "pot": "-pot 500",
        "reach": "-reach " + " ".join(map(repr, reach.tolist())),
    } | changed
    return [line for line in entries.values() if line is not None]


def test_a_file_is_read_as_it_stands(tmp_path):
    path = tmp_path / "river.txt"
    path.write_text("\n".join(lines()) + "\n")
    endgame = read_libratus(path)
    assert (endgame.board, endgame.pot) == ("4s8hTc9h2s", 500)
    np.testing.assert_array_equal(endgame.reach.ravel(), np.linspace(0, 1, 2652))


REACH = " ".join(["0.5"] * 2652)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"round": "-round 3"}, "line 2: -board has 5 cards, but -round says that 4 are out"),
        ({"round": "-round 2"}, "line 1: -round is '2'; expected 3"),
        ({"round": "-round five"}, "line 1: -round is 'five'; expected 3"),
        ({"round": None}, "no entry -round"),
        ({"board": "-board 4s8hTc9h"}, "line 2: -board has 4 cards, but -round says that 5 are out"),
        ({"board": "-board 4s8hTc9h4s"}, "line 2: .*4 different cards"),
        ({"board": "-board 4s8hTc9hXx"}, "line 2: .*'Xx' is not a card"),
        ({"pot": "-pot zero"}, "line 3: number 1 of -pot is 'zero'"),
        ({"pot": "-pot 0"}, "line 3: the pot is 0"),
        ({"pot": "-pot -5"}, "line 3: number 1 of -pot is '-5'"),
        ({"pot": "-pot 5 6"}, "line 3: -pot has 2 numbers, expected 1"),
        ({"reach": "-reach 1 2 3"}, "line 4: -reach has 3 numbers, expected 2,652"),
        ({"reach": f"-reach nan {REACH[4:]}"}, "line 4: number 1 of -reach is 'nan'"),
        ({"reach": f"-reach {REACH[:-3]}inf"}, "line 4: number 2652 of -reach is 'inf'"),
        ({"reach": f"-reach {REACH[:-3]}-.1"}, "line 4: number 2652 of -reach is '-.1'"),
        ({"more": "-pot 500"}, "line 5: -pot was already given in line 3"),
        ({"more": "-stack 20000"}, "line 5: '-stack' is no entry"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path, changed, complaint):
    path = tmp_path / "river.txt"
    path.write_text("\n".join(lines(**changed)))
    with pytest.raises(InvalidInput, match=complaint):
        read_libratus(path)


def test_what_is_no_text_or_no_file_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="cannot read"):
        read_libratus(tmp_path / "missing.txt")
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)))
    with pytest.raises(InvalidInput, match="not a text file"):
        read_libratus(tmp_path / "binary.txt")
    (tmp_path / "large.txt").write_bytes(b"-" * (2**20 + 1))
    with pytest.raises(InvalidInput, match="over 1,048,576 bytes"):
        read_libratus(tmp_path / "large.txt")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published endgames are not here")
def test_the_published_endgames_are_read():
    endgame = read_libratus(SHARED / "subgame3.txt")
    assert (endgame.board, endgame.pot) == ("4s8hTc9h2s", 500)
    assert [np.count_nonzero(row) for row in endgame.reach] == [1033, 1059]
    assert read_libratus(SHARED / "subgame1.txt").board == "7s9h9cTc"
