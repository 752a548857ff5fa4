"""Grows a game tree from the nodes of Gambit's extensive-form format (.efg).

Nodes stand in prefix order: a node, then the subtree of each of its moves in turn. The first time an information
set, a chance event or an outcome comes up, its contents are given; later its number is enough.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from firstlight.games.gambit_text import ROUNDING, Exact, GambitText, Payoffs, quoted, same_sum, shown
from firstlight.games.game_tree import CHANCE, LARGEST_PAYOFF, TERMINAL, GameTree, TreeBuilder

MOST_MOVES = 2**15  # what the numbers of moves in a GameTree can count
MOST_ENTRIES = 2**16  # remembered, to bound the memory
NOTHING: Payoffs = (0, 0)


class _InformationSet(NamedTuple):
    place: int  # in the tree's information_sets of the player
    labels: list[str]
    position: int


class _ChanceEvent(NamedTuple):
    contents: list[tuple[str, Exact]]
    probabilities: list[float]
    position: int


class _Entry(NamedTuple):
    """What the file says of a node."""

    player: int
    information_set: int
    moves: int
    probabilities: list[float] | None
    payoffs: Payoffs


@dataclass(slots=True)
class _Branching:
    """A node on the way from the root to where the file is being read."""

    node: int
    position: int
    paid: Payoffs
    moves: int
    probabilities: list[float] | None
    taken: int = 0


class TreeReader:
    """Reads the tree of one .efg file.

    Parameters
    ----------
    text : the file, read up to the players.
    title : name of the game.
    normalise : divide chance probabilities that do not sum to one by their sum.
    """

    def __init__(self, text: GambitText, title: str, normalise: bool) -> None:
        self._text = text
        self._builder = TreeBuilder(title)
        self._normalise = normalise
        self._normalised = 0
        self._first_normalised = ""
        self._sets: dict[tuple[int, int], _InformationSet] = {}
        self._names: tuple[set[str], set[str]] = (set(), set())
        self._events: dict[int, _ChanceEvent] = {}
        self._outcomes: dict[int, tuple[Payoffs, int]] = {}
        self._entries: dict[str, _Entry] = {}
        self._first_leaf: tuple[Exact, int] | None = None
        # Trees may be deep, so the nodes above stand in a list and not on the interpreter's stack.
        self._path: list[_Branching] = []

    def read(self) -> GameTree:
        """Read all nodes."""
        text, path = self._text, self._path
        text.optional_label()  # a comment
        self._read_node()
        while path:
            if path[-1].taken < path[-1].moves:
                self._read_node()
            else:
                path.pop()
        if text.kind != "end":
            text.fail(f"the tree is complete before this line, but the file goes on with {text.found()}")
        return self._builder.finish()

    def warning(self) -> str:
        """Return what was normalised while reading; nothing if it is empty."""
        others = f" (and {self._normalised - 1} more)" if self._normalised > 1 else ""
        return f"{self._first_normalised}{others}; divided by their sum" if self._normalised else ""

    def _read_node(self) -> None:
        """Read a node and add it below the path."""
        position = self._text.position
        entry = self._read_entry()
        edge, paid = (-1, 0, 1.0), entry.payoffs
        if self._path:
            above = self._path[-1]
            chance = above.probabilities[above.taken] if above.probabilities else 1.0
            edge = above.node, above.taken, chance
            above.taken += 1
            if above.paid != NOTHING:
                paid = above.paid[0] + paid[0], above.paid[1] + paid[1]
        if entry.player == TERMINAL:
            self._check_payoffs(paid, position)
            self._builder.leaf(float(paid[0]), *edge)
            return
        if entry.player == CHANCE:
            node = self._builder.chance(*edge)
        else:
            node = self._builder.decision(entry.player, entry.information_set, *edge)
        self._path.append(_Branching(node, position, paid, entry.moves, entry.probabilities))

    def _read_entry(self) -> _Entry:
        text = self._text
        if text.kind == "end":
            self._fail_unfinished()
        if text.kind != "word" or text.value not in ("c", "p", "t"):
            text.fail(f"expected a node (c, p or t), found {text.found()}")
        # Most nodes repeat another's words, which say the same again: sets and outcomes keep their first contents.
        words, end = text.up_to_next_node()
        if known := self._entries.get(words):
            text.go_to(end)
            return known
        kind = text.value
        text.advance()
        text.optional_label()  # nodes are known by where they stand
        player, information_set, moves, probabilities = TERMINAL, -1, 0, None
        if kind == "p":
            player, known_set = self._read_information_set()
            information_set, moves = known_set.place, len(known_set.labels)
        elif kind == "c":
            player, probabilities = CHANCE, self._read_chance_event().probabilities
            moves = len(probabilities)
        entry = _Entry(player, information_set, moves, probabilities, self._read_outcome())
        if text.position == end and len(self._entries) < MOST_ENTRIES:
            self._entries[words] = entry
        return entry

    def _read_information_set(self) -> tuple[int, _InformationSet]:
        """Player (0 or 1) and the set; its name and moves stand there at least the first time."""
        text, position = self._text, self._text.position
        player = text.whole_number("the number of a player")
        if player not in (1, 2):
            text.fail(f"player {player} moves here, expected player 1 or 2", position)
        number = text.whole_number("the number of an information set")
        label = text.optional_label()
        labels = text.labels("moves") if text.kind == "open" else None
        known = self._sets.get((player, number))
        if known is None:
            if not labels:
                text.fail(f"information set {number} of player {player} comes up first here, without moves", position)
            self._check_count(len(labels), position)
            name = self._unique_name(player, number, label)
            known = _InformationSet(self._builder.place(player - 1, number, name, labels), labels, position)
            self._sets[player, number] = known
        elif labels is not None and labels != known.labels:
            text.fail(
                f"information set {number} of player {player} has {len(labels)} moves {_listed(labels)}, expected the "
                f"{len(known.labels)} moves {_listed(known.labels)} of line {text.line(known.position)}",
                position,
            )
        return player - 1, known

    def _unique_name(self, player: int, number: int, label: str) -> str:
        """Return the label, or a name made of the numbers where the label is empty or taken."""
        names, name = self._names[player - 1], label or f"{player}:{number}"
        while name in names:
            name = f"{name} ({player}:{number})"
        names.add(name)
        return name

    def _read_chance_event(self) -> _ChanceEvent:
        """A chance event; its moves and their probabilities stand there at least the first time."""
        text, position = self._text, self._text.position
        number = text.whole_number("the number of a chance event")
        label = text.optional_label()
        contents = None
        if text.accept("open"):
            contents = []
            while not text.accept("close"):
                contents.append((text.optional_label(), text.number("a probability")))
        known = self._events.get(number)
        if known is None:
            if not contents:
                text.fail(f"chance event {number} comes up first here, without probabilities", position)
            self._check_count(len(contents), position)
            named = f"chance event {number}" + (f" {quoted(label)}" if label else "")
            known = _ChanceEvent(contents, self._distribution(contents, named, position), position)
            self._events[number] = known
        elif contents is not None and contents != known.contents:
            text.fail(
                f"chance event {number} has other moves or probabilities than on line {text.line(known.position)}",
                position,
            )
        return known

    def _distribution(self, contents: list[tuple[str, Exact]], named: str, position: int) -> list[float]:
        text = self._text
        for _, probability in contents:
            if probability < 0:
                text.fail(f"{named} has the negative probability {probability}", position)
        probabilities = [float(probability) for _, probability in contents]
        total = math.fsum(probabilities)
        if abs(total - 1) <= ROUNDING:
            return probabilities
        found = f"the probabilities of {named} sum to {total:.15g}, not to 1"
        if not (self._normalise and total > 0):
            text.fail(f"{found}; write exact fractions such as 1/3, or read with normalise=True", position)
        self._normalised += 1
        self._first_normalised = self._first_normalised or f"{text.path}, line {text.line(position)}: {found}"
        return [probability / total for probability in probabilities]

    def _check_count(self, moves: int, position: int) -> None:
        if moves > MOST_MOVES:
            self._text.fail(f"{moves:,} moves at one node, expected at most {MOST_MOVES:,}", position)

    def _read_outcome(self) -> Payoffs:
        """Read the outcome of a node; its payoffs stand there at least the first time."""
        text, position = self._text, self._text.position
        number = text.whole_number("the number of an outcome, 0 for none")
        described = text.kind in ("label", "open")
        text.optional_label()
        payoffs = text.payoffs() if text.accept("open") else None
        if number == 0:
            if described:
                text.fail("outcome 0 means that nothing is paid; number outcomes from 1", position)
            return NOTHING
        if payoffs is None and number not in self._outcomes:
            text.fail(f"outcome {number} not defined; its payoffs must stand where it first comes up", position)
        known, defined = self._outcomes.setdefault(number, (payoffs or NOTHING, position))
        if payoffs not in (None, known):
            text.fail(f"outcome {number} has other payoffs than on line {text.line(defined)}", position)
        return known

    def _check_payoffs(self, payoffs: Payoffs, position: int) -> None:
        """Payoffs are not too large to compute with, and have the same sum at every leaf."""
        if abs(payoffs[0]) > LARGEST_PAYOFF:
            self._text.fail(
                f"player 1 gets {shown(payoffs[0])} at this leaf, expected at most {LARGEST_PAYOFF:g} in size", position
            )
        total = payoffs[0] + payoffs[1]
        if self._first_leaf is None:
            self._first_leaf = total, position
            self._builder.payoff_sum = float(total)
        first_total, first = self._first_leaf
        if not same_sum(total, first_total, payoffs):
            self._text.fail(
                f"not a constant-sum game: payoffs sum to {shown(total)} at this leaf and to {shown(first_total)} at "
                f"the leaf on line {self._text.line(first)}",
                position,
            )

    def _fail_unfinished(self) -> NoReturn:
        if not self._path:
            self._text.fail("expected the root of the game tree, found the end of the file")
        above = self._path[-1]
        self._text.fail(
            f"the file ends too early: the node on line {self._text.line(above.position)} has {above.moves} moves, "
            f"but only {above.taken} subtrees follow it"
        )


def _listed(labels: list[str]) -> str:
    """Name the first few labels."""
    return "{ " + " ".join(map(quoted, labels[:5])) + (" … }" if len(labels) > 5 else " }")
