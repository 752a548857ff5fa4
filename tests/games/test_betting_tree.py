"""The betting tree holds the lines that the rules of no-limit betting allow, and their stakes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.errors import InvalidInput
from firstlight.games.betting_tree import grow_betting_tree
from firstlight.games.game_tree import TERMINAL


def test_all_in_or_check_gives_the_smallest_tree():
    tree = grow_betting_tree(pot=100, behind=100, bets=("allin",), big_blind=100)
    lines = [", ".join(node.line) for node in tree.nodes if node.player == TERMINAL]
    assert sorted(lines) == [
        "bet 100, call",
        "bet 100, fold",
        "check, bet 100, call",
        "check, bet 100, fold",
        "check, check",
    ]


def test_sizes_are_shares_of_the_pot_after_calling():
    tree = grow_betting_tree(pot=500, behind=20_000, bets=(0.5, 1.0, "allin"), big_blind=100)
    assert tree.nodes[0].actions == ("check", "bet 250", "bet 500", "bet 20000")
    answer = tree.nodes[tree.find("check, bet 250")]
    # After calling 250 the pot is 1000: half of it or all of it on top.
    assert answer.actions == ("fold", "call", "raise to 750", "raise to 1250", "raise to 20000")


def test_a_raise_is_at_least_as_large_as_the_bet_before():
    tree = grow_betting_tree(pot=100, behind=10_000, bets=(0.1, 5.0), big_blind=100)
    assert tree.nodes[0].actions == ("check", "bet 100", "bet 500")  # a tenth of the pot is below a big blind
    assert tree.nodes[tree.find("bet 500")].actions == ("fold", "call", "raise to 1000", "raise to 6000")


def test_without_chips_behind_there_is_only_the_showdown():
    tree = grow_betting_tree(pot=100, behind=0, bets=(1.0,), big_blind=100)
    assert [node.line for node in tree.nodes] == [(), ("check",), ("check", "check")]


def test_libratus_trees_have_the_known_number_of_nodes():
    sizes = [len(grow_betting_tree(pot, 20_000 - pot / 2, (0.5, 1.0, "allin"), 100).nodes) for pot in (500, 3750)]
    assert sizes == [561, 93]


amounts = st.fixed_dictionaries(
    {
        "pot": st.floats(1, 1000),
        "behind": st.floats(0, 2000),
        "bets": st.lists(st.one_of(st.floats(0.3, 3), st.just("allin")), min_size=1, max_size=3).map(tuple),
        "big_blind": st.just(50.0),
    }
)


@given(amounts=amounts)
def test_every_line_is_legal(amounts):
    tree = grow_betting_tree(**amounts)
    for node in tree.nodes:
        assert 0 <= min(node.committed) <= max(node.committed) <= amounts["behind"]
        raises = [0.0, *sorted(set(_bets_along(tree, node)))]
        steps = [after - before for before, after in itertools.pairwise(raises)]
        for earlier, later in itertools.pairwise(steps):
            # Only an all-in may be smaller than the raise before.
            assert later >= earlier * (1 - 1e-9) or raises[-1] == amounts["behind"]


def _bets_along(tree, node):
    """What the bettor had in the pot after each bet or raise of the line."""
    number = 0
    for move in node.line:
        current = tree.nodes[number]
        number = current.children[current.actions.index(move)]
        if move.startswith(("bet", "raise")):
            yield max(tree.nodes[number].committed)


@given(amounts=amounts)
def test_stakes_are_opposite_in_the_players_eyes(amounts):
    tree = grow_betting_tree(**amounts)
    first, second = tree.folds
    assert (first.stake == -second.stake).all()
    assert (first.mine == second.theirs).all()
    assert (first.theirs == second.mine).all()
    first, second = tree.showdowns
    assert (first.stake == second.stake).all()
    assert (first.stake > 0).all()


@given(amounts=amounts)
def test_every_node_is_found_by_its_line(amounts):
    tree = grow_betting_tree(**amounts)
    for number, node in enumerate(tree.nodes):
        assert tree.find(", ".join(node.line)) == number


def test_all_in_names_the_largest_bet():
    tree = grow_betting_tree(pot=500, behind=1000, bets=(0.5, "allin"), big_blind=100)
    assert tree.find("Check,  ALL-IN, call") == tree.find("check, bet 1000, call")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("bet 300", "'bet 300' is not possible first; possible: check, bet 250, bet 1000"),
        ("check, fold", "'fold' is not possible after 'check'"),
        ("check, check, check", "after 'check, check'; possible: nothing, the hand is over"),
        ("bet 1000, all-in", "possible: fold, call"),
    ],
)
def test_an_impossible_line_is_refused_with_the_possible_moves(line, complaint):
    tree = grow_betting_tree(pot=500, behind=1000, bets=(0.5, "allin"), big_blind=100)
    with pytest.raises(InvalidInput, match=complaint):
        tree.find(line)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"pot": 0}, "the pot is 0"),
        ({"pot": float("nan")}, "the pot is nan"),
        ({"behind": -1}, "-1 chips behind"),
        ({"big_blind": 0}, "the big blind is 0"),
        ({"bets": ()}, "expected some sizes"),
        ({"bets": (0.5, 0)}, "bet size 0"),
        ({"bets": (-0.5,)}, "bet size -0.5"),
        ({"bets": ("all",)}, "bet size 'all'"),
        ({"bets": (float("inf"),)}, "bet size inf"),
        ({"bets": (0.01, 0.02, 0.03), "behind": 100_000, "big_blind": 1}, "over 20,000 nodes"),
        ({"bets": (1e-6,), "behind": 100_000, "big_blind": 1}, "lines of over 100 moves"),
    ],
)
def test_broken_amounts_are_refused_with_their_reason(changed, complaint):
    amounts = {"pot": 500, "behind": 1000, "bets": (0.5, "allin"), "big_blind": 100} | changed
    with pytest.raises(InvalidInput, match=complaint):
        grow_betting_tree(**amounts)
