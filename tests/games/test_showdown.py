"""The payoff of every hand in linear time equals the sum over all pairs of hands, card by card."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.games.betting_tree import Ends
from firstlight.games.hand_ranges import HAND_CARDS, hand_strengths
from firstlight.games.payoffs import pay
from firstlight.games.showdown import HandPayoffs, Holdings

# The last board is a royal flush: all hands tie.
boards = st.one_of(st.permutations(range(52)).map(lambda deck: deck[:5]), st.just([32, 36, 40, 44, 48]))


def pairwise_gradient(mine, theirs, folds, showdowns, plan, n_moves):
    """The definition: every pair of hands without a common card, every end."""
    gradient = np.zeros((len(mine.weight), n_moves))
    for row, my_cards in enumerate(mine.cards):
        for other, their_cards in enumerate(theirs.cards):
            if set(my_cards) & set(their_cards):
                continue
            chance = mine.weight[row] * theirs.weight[other]
            better = np.sign(mine.strength[row] - theirs.strength[other])
            for ends, result in ((folds, 1), (showdowns, better)):
                for my_move, their_move, stake in zip(*ends, strict=True):
                    gradient[row, my_move] += chance * plan[other, their_move] * stake * result
    return gradient


def linear_gradient(payoffs, plan, n_moves):
    gradient = np.full(1 + len(payoffs.mine.weight) * n_moves, np.nan)
    pay(payoffs, np.concatenate(([1.0], plan.ravel())), gradient)
    assert gradient[0] == 0
    return gradient[1:].reshape(-1, n_moves)


def random_holdings(generator, board, n_hands):
    live = np.flatnonzero(~np.isin(HAND_CARDS, board).any(axis=1))
    hands = generator.choice(live, n_hands, replace=False)
    strengths = hand_strengths(board, hands)
    order = np.argsort(strengths, kind="stable")
    weight = generator.exponential(size=n_hands) ** 4
    return hands[order], Holdings(HAND_CARDS[hands[order]], strengths[order], weight, np.full(n_hands, -1))


def random_ends(generator, n_ends, n_my_moves, n_their_moves):
    return Ends(
        generator.integers(n_my_moves, size=n_ends),
        generator.integers(n_their_moves, size=n_ends),
        generator.normal(size=n_ends),
    )


@settings(max_examples=30)
@given(board=boards, seed=st.integers(0, 2**32 - 1))
def test_linear_time_equals_all_pairs(board, seed):
    generator = np.random.default_rng(seed)
    hands, holdings = zip(
        *(random_holdings(generator, board, n) for n in generator.integers(1, 60, size=2)), strict=True
    )
    twins = np.array([int(np.flatnonzero(hands[1] == hand)[0]) if hand in hands[1] else -1 for hand in hands[0]])
    mine, theirs = holdings[0]._replace(twin=twins), holdings[1]
    n_my_moves, n_their_moves = generator.integers(1, 6, size=2)
    folds, showdowns = (random_ends(generator, generator.integers(8), n_my_moves, n_their_moves) for _ in range(2))
    plan = generator.random((len(hands[1]), n_their_moves))

    ours = linear_gradient(HandPayoffs(mine, theirs, folds, showdowns), plan, n_my_moves)

    definition = pairwise_gradient(mine, theirs, folds, showdowns, plan, n_my_moves)
    scale = 1 + mine.weight.sum() * theirs.weight.sum() * np.abs([*folds.stake, *showdowns.stake, 0]).max()
    np.testing.assert_allclose(ours, definition, atol=1e-13 * scale)


def test_on_a_board_that_all_play_only_folds_pay():
    _, holdings = random_holdings(np.random.default_rng(0), [32, 36, 40, 44, 48], 50)
    mine = holdings._replace(twin=np.arange(50))
    end = Ends(np.array([0]), np.array([0]), np.array([1.0]))
    none = Ends(np.array([], dtype=int), np.array([], dtype=int), np.array([]))
    shown = linear_gradient(HandPayoffs(mine, mine, none, end), np.ones((50, 1)), 1)
    np.testing.assert_allclose(shown, 0, atol=1e-12 * holdings.weight.sum() ** 2)
    folded = linear_gradient(HandPayoffs(mine, mine, end, none), np.ones((50, 1)), 1)
    assert (folded > 0).all()
