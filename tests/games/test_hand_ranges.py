"""Hands stand in the Libratus order, ranges expand as poker players write them, strengths follow the rules."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.errors import InvalidInput
from firstlight.games.hand_ranges import (
    CARDS,
    HAND_CARDS,
    HAND_NAMES,
    RANKS,
    hand_number,
    hand_strengths,
    range_weights,
    read_board,
)


def test_hands_stand_in_the_order_of_the_libratus_readme():
    assert HAND_NAMES[:4] == ("2s2h", "2s2d", "2s2c", "2s3s")
    assert HAND_NAMES[50] == "2sAc"
    assert HAND_NAMES[51:54] == ("2h2d", "2h2c", "2h3s")
    assert HAND_NAMES[-1] == "AdAc"
    assert len(set(HAND_NAMES)) == 1326


def test_a_hand_is_found_with_its_cards_in_either_order():
    assert hand_number("AsKh") == hand_number("KhAs")
    assert {CARDS[card] for card in HAND_CARDS[hand_number("AsKh")]} == {"As", "Kh"}


@pytest.mark.parametrize(("name", "count"), [("QQ", 6), ("AKs", 4), ("AKo", 12), ("AK", 16), ("KA", 16), ("AsKh", 1)])
def test_a_class_of_hands_has_its_number_of_combinations(name, count):
    assert np.count_nonzero(range_weights({name: 0.5}, 0) == 0.5) == count


def test_suited_hands_share_a_suit_and_offsuit_hands_do_not():
    suited, offsuit = (np.flatnonzero(range_weights({name: 1}, 0)) for name in ("T9s", "T9o"))
    assert all(HAND_NAMES[hand][1] == HAND_NAMES[hand][3] for hand in suited)
    assert all(HAND_NAMES[hand][1] != HAND_NAMES[hand][3] for hand in offsuit)


def test_all_classes_together_are_all_hands_once():
    ranks = itertools.combinations_with_replacement(RANKS, 2)
    classes = [
        name
        for one, other in ranks
        for name in ([one + other] if one == other else [f"{one}{other}s", f"{one}{other}o"])
    ]
    assert len(classes) == 169
    assert sum(range_weights({name: 1}, 0) for name in classes).tolist() == [1.0] * 1326


def test_later_entries_of_a_range_override_earlier_ones():
    weights = range_weights({"AA": 1, "AsAh": 0.25}, 0)
    assert weights[hand_number("AhAs")] == 0.25
    assert weights.sum() == 5.25


@pytest.mark.parametrize(
    ("given_range", "complaint"),
    [
        ({"AKx": 1}, "'AKx' is not a hand"),
        ({"AAs": 1}, "a pair is neither suited nor offsuit"),
        ({"AsAs": 1}, "'AsAs' is not a hand"),
        ({"AsKh": -1}, "weight -1.0 for KhAs"),
        ({"AsKh": float("nan")}, "weight nan"),
        ({"AsKh": 0}, "all weights in the range of player 2 are zero"),
        (np.ones(1325), r"shape \(1325,\)"),
        (np.full(1326, np.inf), "weight inf for 2s2h"),
    ],
)
def test_a_broken_range_is_refused_with_its_reason(given_range, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        range_weights(given_range, 1)


@pytest.mark.parametrize(
    ("board", "complaint"),
    [
        ("4s8hTc", "3 different cards"),
        ("4s8hTc9h4s", "4 different cards"),
        ("4s8hTc9h2s2h", "6 different cards"),
        ("4s8hTc9h1s", "'1s' is not a card"),
        ("4s8hTc9h2", "'2' is not a card"),
    ],
)
def test_a_broken_board_is_refused_with_its_reason(board, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        read_board(board)


def test_a_board_may_be_written_with_spaces():
    assert read_board("4s 8h Tc 9h 2s") == read_board("4s8hTc9h2s")


def best_of_seven(cards):
    """Category and tie-breaking ranks of the best five cards, by the rules of poker."""
    return max(five_card_value(five) for five in itertools.combinations(cards, 5))


def five_card_value(cards):
    ranks = sorted((card // 4 for card in cards), reverse=True)
    counts = sorted(Counter(ranks).items(), key=lambda item: (-item[1], -item[0]))
    shape = tuple(count for _, count in counts)
    order = tuple(rank for rank, _ in counts)
    flush = len({card % 4 for card in cards}) == 1
    straight = shape == (1,) * 5 and (ranks[0] - ranks[4] == 4 or ranks == [12, 3, 2, 1, 0])
    if straight:
        order = (3,) if ranks == [12, 3, 2, 1, 0] else (ranks[0],)
    category = {(4, 1): 7, (3, 2): 6, (3, 1, 1): 3, (2, 2, 1): 2, (2, 1, 1, 1): 1, (1,) * 5: 0}[shape]
    return (8 if straight and flush else 5 if flush else 4 if straight else category, order)


@given(deal=st.permutations(range(52)).map(lambda deck: deck[:9]))
def test_strengths_compare_like_the_rules_of_poker(deal):
    board, hands = deal[:5], [sorted(deal[5:7]), sorted(deal[7:9])]
    numbers = np.array([hand_number(CARDS[one] + CARDS[other]) for one, other in hands])
    ours = hand_strengths(board, numbers)
    rules = [best_of_seven([*board, *hand]) for hand in hands]
    assert np.sign(ours[0] - ours[1]) == (rules[0] > rules[1]) - (rules[0] < rules[1])
