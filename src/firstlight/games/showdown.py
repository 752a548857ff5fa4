"""What every hand wins against a range of hands, in time linear in the number of hands.

Two hands that share a card cannot both be dealt. Inclusion and exclusion removes those pairs: over opponents'
hands j with weights w, a hand {a, b} meets

    Σ w_j  −  Σ_{j ∋ a} w_j  −  Σ_{j ∋ b} w_j  +  w_{ab},

one total and 52 sums by card (Johanson, Waugh, Bowling, Zinkevich 2011). Going through the hands from weakest to
strongest, the same sums of "weaker minus stronger" give the showdowns; there the last term drops out, for
equal hands tie. All sums are rows over the opponent's moves, so the inner loops are plain vector code.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from firstlight.compiled import compiled
from firstlight.games.betting_tree import Ends
from firstlight.games.payoffs import pays

_ALL = 52  # the row of sums behind those of the 52 cards


class Holdings(NamedTuple):
    """The hands a player may hold, weakest first.

    Attributes
    ----------
    cards : the two cards of each hand, int64, shape (hands, 2).
    strength : larger wins, equal ties; int64, ascending.
    weight : how often the hand is dealt, relative to the others; float64.
    twin : place of the same hand among the opponent's, -1 if they cannot hold it; int64.
    """

    cards: np.ndarray
    strength: np.ndarray
    weight: np.ndarray
    twin: np.ndarray


class HandPayoffs(NamedTuple):
    """What a player wins with each hand on a full board: a form of payoffs for `firstlight.games.payoffs.pay`.

    Sequences are the empty one, then the moves of the weakest hand, of the next, and so on.

    Attributes
    ----------
    mine, theirs : what the player and the opponent may hold.
    folds, showdowns : where the betting ends, as the player sees it.
    """

    mine: Holdings
    theirs: Holdings
    folds: Ends
    showdowns: Ends


@pays(HandPayoffs)
@compiled
def _hands_pay(payoffs, plan, gradient):
    mine, theirs, folds, showdowns = payoffs
    gradient[0] = 0.0  # no end comes before the first move
    hands_pay(mine, theirs, folds, showdowns, by_hand(plan[1:], theirs), by_hand(gradient[1:], mine))


@compiled
def by_hand(values: Float64[np.ndarray, " sequences"], hands: Holdings) -> Float64[np.ndarray, "hands moves"]:
    """View an array over the moves of one hand after the other as a row per hand."""
    return values.reshape(len(hands.weight), len(values) // len(hands.weight))


@compiled
def hands_pay(
    mine: Holdings,
    theirs: Holdings,
    folds: Ends,
    showdowns: Ends,
    plan: Float64[np.ndarray, "their_hands their_moves"],
    gradient: Float64[np.ndarray, "my_hands my_moves"],
) -> None:
    """Fill `gradient` with what each own hand and move pays against the opponent's plan.

    Entry (h, k) sums weight · weight · plan · stake · (+1 won, -1 lost, 0 tied) over the opponent's hands that share no
    card with h and the ends whose last own move is k.

    Parameters
    ----------
    mine, theirs : both players' hands.
    folds, showdowns : where the betting ends, seen by the player whose gradient it is.
    plan : for each of the opponent's hands, the probability that it makes each move and its own moves before.
    gradient : overwritten.
    """
    n_moves = plan.shape[1]
    mass = np.zeros((_ALL + 1, n_moves))
    for row in range(len(theirs.weight)):
        _add_hand(mass, theirs, row, plan)
    balance = -mass
    weaker, not_stronger = 0, 0
    met = np.empty(n_moves)
    ahead = np.empty(n_moves)
    for row in range(len(mine.weight)):
        # Two half steps per hand of the opponent: from -1 (stronger) over 0 (tie) to +1 (weaker).
        while not_stronger < len(theirs.weight) and theirs.strength[not_stronger] <= mine.strength[row]:
            _add_hand(balance, theirs, not_stronger, plan)
            not_stronger += 1
        while weaker < len(theirs.weight) and theirs.strength[weaker] < mine.strength[row]:
            _add_hand(balance, theirs, weaker, plan)
            weaker += 1
        _without_blocked(mass, mine, row, met)
        _without_blocked(balance, mine, row, ahead)
        gradient[row, :] = 0.0
        twin = mine.twin[row]
        if twin >= 0:
            for k in range(n_moves):
                met[k] += theirs.weight[twin] * plan[twin, k]
        for end in range(len(folds.stake)):
            gradient[row, folds.mine[end]] += mine.weight[row] * folds.stake[end] * met[folds.theirs[end]]
        for end in range(len(showdowns.stake)):
            gradient[row, showdowns.mine[end]] += mine.weight[row] * showdowns.stake[end] * ahead[showdowns.theirs[end]]


@compiled
def _add_hand(sums: np.ndarray, hands: Holdings, row: int, plan: np.ndarray) -> None:
    """Add a hand's weighted plan to the sums of both its cards and of all."""
    weight = hands.weight[row]
    first, second = hands.cards[row, 0], hands.cards[row, 1]
    for k in range(plan.shape[1]):
        reach = weight * plan[row, k]
        sums[first, k] += reach
        sums[second, k] += reach
        sums[_ALL, k] += reach


@compiled
def _without_blocked(sums: np.ndarray, hands: Holdings, row: int, out: np.ndarray) -> None:
    """The sum of all less those of both cards of a hand."""
    first, second = hands.cards[row, 0], hands.cards[row, 1]
    for k in range(len(out)):
        out[k] = sums[_ALL, k] - sums[first, k] - sums[second, k]
