"""A river game equals the same game written out deal by deal: payoffs, best responses, values."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.games.explicit_endgame import explicit_endgame, explicit_profile

from firstlight.errors import InvalidInput
from firstlight.games.endgame_solution import EndgameSolution
from firstlight.games.equilibrium import certify
from firstlight.games.flat_game import FlatGame
from firstlight.games.hand_ranges import CARDS, HAND_NAMES
from firstlight.games.river_game import RiverGame
from firstlight.games.sweeps import condition

TERMS = {"pot": 100, "behind": 400, "bets": (0.5, 1.0, "allin"), "big_blind": 20}


@st.composite
def deals(draw, weights=(0.25, 1.0, 3.0)):
    """A board and two small ranges; few ranks, so that hands tie and block each other."""
    deck = draw(st.permutations([card for card in CARDS if card[0] in "789TJ"]))
    board, rest = "".join(deck[:5]), [*deck[5:15], deck[0]]
    hands = [one + other for one, other in itertools.combinations(sorted(rest, key=CARDS.index), 2)]
    chosen = st.dictionaries(st.sampled_from(hands), st.sampled_from(weights), min_size=1, max_size=6)
    ranges = draw(chosen), draw(chosen)
    assume(any(len({one[:2], one[2:], other[:2], other[2:], deck[0]}) == 5 for one in ranges[0] for other in ranges[1]))
    return board, ranges


def random_solution(game, seed):
    """Random strategies with their certificate."""
    generator = np.random.default_rng(seed)
    behaviour = []
    for treeplex in game.treeplexes:
        behaviour.append(np.empty(treeplex.n_sequences))
        condition(
            treeplex.start, treeplex.n_actions, generator.exponential(size=len(behaviour[-1])) ** 3, behaviour[-1]
        )
    plans = game.plans((behaviour[0], behaviour[1]))
    values = (game.hand_values(0, plans), game.hand_values(1, plans))
    return EndgameSolution(game, (behaviour[0], behaviour[1]), game.certify(plans), values, "none", 0, 0.0)


@settings(max_examples=25)
@given(deal=deals(), seed=st.integers(0, 2**32 - 1))
def test_certificate_equals_that_of_the_game_written_out(deal, seed):
    board, ranges = deal
    game = RiverGame.deal(board, ranges=ranges, **TERMS)
    flat = FlatGame.from_tree(explicit_endgame(board, ranges=ranges, **TERMS))
    solution = random_solution(game, seed)
    ours, explicit = solution.certificate, certify(flat, explicit_profile(solution, flat))
    assert ours.value == pytest.approx(explicit.value, rel=1e-10, abs=1e-10)
    assert ours.exploitability == pytest.approx(explicit.exploitability, rel=1e-10, abs=1e-10)
    assert ours.value_bounds == pytest.approx(explicit.value_bounds, rel=1e-10, abs=1e-8)


@settings(max_examples=25)
@given(deal=deals(weights=(1e-12, 1e-6, 1.0)), seed=st.integers(0, 2**32 - 1))
def test_value_bounds_contain_those_of_the_game_written_out_when_likely_hands_block_each_other(deal, seed):
    # Nearly all of the mass may be pairs that cannot be dealt, and the linear-time sums lose digits.
    board, ranges = deal
    game = RiverGame.deal(board, ranges=ranges, **TERMS)
    flat = FlatGame.from_tree(explicit_endgame(board, ranges=ranges, **TERMS))
    solution = random_solution(game, seed)
    ours, explicit = solution.certificate, certify(flat, explicit_profile(solution, flat))
    rounding = 1e-12 * (TERMS["pot"] / 2 + TERMS["behind"])
    assert ours.value_bounds[0] <= explicit.value_bounds[0] + rounding
    assert ours.value_bounds[1] >= explicit.value_bounds[1] - rounding


@settings(max_examples=25)
@given(deal=deals(), seed=st.integers(0, 2**32 - 1))
def test_what_one_player_wins_the_other_loses(deal, seed):
    game = RiverGame.deal(deal[0], ranges=deal[1], **TERMS)
    solution = random_solution(game, seed)
    won = [float(solution.hand_values[player] @ (game.weights[player] * game.met[player])) for player in (0, 1)]
    assert won[0] == pytest.approx(-won[1], rel=1e-10, abs=1e-10)
    assert won[0] == pytest.approx(solution.value, rel=1e-10, abs=1e-10)


def test_each_hand_is_dealt_as_often_as_its_weight_and_blockers_say():
    ranges = ({"AsAh": 1, "KsKh": 1}, {"AsKd": 2, "QdQc": 1})
    game = RiverGame.deal("2c3c4c8d9d", ranges=ranges, **TERMS)
    # AA meets only QQ, KK meets both.
    dealt = {
        HAND_NAMES[hand]: weight * met
        for hand, weight, met in zip(game.hands[0], game.weights[0], game.met[0], strict=True)
    }
    assert dealt == pytest.approx({"AsAh": 1 / 4, "KsKh": 3 / 4})


def test_hands_that_can_never_be_dealt_are_left_out():
    # AsKh blocks all of the opponent's hands, 2c2d is on the board.
    ranges = ({"AsKh": 1, "QsQh": 1, "2c2d": 1}, {"AsQd": 1, "KhJh": 1})
    game = RiverGame.deal("2c3c4c8d9d", ranges=ranges, **TERMS)
    assert [HAND_NAMES[hand] for hand in game.hands[0]] == ["QsQh"]
    assert len(game.hands[1]) == 2


@pytest.mark.parametrize(
    "ranges",
    [({"AsKh": 1}, {"AsKd": 1}), ({"2c2d": 1}, {"AsKd": 1}), ({"AsKh": 1}, {"KhQh": 1, "3cKd": 1})],
)
def test_ranges_without_a_possible_deal_are_refused(ranges):
    with pytest.raises(InvalidInput, match="no hand of player 1 can be dealt together with one of player 2"):
        RiverGame.deal("2c3c4c8d9d", ranges=ranges, **TERMS)


def test_weights_too_far_apart_are_refused():
    ranges = ({"AsKh": 1e200, "QsQh": 1e-200}, {"AsKd": 1e200, "JhJd": 1e-200})
    with pytest.raises(InvalidInput, match="too far below"):
        RiverGame.deal("2c3c4c8d9d", ranges=ranges, **TERMS)
