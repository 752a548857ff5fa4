import re
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.games.same_trees import same_tree

from firstlight.errors import InvalidInput
from firstlight.games.flat_game import FlatGame
from firstlight.games.gambit_files import read_efg, read_nfg, write_efg
from firstlight.games.game_tree import CHANCE, TreeBuilder
from firstlight.games.openspiel_games import read_openspiel

SHARED = Path(__file__).parents[3] / "shared" / "cases" / "02"


# --- Writing trees ----------------------------------------------------------------------------------------------

# Anything but halves of surrogate pairs, and the pictures of characters that stand for those characters.
LABELS = st.text(
    st.characters(
        exclude_categories=["Cs"], exclude_characters=[chr(code) for code in (*range(0x2400, 0x2422), 0x29F5)]
    ),
    max_size=6,
)
PAYOFFS = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e100, 1e100))


def grown_tree(draw):
    """Small trees with shared information sets, odd labels and uneven chances."""
    builder = TreeBuilder(draw(LABELS), draw(PAYOFFS))
    names = [draw(st.lists(LABELS.filter(bool), min_size=3, max_size=3, unique=True)) for _ in range(2)]
    moves = [draw(st.lists(st.lists(LABELS, min_size=1, max_size=3), min_size=3, max_size=3)) for _ in range(2)]
    to_do = [(-1, 0, 1.0)]
    while to_do:
        parent, action, probability = to_do.pop()
        mover = draw(st.sampled_from(["leaf", "chance", 0, 1])) if len(builder) < 12 else "leaf"
        if mover == "leaf":
            builder.leaf(draw(PAYOFFS), parent, action, probability)
            continue
        if mover == "chance":
            weights = draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=4).filter(any))
            chances = [float(Fraction(weight, sum(weights))) for weight in weights]
            node = builder.chance(parent, action, probability)
        else:
            key = draw(st.integers(0, 2))
            chances = [1.0] * len(moves[mover][key])
            place = builder.place(mover, key, names[mover][key], moves[mover][key])
            node = builder.decision(mover, place, parent, action, probability)
        to_do.extend(reversed([(node, move, chance) for move, chance in enumerate(chances)]))
    return builder.finish()


@settings(max_examples=100)
@given(st.data())
def test_written_tree_is_read_back_to_the_bit(tmp_path_factory, data):
    tree = grown_tree(data.draw)
    path = tmp_path_factory.mktemp("written") / "game.efg"
    write_efg(tree, path)
    same_tree(read_efg(path), tree)


GAMES = [
    "kuhn_poker",
    "leduc_poker",
    "liars_dice(dice_sides=4)",
    "goofspiel(imp_info=True,num_cards=4,points_order=descending)",
]


def openspiel_tree(name):
    pytest.importorskip("pyspiel")
    return read_openspiel(name)


@pytest.mark.parametrize("name", GAMES)
def test_written_numbers_are_exact(name, tmp_path):
    tree = openspiel_tree(name)
    write_efg(tree, tmp_path / "game.efg")
    text = (tmp_path / "game.efg").read_text()
    events = re.findall(r"^c .*\{ (.*) \} 0$", text, re.MULTILINE)
    assert len(events) == np.count_nonzero(tree.player == CHANCE)
    assert all(sum(map(Fraction, re.findall(r'" (\S+)', event))) == 1 for event in events)
    payoffs = re.findall(r"^t .*\{ (\S+), (\S+) \}$", text, re.MULTILINE)
    assert payoffs
    assert all(Fraction(first) + Fraction(second) == 0 for first, second in payoffs)


@pytest.mark.parametrize("name", GAMES)
def test_openspiel_games_are_read_back_to_the_bit(name, tmp_path):
    tree = openspiel_tree(name)
    write_efg(tree, tmp_path / "game.efg")
    same_tree(read_efg(tmp_path / "game.efg"), tree)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_openspiel_reads_what_we_write(name, tmp_path):
    pyspiel = pytest.importorskip("pyspiel")
    tree = read_openspiel(name)
    write_efg(tree, tmp_path / "game.efg")
    read_there = read_openspiel(pyspiel.load_efg_game((tmp_path / "game.efg").read_text()))
    for array in ("parent", "player", "information_set", "action", "probability", "payoff"):
        np.testing.assert_array_equal(getattr(read_there, array), getattr(tree, array))


