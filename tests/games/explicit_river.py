"""A river endgame written out as a game tree, one deal of two hands after the other: the slow, plain way.

Nothing of the package's river code is used, so that the two can be compared.
"""

from phevaluator import evaluate_cards

from firstlight.games.game_tree import GameTree, TreeBuilder


def explicit_river(board, pot, behind, ranges, bets, big_blind=100.0) -> GameTree:
    """The tree of the endgame; `ranges` are two mappings from hands such as "AsKh" to weights."""
    deals = {
        (first, second): weight_1 * weight_2
        for first, weight_1 in ranges[0].items()
        for second, weight_2 in ranges[1].items()
        if len({*_cards(board), *_cards(first), *_cards(second)}) == len(_cards(board)) + 4 and weight_1 * weight_2
    }
    total = sum(deals.values())
    builder = TreeBuilder("river written out")
    root = builder.chance()
    for number, (hands, weight) in enumerate(deals.items()):
        scores = [evaluate_cards(*_cards(board), *_cards(hand)) for hand in hands]
        better = (scores[1] > scores[0]) - (scores[1] < scores[0])  # phevaluator counts from the best hand

        def play(line, mover, paid, last_raise, parent, action, probability, hands=hands, better=better):
            moves = _moves(line, mover, paid, last_raise, pot, behind, bets, big_blind)
            key = (hands[mover], tuple(line))
            place = builder.place(mover, key, f"{hands[mover]}: {', '.join(line)}", [name for name, _ in moves])
            node = builder.decision(mover, place, parent, action, probability)
            for chosen, (name, total_paid) in enumerate(moves):
                after = list(paid)
                after[mover] = total_paid
                if name == "fold":
                    lost = pot / 2 + paid[mover]
                    builder.leaf(-lost if mover == 0 else lost, node, chosen)
                elif name == "call" or (name == "check" and line):
                    builder.leaf(better * (pot / 2 + after[mover]), node, chosen)
                else:
                    raised = 0 if name == "check" else total_paid - paid[1 - mover]
                    play([*line, name], 1 - mover, after, raised, node, chosen, 1.0)

        play([], 0, [0.0, 0.0], 0.0, root, number, weight / total)
    return builder.finish()


def _moves(line, mover, paid, last_raise, pot, behind, bets, big_blind):
    """The mover's choices, with what each makes the mover's chips in the pot."""
    other = paid[1 - mover]
    moves = [("fold", paid[mover]), ("call", other)] if last_raise else [("check", paid[mover])]
    amounts = set()
    for size in bets:
        amount = behind if size == "allin" else other + max(size * (pot + 2 * other), last_raise, big_blind)
        if other < behind:
            amounts.add(min(amount, behind))
    word = "raise to" if last_raise else "bet"
    return moves + [(f"{word} {amount:.10g}", amount) for amount in sorted(amounts)]


def _cards(text):
    return [text[place : place + 2] for place in range(0, len(text), 2)]
