"""What hands win from the turn on: the fold values of the turn, and river showdowns for every river card."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int64

from firstlight.compiled import compiled
from firstlight.games.betting_tree import Ends
from firstlight.games.payoffs import pays
from firstlight.games.showdown import HandPayoffs, Holdings, by_hand, hands_pay


class TurnPayoffs(NamedTuple):
    """What a player wins with each hand from the turn on: a form of payoffs for `firstlight.games.payoffs.pay`.

    Sequences are the empty one, the turn's moves of one hand after the other, then for each river card the river's
    moves of one hand after the other.

    Attributes
    ----------
    turn : hands and ends on the turn, where nothing is shown yet.
    my_turn, their_turn : how many sequences belong to the turn, the empty one included.
    mine, theirs : hands on the river, those of all river cards in a row; weights have the chance of the card in them.
    my_rows, their_rows : where the hands of each card begin, and where the last ones end.
    folds, showdowns : ends of the betting on the river.
    """

    turn: HandPayoffs
    my_turn: int
    their_turn: int
    mine: Holdings
    theirs: Holdings
    my_rows: Int64[np.ndarray, " cards_and_one"]
    their_rows: Int64[np.ndarray, " cards_and_one"]
    folds: Ends
    showdowns: Ends


@pays(TurnPayoffs)
@compiled
def _streets_pay(payoffs, plan, gradient):
    gradient[:] = 0.0
    turn = payoffs.turn
    hands_pay(
        turn.mine,
        turn.theirs,
        turn.folds,
        turn.showdowns,
        by_hand(plan[1 : payoffs.their_turn], turn.theirs),
        by_hand(gradient[1 : payoffs.my_turn], turn.mine),
    )
    my_moves = (len(gradient) - payoffs.my_turn) // payoffs.my_rows[-1]
    their_moves = (len(plan) - payoffs.their_turn) // payoffs.their_rows[-1]
    for card in range(len(payoffs.my_rows) - 1):
        mine = _some(payoffs.mine, payoffs.my_rows[card], payoffs.my_rows[card + 1])
        theirs = _some(payoffs.theirs, payoffs.their_rows[card], payoffs.their_rows[card + 1])
        if len(mine.weight) > 0 and len(theirs.weight) > 0:
            my_first = payoffs.my_turn + my_moves * payoffs.my_rows[card]
            their_first = payoffs.their_turn + their_moves * payoffs.their_rows[card]
            hands_pay(
                mine,
                theirs,
                payoffs.folds,
                payoffs.showdowns,
                by_hand(plan[their_first : their_first + their_moves * len(theirs.weight)], theirs),
                by_hand(gradient[my_first : my_first + my_moves * len(mine.weight)], mine),
            )


@compiled
def _some(hands, first, after):
    return Holdings(
        hands.cards[first:after], hands.strength[first:after], hands.weight[first:after], hands.twin[first:after]
    )