@pytest.mark.parametrize("name", GAMES)
def test_gambit_reads_what_we_write(name, tmp_path):
    # Gambit refuses chance probabilities that do not sum to exactly one, and awkward labels.
    pygambit = pytest.importorskip("pygambit", minversion="17.0.0b2")
    tree = openspiel_tree(name)
    write_efg(tree, tmp_path / "game.efg")
    game = pygambit.read_efg(tmp_path / "game.efg")
    assert game.is_const_sum
    assert len(game.get_events()) == np.count_nonzero(tree.player == CHANCE)
    if name == "kuhn_poker":
        exact = pygambit.nash.lp_solve(game).equilibrium.payoffs["Player 1"]
        assert exact == Fraction(-1, 18)
        assert FlatGame.from_tree(tree).lp_solve().value == pytest.approx(float(exact), abs=1e-12)


def test_awkward_names_are_written_as_pictures_and_quotes_escaped(tmp_path):
    builder = TreeBuilder('A "small" game')
    builder.decision(0, builder.place(0, "only", " board:\n x\\ \t", ['say "no"']))
    builder.leaf(0.5, 0)
    write_efg(builder.finish(), tmp_path / "game.efg")
    assert (tmp_path / "game.efg").read_text(encoding="utf-8") == (
        'EFG 2 R "A \\"small\\" game" { "Player 1" "Player 2" }\n""\n\n'
        'p "" 1 1 "␠board:␊ x⧵ ␉" { "say \\"no\\"" } 0\n'
        't "" 1 "" { 1/2, -1/2 }\n'
    )
    same_tree(read_efg(tmp_path / "game.efg"), builder.finish())


def test_both_payoffs_sum_to_the_constant(tmp_path):
    builder = TreeBuilder("", payoff_sum=1 / 3)
    builder.decision(1, builder.place(1, 0, "set", ["a", "b"]))
    builder.leaf(0.1, 0, 0)
    builder.leaf(1e100, 0, 1)
    write_efg(builder.finish(), tmp_path / "game.efg")
    assert "{ 1/10, 7/30 }" in (tmp_path / "game.efg").read_text()
    same_tree(read_efg(tmp_path / "game.efg"), builder.finish())


def test_failed_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "game.efg"
    path.write_text("old")
    builder = TreeBuilder()
    builder.leaf(1.0)
    broken = builder.finish()
    broken = type(broken)(**{**vars(broken), "parent": np.array([5], np.int32)})
    with pytest.raises(InvalidInput):
        write_efg(broken, path)
    assert [file.name for file in tmp_path.iterdir()] == ["game.efg"]
    assert path.read_text() == "old"
    with pytest.raises(InvalidInput, match=r"the folder .* does not exist"):
        write_efg(builder.finish(), tmp_path / "nowhere" / "game.efg")


# --- Payoff tables ----------------------------------------------------------------------------------------------


@pytest.fixture
def read_table(tmp_path):
    """Write a text to a file and read it as a payoff table."""

    def write_and_read(text):
        (tmp_path / "game.nfg").write_text(text)
        return read_nfg(tmp_path / "game.nfg")

    return write_and_read


def test_strategies_of_the_first_player_run_fastest(read_table):
    table = read_table('NFG 1 R "Three by two" { "A" "B" } { 3 2 } 1 -1  2 -2  3 -3  4 -4  5 -5  6 -6')
    assert table.payoffs.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert (table.payoff_sum, table.title) == (0, "Three by two")


def test_numbered_outcomes_fill_the_table(read_table):
    table = read_table(
        'NFG 1 D "" { "A" "B" }\n{ { "u" "m" "d" } { "l" "r" } }\n"A \\"comment\\""\n'
        '{ { "win" 1, 0 } { "lose" 0 1 } { 1/3, 2/3 } }\n1 2 3 2 1 1\n'
    )
    assert table.payoffs.tolist() == [[1, 0], [0, 1], [1 / 3, 1]]
    assert table.payoff_sum == 1


def test_outcome_zero_of_a_table_pays_nothing(read_table):
    assert read_table('NFG 1 R "" { "A" "B" } { 1 2 } { { "" 1.5 -3/2 } } 0 1').payoffs.tolist() == [[0, 1.5]]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{ 2 2 } 1 -1 0 0 0 0", "expected 2 × 2 = 4 cells, one for each pair of strategies, found 3"),
        ("{ 1 1 } 1 -1 0 0", "expected 1 × 1 = 1 cells, .* found 2"),
        ("{ 1 1 } 1 -1 0", "expected two payoffs in each cell, found 3"),
        ("{ 999999999 999999999 } 1 -1", "= 999999998000000001 cells"),
        ("{ 1 2 } 1 1 1 -1", "payoffs sum to 2 for strategies .1, 1. and to 0 for strategies .1, 2."),
        ("{ 1 0 } 1 1", "at least one strategy for each of 2 players"),
        ("{ 1 1 1 } 1 1", "at least one strategy for each of 2 players, found .1, 1, 1."),
        ("{ 1 1 } nan 1", "line 1: expected a payoff, a finite number .*'nan'"),
        ('{ 1 1 } 1 -1 "end"', 'found the label "end"'),
        ('{ 1 1 } { { "" 1 -1 } } 2', "outcome 2 not defined; the file gives outcomes 1 to 1"),
        ('{ 1 1 } { { "" 1 -1 } 1', "expected an outcome in { } or the }"),
        ('{ 1 1 } { { "" 1 } } 1', "expected a payoff for each of 2 players, found 1"),
        ("{ 1 1 ", "a number of strategies .* found the end of the file"),
    ],
)
def test_faulty_table_is_refused(read_table, body, message):
    with pytest.raises(InvalidInput, match=message):
        read_table('NFG 1 R "" { "A" "B" } ' + body)


