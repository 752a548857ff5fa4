import warnings

import numpy as np
import pytest
from tests.games.same_trees import same_tree

from firstlight.errors import InvalidInput
from firstlight.games.flat_game import FlatGame
from firstlight.games.gambit_files import read_efg, write_efg
from firstlight.games.game_tree import CHANCE, TERMINAL
from firstlight.games.openspiel_games import read_openspiel

HEADER = 'EFG 2 R "A game" { "Ann" "Ben" }\n""\n\n'


@pytest.fixture
def read(tmp_path):
    """Write a text (or bytes) to a file and read it as a game tree."""

    def write_and_read(text, **options):
        path = tmp_path / "game.efg"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_efg(path, **options)

    return write_and_read


def value(tree):
    return FlatGame.from_tree(tree).lp_solve().value


# --- What trees say ---------------------------------------------------------------------------------------------


def test_nodes_of_all_kinds_become_arrays(read):
    tree = read(
        HEADER
        + """c "" 1 "coin" { "heads" 1/3 "tails" 2/3 } 0
        p "" 1 7 "seen heads" { "stay" "leave" } 0
        t "" 1 "won" { 2, -2 }
        t "" 2 "even" { 0, 0 }
        p "" 2 7 "not seen" { "up" "middle" "down" } 0
        t "" 2 t "" 1 t "" 3 "lost" { -1/4, 0.25 }"""
    )
    assert tree.title == "A game"
    assert tree.parent.tolist() == [-1, 0, 1, 1, 0, 4, 4, 4]
    assert tree.player.tolist() == [CHANCE, 0, TERMINAL, TERMINAL, 1, TERMINAL, TERMINAL, TERMINAL]
    assert tree.action.tolist() == [0, 0, 0, 1, 1, 0, 1, 2]
    assert tree.probability.tolist() == [1, 1 / 3, 1, 1, 2 / 3, 1, 1, 1]
    assert tree.payoff.tolist() == [0, 0, 2, 0, 0, 0, 2, -0.25]
    assert [known.name for known in tree.information_sets[0]] == ["seen heads"]
    assert tree.information_sets[1][0].actions == ("up", "middle", "down")


def test_payoffs_on_inner_nodes_add_up_along_the_path(read):
    # Ante 1 each. A bet puts one more in; outcome 9 is used twice, one leaf has no outcome of its own.
    tree = read(
        HEADER
        + """c "" 1 "" { "good" 1/2 "bad" 1/2 } 1 "ante" { -1, 1 }
        p "" 1 1 "good" { "bet" "fold" } 0
        p "" 2 1 "bet" { "call" "fold" } 9 "bet" { -1, 1 }
        t "" 2 "pot of 4" { 4, -4 }
        t "" 3 "pot of 3" { 3, -3 }
        t "" 0
        p "" 1 2 "bad" { "bet" "fold" } 0
        p "" 2 1 "bet" { "call" "fold" } 9
        t "" 0
        t "" 3
        t "" 0"""
    )
    assert tree.payoff[tree.player == TERMINAL].tolist() == [2, 1, -1, -2, 1, -1]
    # Ann bets every good card and a third of the bad ones; Ben calls two times in three.
    assert value(tree) == pytest.approx(1 / 3)


def test_neutral_outcome_on_an_inner_node_changes_nothing(read):
    pennies = """p "" 1 1 "" { "H" "T" } 0
        p "" 2 1 "" { "H" "T" } %s
        t "" 1 "" { 1, -1 }  t "" 2 "" { -1, 1 }
        p "" 2 1 0  t "" 2  t "" 1"""
    plain, neutral = read(HEADER + pennies % "0"), read(HEADER + pennies % '3 "" { 0, 0 }')
    same_tree(plain, neutral)
    assert value(neutral) == pytest.approx(0)


def test_labels_may_be_left_out_and_contents_given_once(read):
    full = """c "root" 1 "coin" { "a" 1/4 "b" 3/4 } 0
        p "x" 1 1 "" { "l" "r" } 0  t "y" 1 "" { 1, -1 }  t "z" 2 "" { -2, 2 }
        c "" 1 "coin" { "a" 1/4 "b" 3/4 } 0  t "" 1 "" { 1, -1 }
        p "x" 1 1 "" { "l" "r" } 0  t "" 1 "" { 1, -1 }  t "" 2 "" { -2, 2 }"""
    short = """c 1 { "a" 1/4 "b" 3/4 } 0  p 1 1 { "l" "r" } 0  t 1 { 1 -1 }  t 2 { -2 2 }
        c 1 0  t 1  p 1 1 0  t 1  t 2"""
    same_tree(read(HEADER + full), read('EFG 2 D "A game" { "" "" } ' + short))


