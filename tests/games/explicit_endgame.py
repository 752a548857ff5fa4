"""A hold'em endgame written out as a game tree, one deal of cards after the other: the slow, plain way.

Nothing of the package's endgame code is used, so that the two can be compared.
"""

from typing import NamedTuple

from phevaluator import evaluate_cards

from firstlight.games.flat_game import FlatGame
from firstlight.games.game_tree import GameTree, TreeBuilder
from firstlight.games.profile import Profile

DECK = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]


class Street(NamedTuple):
    """The table when a street begins."""

    board: tuple[str, ...]
    pot: float
    behind: float
    line: tuple[str, ...]


def explicit_endgame(board, pot, behind, ranges, bets, big_blind=100.0) -> GameTree:
    """The tree of the endgame; `ranges` are two mappings from hands such as "AsKh" to weights."""
    cards = cards_of(board)
    deals = {
        (first, second): weight_1 * weight_2
        for first, weight_1 in ranges[0].items()
        for second, weight_2 in ranges[1].items()
        if len({*cards, *cards_of(first), *cards_of(second)}) == len(cards) + 4 and weight_1 * weight_2
    }
    total = sum(deals.values())
    builder = TreeBuilder("endgame written out")
    root = builder.chance()
    for number, (hands, weight) in enumerate(deals.items()):
        street = Street(cards, pot, behind, ())
        _play(builder, (bets, big_blind), hands, street, (), 0, (0.0, 0.0), 0.0, (root, number, weight / total))
    return builder.finish()


def explicit_profile(solution, flat: FlatGame) -> Profile:
    """The strategies of a solution in the game written out; information sets are named "hand: line"."""
    names = [known.name for sets in flat.tree.information_sets for known in sets]
    return Profile.of(flat, {name: solution.strategy(*reversed(name.split(": "))) for name in names})


def _play(builder, rules, hands, street, line, mover, paid, last_raise, edge):
    """Add the node after the moves `line` of a street, and all that follows; `edge` leads into it."""
    moves = _moves(line, mover, paid, last_raise, street, *rules)
    hand, past = hands[mover], (*street.line, *line)
    place = builder.place(mover, (hand, past), f"{hand}: {', '.join(past)}", [name for name, _ in moves])
    node = builder.decision(mover, place, *edge)
    for chosen, (name, total_paid) in enumerate(moves):
        after = (total_paid, paid[1]) if mover == 0 else (paid[0], total_paid)
        if name == "fold":
            lost = street.pot / 2 + paid[mover]
            builder.leaf(-lost if mover == 0 else lost, node, chosen)
        elif name == "call" or (name == "check" and line):
            matched = street._replace(
                pot=street.pot + 2 * total_paid, behind=street.behind - total_paid, line=(*past, name)
            )
            _end_street(builder, rules, hands, matched, (node, chosen))
        else:
            raised = 0.0 if name == "check" else total_paid - paid[1 - mover]
            _play(builder, rules, hands, street, (*line, name), 1 - mover, after, raised, (node, chosen))


def _end_street(builder, rules, hands, street, edge):
    """Deal the river after the turn; show hands after the river."""
    if len(street.board) == 5:
        scores = [evaluate_cards(*street.board, *cards_of(hand)) for hand in hands]
        better = (scores[1] > scores[0]) - (scores[1] < scores[0])  # phevaluator counts from the best hand
        builder.leaf(better * street.pot / 2, *edge)
        return
    chance = builder.chance(*edge)
    left = [card for card in DECK if card not in {*street.board, *cards_of(hands[0]), *cards_of(hands[1])}]
    for number, card in enumerate(left):
        river = street._replace(board=(*street.board, card), line=(*street.line, card))
        _play(builder, rules, hands, river, (), 0, (0.0, 0.0), 0.0, (chance, number, 1 / len(left)))


def _moves(line, mover, paid, last_raise, street, bets, big_blind):
    """The mover's choices, with what each makes the mover's chips in the pot."""
    other = paid[1 - mover]
    moves = [("fold", paid[mover]), ("call", other)] if last_raise else [("check", paid[mover])]
    amounts = set()
    for size in bets:
        amount = (
            street.behind if size == "allin" else other + max(size * (street.pot + 2 * other), last_raise, big_blind)
        )
        if other < street.behind:
            amounts.add(min(amount, street.behind))
    word = "raise to" if last_raise else "bet"
    return moves + [(f"{word} {amount:.10g}", amount) for amount in sorted(amounts)]


def cards_of(text):
    return tuple(text[place : place + 2] for place in range(0, len(text), 2))