def test_table_of_three_players_or_another_kind_is_refused(read_table):
    with pytest.raises(InvalidInput, match="line 1: the game has 3 players"):
        read_table('NFG 1 R "" { "A" "B" "C" } { 1 1 1 } 0 0 0')
    with pytest.raises(InvalidInput, match="it is a game tree"):
        read_table('EFG 2 R "" { "A" "B" } t 0')


# --- Damaged and published files --------------------------------------------------------------------------------

SAMPLE = (
    'EFG 2 R "Sample" { "A" "B" } "with \\"all\\" kinds of words"\n'
    'c "deal" 1 "" { "x" 1/3 "y" 0.5 "z" 1/6 } 1 "ante" { -1, 1 }\n'
    'p "" 1 1 "A" { "bet" "fold" } 0\n'
    'p "" 2 1 "B" { "call" "fold" } 2 "" { 1e0 -1 }\nt "" 3 "" { 2 -2 }\nt "" 0\nt "" 0\n'
    'p "" 1 1 0\np "" 2 1 0\nt "" 3\nt "" 0\nt "" 0\nt "" 2\n'
)
SAMPLE_TABLE = (
    'NFG 1 R "Sample" { "A" "B" }\n{ { "a" "b" } { "c" "d" "e" } }\n"comment"\n'
    '{ { "x" 1, -1 } { "" 1/2 -0.5 } }\n1 2 0 1 2 0\n'
)


@st.composite
def damaged(draw, text):
    """A text with pieces cut out, doubled or put in."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 40)))
        piece = draw(
            st.sampled_from(
                ["", text[start:stop] * 2, '"', "{", "}", "\\", "/0", "e", "-", "0", "9" * 400, " t ", "\0"]
            )
        )
        text = text[:start] + piece + text[stop:]
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


@settings(max_examples=300)
@given(damaged(SAMPLE), damaged(SAMPLE_TABLE), st.booleans())
def test_damaged_files_are_refused_in_one_line_or_read(tmp_path_factory, text, table, normalise):
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "game.efg").write_text(text)
    (folder / "game.nfg").write_text(table)
    for reader in (lambda: read_efg(folder / "game.efg", normalise=normalise), lambda: read_nfg(folder / "game.nfg")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                reader()
            except InvalidInput as refusal:
                complaint = str(refusal)
            else:
                continue
            assert "\n" not in complaint


PUBLISHED = {
    "4cards": 23 / 24,
    "nim": -1,
    "poker": 1 / 3,
    "ttt": 0,
    "two_player_perfect_info_win_lose_with_nonterm_outcomes": 1,
    "zerosum_efg_from_sequence_form_STOC94_paper": 13,
}


def published(name):
    path = SHARED / "gambit" / name
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    return path


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_trees_have_their_known_values(name):
    tree = read_efg(published(f"{name}.efg"))
    assert tree.payoff_sum == (2 if name == "4cards" else 0)
    assert FlatGame.from_tree(tree).lp_solve().value == pytest.approx(PUBLISHED[name], abs=1e-9)


def test_published_payoffs_of_twenty_digits_do_not_overflow():
    assert read_efg(published("large_payoff_game.efg")).payoff.max() == 1e19


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tim.efg", "not a constant-sum game"),
        ("km6.efg", "not a constant-sum game"),
        ("yamamoto.nfg", "not a constant-sum game"),
        ("perfect3.nfg", "3 players"),
    ],
)
def test_published_games_of_other_kinds_are_refused(name, message):
    with pytest.raises(InvalidInput, match=message):
        (read_efg if name.endswith("efg") else read_nfg)(published(name))


def test_published_tables():
    assert read_nfg(published("const_sum_game.nfg")).payoffs.tolist() == [[1, 1], [0, 1]]
    assert read_nfg(published("const_sum_game.nfg")).payoff_sum == 2
    assert not read_nfg(published("zero.nfg")).payoffs.any()