def test_numbers_are_read_exactly(read):
    # 0.1 + 0.2 is not 0.3 in floating point; 1/3 + 1/6 is 1/2; the last integer does not fit into 64 bits.
    tree = read(
        HEADER
        + """p "" 1 1 "" { "1" "2" "3" "4" "5" "6" } 1 "" { 0.1, -1/10 }
        t "" 2 "" { 0.2 -2e-1 }  t "" 3 "" { +7/30 -7/30 }  t "" 4 "" { 1e0, -1. }  t "" 5 "" { .9e+1, -9 }
        t "" 6 "" { 18446744073709551617, -18446744073709551617 }  t "" 7 "" { -1/10, 0.10000 }"""
    )
    expected = [0.3, 1 / 3, 1.1, 9.1, 18446744073709551617.1, 0]
    assert tree.payoff[1:].tolist() == expected
    assert tree.payoff_sum == 0


def test_payoffs_of_twenty_digits_do_not_overflow(read):
    tree = read(HEADER + 'p "" 1 1 "" { "a" "b" } 0 t "" 1 "" { 1e19, -10000000000000000000 } t "" 2 "" { -1 1 }')
    assert tree.payoff.tolist() == [0, 1e19, -1]


def test_constant_sum_is_kept_apart_from_the_payoffs(read):
    tree = read(HEADER + 'p "" 1 1 "" { "a" "b" } 0 t "" 1 "" { 3, -1 } t "" 2 "" { 1/3 1.6666666666666667 }')
    assert tree.payoff_sum == 2
    assert tree.payoff.tolist() == [0, 3, 1 / 3]


def test_sets_are_known_by_number_and_never_by_label(read):
    tree = read(
        HEADER
        + """p "n" 1 1 "same" { "go" "go" "1:4" } 0
        p "n" 1 2 "same" { "x" } 0 t "n" 1 "" { 1, -1 }
        p "n" 1 4 "" { "x" } 0 t "n" 2 "" { 1/2, -1/2 }
        p "n" 2 2 "same" { "x" } 0
        p "n" 1 3 "1:4" { "x" } 0 t "n" 3 "" { -1, 1 }"""
    )
    assert [known.name for known in tree.information_sets[0]] == ["same", "same (1:2)", "1:4", "1:4 (1:3)"]
    assert [known.name for known in tree.information_sets[1]] == ["same"]
    # Both moves called "go" stay apart.
    assert tree.information_sets[0][0].actions == ("go", "go", "1:4")
    assert value(tree) == pytest.approx(1)


def test_quotes_backslashes_and_line_breaks_in_labels(read):
    tree = read(
        'EFG 2 R "The \\"real\\" game" { "A \\"a\\"" "B" }\n"A comment of\ntwo lines, with { p \\" t"\n'
        'p "" 1 1 "a\\b{}\n" { "\\"" "," } 0 t "" 1 "}" { 0 0 } t "" 1'
    )
    assert tree.title == 'The "real" game'
    assert tree.information_sets[0][0].name == "a\\b{}\n"
    assert tree.information_sets[0][0].actions == ('"', ",")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(read, encoding, line_end):
    text = HEADER + 'p "" 1 1 "Möbius" { "é" } 0\nt "" 1 "" { 1, -1 }\n'
    tree = read(text.replace("\n", line_end).encode(encoding))
    assert tree.information_sets[0][0].name == "Möbius"
    with pytest.raises(InvalidInput, match=r"line 6: .*goes on with 't'"):
        read((text + 't "" 1\n').replace("\n", line_end).encode(encoding))


def test_rounded_thirds_are_taken_as_thirds(read):
    # As programs print them with sixteen digits; their sum misses one by 1e-16.
    tree = read(
        HEADER + 'c "" 1 "" { "" 0.3333333333333333 "" 0.3333333333333333 "" 0.3333333333333333 } 0' + 3 * " t 0"
    )
    assert tree.probability[1:].tolist() == [1 / 3] * 3


def test_event_of_probability_zero_keeps_its_subtree(read):
    tree = read(
        HEADER
        + """c "" 1 "" { "never" 0 "always" 1 } 0
        p "" 1 1 "never reached" { "a" "b" } 0  t "" 1 "" { 5 -5 }  t "" 2 "" { 6 -6 }  t "" 3 "" { -1/4 1/4 }"""
    )
    game = FlatGame.from_tree(tree)
    assert game.lp_solve().value == pytest.approx(-0.25)
    assert game.treeplexes[0].n_sequences == 3


