"""Texas hold'em hands: their order, their names, ranges over them and their strength on a full board.

Cards and hands stand in the order of the Libratus endgame files: cards 2s 2h 2d 2c 3s … Ac, hands the 1,326
pairs of different cards in lexicographic order, 2s2h, 2s2d, … AdAc. A *range* is one weight per hand.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float64, Int64

from firstlight.errors import InvalidInput, MissingExtra

RANKS = "23456789TJQKA"
SUITS = "shdc"
CARDS = tuple(rank + suit for rank in RANKS for suit in SUITS)
HAND_CARDS: Int64[np.ndarray, "1326 2"] = np.stack(np.triu_indices(len(CARDS), k=1), axis=1)
HAND_NAMES = tuple(CARDS[first] + CARDS[second] for first, second in HAND_CARDS)

# What describes a range: weights by hand or class of hands, or 1,326 weights.
Range = Mapping[str, float | int] | Sequence[float | int] | np.ndarray

_CARD_NUMBER = {name: number for number, name in enumerate(CARDS)}
_HAND_NUMBER = {name: number for number, name in enumerate(HAND_NAMES)}
_HAND_CLASS = re.compile(rf"([{RANKS}])([{RANKS}])([so]?)")


def read_board(text: str) -> tuple[int, ...]:
    """Return the card numbers of a board written like ``"4s8hTc9h2s"`` (spaces are ignored).

    Raises
    ------
    InvalidInput
        If the text is not four (turn) or five (river) different cards.
    """
    compact = "".join(text.split())
    names = [compact[place : place + 2] for place in range(0, len(compact), 2)]
    unknown = [name for name in names if name not in _CARD_NUMBER]
    if unknown:
        raise InvalidInput(
            f"board {text!r}: {unknown[0]!r} is not a card; write a rank of {RANKS} and a suit of {SUITS}, such as Th"
        )
    if len(names) not in (4, 5) or len(set(names)) != len(names):
        raise InvalidInput(
            f"board {text!r} has {len(set(names))} different cards; expected 5 on the river, or 4 on the turn"
        )
    return tuple(_CARD_NUMBER[name] for name in names)


def hand_number(name: str) -> int:
    """Return the place of a hand such as ``"AsKh"`` (cards in either order) among the 1,326.

    Raises
    ------
    InvalidInput
        If the text is not two different cards.
    """
    number = _HAND_NUMBER.get(name, _HAND_NUMBER.get(name[2:] + name[:2]))
    if number is None:
        raise InvalidInput(f"{name!r} is not a hand; write two different cards, such as AsKh")
    return number


def range_weights(given: Range, player: int) -> Float64[np.ndarray, "1326"]:
    """Return a range as its 1,326 weights.

    Parameters
    ----------
    given : 1,326 weights, or a mapping from hands to weights. A hand is two cards (``"AsKh"``) or a class:
        ``"QQ"``, ``"AKs"`` (suited), ``"AKo"`` (offsuit), ``"AK"`` (both). Later entries override earlier ones.
    player : whose range it is, 0 or 1, for the error text.

    Raises
    ------
    InvalidInput
        If there are not 1,326 weights, one of them is negative, infinite or NaN, or all are zero.
    """
    if isinstance(given, Mapping):
        weights = np.zeros(len(HAND_NAMES))
        for name, weight in given.items():
            weights[_hands_named(name)] = weight
    else:
        weights = np.array(given, dtype=np.float64)
        if weights.shape != (len(HAND_NAMES),):
            raise InvalidInput(
                f"the range of player {player + 1} has shape {weights.shape}; expected one weight for each of the "
                f"{len(HAND_NAMES):,} hands, or a mapping such as {{'AA': 1, 'AsKh': 0.5}}"
            )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise InvalidInput(
            f"the range of player {player + 1} has weight {weights[bad[0]]} for {HAND_NAMES[bad[0]]}; "
            "weights must be finite and at least 0"
        )
    if not weights.any():
        raise InvalidInput(f"all weights in the range of player {player + 1} are zero; at least one hand needs some")
    return weights


def hand_strengths(board: Sequence[int], hands: Int64[np.ndarray, " hands"]) -> Int64[np.ndarray, " hands"]:
    """Return how strong each hand is with a board of five: larger wins, equal ties.

    The strength is the place of the best five of seven cards among the 7,462 classes of poker hands, counted
    from the weakest (phevaluator's ranks, reversed).

    Raises
    ------
    MissingExtra
        If phevaluator is not installed.
    """
    try:
        from phevaluator import evaluate_cards
    except ImportError as error:
        raise MissingExtra("phevaluator", "games") from error
    shared = [CARDS[card] for card in board]
    return np.array(
        [7463 - evaluate_cards(*shared, CARDS[first], CARDS[second]) for first, second in HAND_CARDS[hands]],
        dtype=np.int64,
    )


def _hands_named(name: str) -> list[int]:
    """Hand numbers of two cards or of a class of hands."""
    match = _HAND_CLASS.fullmatch(name)
    if match is None:
        return [hand_number(name)]
    high, low, suits = match.groups()
    if high == low and suits:
        raise InvalidInput(f"{name!r}: a pair is neither suited nor offsuit; write {high + low!r}")
    return [
        hand_number(high + one + low + other)
        for one in SUITS
        for other in SUITS
        if (high != low or one < other) and (not suits or (one == other) == (suits == "s"))
    ]