def test_deep_trees_are_read_and_written_without_recursion(read, tmp_path):
    depth = 3_000  # three times the interpreter's limit
    # 'stop' is a leaf right away, 'go on' the next node, so every node is one deeper.
    text = HEADER + "".join(
        f'p "" {1 + step % 2} {step} "" {{ "stop" "go on" }} 0\n t "" {1 + step % 3} "" {{ {step % 3} -{step % 3} }}\n'
        for step in range(depth)
    )
    tree = read(text + 't "" 0\n')
    assert len(tree) == 2 * depth + 1
    write_efg(tree, tmp_path / "written.efg")
    same_tree(read_efg(tmp_path / "written.efg"), tree)


def test_openspiels_own_export_is_the_same_tree(read):
    # Gambit itself refuses this text: sixteen decimals of 1/6 do not sum to exactly one.
    pyspiel = pytest.importorskip("pyspiel")
    export = pytest.importorskip("open_spiel.python.algorithms.gambit").export_gambit
    game = pyspiel.load_game("leduc_poker")
    ours, theirs = read_openspiel(game), read(export(game))
    for name in ("parent", "player", "information_set", "action", "payoff"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name))
    np.testing.assert_allclose(theirs.probability, ours.probability, rtol=1e-15)


# --- What is refused --------------------------------------------------------------------------------------------

ROOT = 'p "" 1 1 "root" { "a" "b" } 0\n'
REFUSED = {
    "undefined outcome": (ROOT + 't "" 1 "" { 1 -1 }\nt "" 7', "line 6: outcome 7 not defined"),
    "outcome named but not defined": (ROOT + 't "" 7 "win"', "line 5: outcome 7 not defined"),
    "outcome defined twice": (ROOT + 't "" 1 "" { 1 -1 }\nt "" 1 "" { 2 -2 }', "outcome 1 has other .* on line 5"),
    "null outcome with payoffs": (ROOT + 't "" 0 "" { 1 -1 }', "line 5: outcome 0 means"),
    "one payoff": (ROOT + 't "" 1 "" { 1 }', "line 5: expected a payoff for each of 2 players, found 1"),
    "three payoffs": (ROOT + 't "" 1 "" { 1 -1 0 }', "line 5: .*found 3"),
    "payoff nan": (ROOT + 't "" 1 "" { nan, 0 }', "line 5: expected a payoff, a finite number .*found 'nan'"),
    "payoff inf": (ROOT + 't "" 1 "" { 0, -inf }', "line 5: .*'-inf'"),
    "payoff by zero": (ROOT + 't "" 1 "" { 1/0, 0 }', "line 5: .*division by zero, '1/0'"),
    "payoff with underscore": (ROOT + 't "" 1 "" { 1_0, -10 }', "'1_0'"),
    "payoff in other digits": (ROOT + 't "" 1 "" { ٣, -3 }', "'٣'"),
    "payoff beyond float64": (ROOT + 't "" 1 "" { 1e301, -1e301 }', "at most 1e300"),
    "payoff beyond solvers": (ROOT + 't "" 1 "" { 1e200, -1e200 }', "player 1 gets 1e[+]200 at this leaf"),
    "exponent that fills memory": (ROOT + 't "" 1 "" { 1e999999999, 0 }', "finite number"),
    "number of many digits": (ROOT + 't "" 1 "" { ' + "9" * 5000 + " 0 }", "finite number .*999…"),
    "general sum": (ROOT + 't "" 1 "" { 1 -1 }\nt "" 2 "" { 1 1/2 }', "line 6: not a constant-sum .*1.5 .* 0 .*line 5"),
    "general sum on the path": (
        'p 1 1 { "a" "b" } 0\np 2 1 { "c" } 1 { 1 0 }\nt 0\nt 0',
        "line 7: not a constant-sum game: payoffs sum to 0 at this leaf and to 1 at the leaf on line 6",
    ),
    "missing node": (ROOT + 't "" 0', "line 5: the file ends too early: the node on line 4 has 2 moves, but only 1"),
    "no nodes": ("", "expected the root"),
    "trailing node": (ROOT + 't "" 0\nt "" 0\nt "" 0', "line 7: the tree is complete .*'t'"),
    "trailing label": (ROOT + 't 1 { 0 0 }\nt 1 { 0 0 }\n"t "" 1"', 'line 7: .*label "t␠"'),
    "unknown node": (ROOT + 'q "" 0', "line 5: expected a node .c, p or t., found 'q'"),
    "label in place of a node": (ROOT + 't 1 { 0 0 } "t "" 1" t 1', 'expected a node .*"t␠"'),
    "unclosed label": (ROOT + 't "" 1 "win\n{ 1 -1 }\n', "line 5: a label begins here"),
    "third player moves": ('p "" 3 1 "" { "a" } 0', "line 4: player 3 moves here, expected player 1 or 2"),
    "player 0 moves": ('p "" 0 1 "" { "a" } 0', "player 0 moves here"),
    "set without moves": ('p "" 1 1 "" { } 0', "information set 1 of player 1 comes up first here, without moves"),
    "set not given before": ('p "" 1 5 0', "information set 5 of player 1 comes up first here"),
    "set number a fraction": ('p "" 1 1/2 0', "expected the number of an information set .*'1/2'"),
    "fewer moves in the same set": (
        ROOT + 'p "" 1 1 "root" { "a" } 0',
        'line 5: information set 1 of player 1 has 1 moves { "a" }, expected the 2 moves { "a" "b" } of line 4',
    ),
    "other moves in the same set": (ROOT + 'p "" 1 1 "" { "b" "a" } 0', "expected the 2 moves"),
    "more moves than counted": ('p "" 1 1 { ' + '"" ' * 40_000 + "} 0", "40,000 moves at one node"),
    "chance below one": ('c "deal" 1 "cards" { "a" 0.333 "b" 0.666 } 0', 'line 4: .*event 1 "cards" sum to 0.999, not'),
    "chance above one": ('c "" 1 "" { "a" 0.50000001 "b" 1/2 } 0', "sum to 1.00000001, not .*normalise=True"),
    "negative chance": ('c "" 1 "" { "a" 3/2 "b" -1/2 } 0', "line 4: chance event 1 has the negative probability -1/2"),
    "chance without events": ('c "" 1 "" { } 0', "chance event 1 comes up first here, without probabilities"),
    "chance not given before": ('c "" 2 0', "chance event 2 comes up first here"),
    "other odds for the same event": (
        'c 1 { "a" 1/2 "b" 1/2 } 0\nc 1 { "a" 1/3 "b" 2/3 } 0',
        "line 5: chance event 1 has other moves or probabilities than on line 4",
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_faulty_tree_is_refused_with_its_line(read, fault):
    text, message = REFUSED[fault]
    with pytest.raises(InvalidInput, match=message) as refusal:
        read(HEADER + text)
    assert "game.efg, line " in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('EFG 2 R "" { "1" "2" "3" } t 0', "the game has 3 players, expected 2"),
        ('EFG 2 R "" { "1" } t 0', "the game has 1 players"),
        ('EFG 1 R "" { "1" "2" } t 0', "expected 2 as the version of the file, found '1'"),
        ('EFG 2 X "" { "1" "2" } t 0', "expected R or D as the kind of numbers"),
        ('NFG 1 R "" { "1" "2" } { 1 1 } 0 0', "found 'NFG'; it is a payoff table"),
        ("<?xml version='1.0'?>", "expected a file that begins with EFG 2 R"),
        ("", "found the end of the file"),
        ("\x00\x00\x00", "expected a file that begins with EFG"),
    ],
)
def test_file_of_another_kind_is_refused(read, text, message):
    with pytest.raises(InvalidInput, match=f"line 1: .*{message}"):
        read(text)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"cannot read .*nowhere.efg: No such file"):
        read_efg(tmp_path / "nowhere.efg")
    with pytest.raises(InvalidInput, match="cannot read"):
        read_efg(tmp_path)  # a folder


def test_file_too_large_for_memory_is_refused_unread(tmp_path):
    path = tmp_path / "large.efg"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)  # takes no room on disk
    with pytest.raises(InvalidInput, match="too many to read into memory"):
        read_efg(path)


def test_odds_are_normalised_only_on_request_and_with_a_warning(read):
    sixths = 'c "" 1 "" {' + ' "" 0.16666667' * 6 + " } 0" + " t 0" * 6
    with pytest.raises(InvalidInput, match=r"1\.00000002"):
        read(HEADER + sixths)
    with pytest.warns(UserWarning, match="line 4: .* sum to 1.00000002, not to 1; divided by their sum"):
        tree = read(HEADER + sixths, normalise=True)
    np.testing.assert_allclose(tree.probability[1:], 1 / 6, rtol=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(HEADER + 'c "" 1 "" { "" 1/3 "" 2/3 } 0 t 0 t 0', normalise=True)
    with pytest.raises(InvalidInput, match="sum to 0, not to 1"):
        read(HEADER + 'c "" 1 "" { "" 0 } 0 t 0', normalise=True)
