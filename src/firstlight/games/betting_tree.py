"""The public side of a poker river: who may bet what, without any cards.

Player 1 (index 0) acts first. A bet is a share of the pot; a raise is a share of the pot after calling. The
smallest bet is a big blind, the smallest raise the size of the bet or raise before it, and a bet that the stack
does not cover is all-in.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from firstlight.errors import InvalidInput
from firstlight.games.flat_game import Treeplex
from firstlight.games.game_tree import TERMINAL

Chips = float | int
BetSize = float | int | str  # a share of the pot, or "allin"

# At the limit the solver's arrays take about a gigabyte; trees of practice have some hundred nodes.
_MAX_NODES, _MAX_MOVES = 20_000, 100


class PublicNode(NamedTuple):
    """A point of the betting.

    Attributes
    ----------
    line : the moves so far, such as ``("check", "bet 250")``.
    player : who acts, 0 or 1, or `TERMINAL`.
    committed : what each player has put in since the river began.
    folded : who has folded, else None.
    actions : the moves here.
    children : number of the node behind each move.
    """

    line: tuple[str, ...]
    player: int
    committed: tuple[float, float]
    folded: int | None = None
    actions: tuple[str, ...] = ()
    children: tuple[int, ...] = ()


class Ends(NamedTuple):
    """Where the betting ends, seen by one player: all folds, or all showdowns.

    Attributes
    ----------
    mine, theirs : the last move of the player and of the opponent on the way there, counted from 0 over all moves of
        each; int64. Both have moved before any end.
    stake : what the player wins there, by the fold or by holding the better hand; float64.
    """

    mine: np.ndarray
    theirs: np.ndarray
    stake: np.ndarray


@dataclass(frozen=True)
class BettingTree:
    """All lines of betting on the river.

    Attributes
    ----------
    nodes : parents before children; node 0 is the root.
    treeplexes : each player's own moves; information set i of player p stands for node ``decisions[p][i]``.
    decisions : the nodes at which each player acts.
    folds, showdowns : where the betting ends, seen by each player.
    """

    nodes: tuple[PublicNode, ...]
    treeplexes: tuple[Treeplex, Treeplex]
    decisions: tuple[tuple[int, ...], tuple[int, ...]]
    folds: tuple[Ends, Ends]
    showdowns: tuple[Ends, Ends]

    def moves(self, player: int) -> list[str]:
        """Return the player's moves in the order of the sequences, each as the line that it ends."""
        ends = (child for number in self.decisions[player] for child in self.nodes[number].children)
        return [", ".join(self.nodes[child].line) for child in ends]

    def decision(self, line: str) -> tuple[int, int, tuple[str, ...]]:
        """Return who decides after a line, the first of the player's moves there (counted from 0), and their names.

        Raises
        ------
        InvalidInput
            If the line is not possible, or the betting is over after it.
        """
        number = self.find(line)
        node = self.nodes[number]
        if node.player == TERMINAL:
            raise InvalidInput(f"the betting is over after {', '.join(node.line)!r}; nobody moves there")
        place = self.decisions[node.player].index(number)
        return node.player, int(self.treeplexes[node.player].start[place]) - 1, node.actions

    def find(self, line: str) -> int:
        """Return the number of the node after a line such as ``"check, bet 250, call"``; "" is the root.

        ``"all-in"`` names the bet or raise of all chips, whatever its size.

        Raises
        ------
        InvalidInput
            If a move of the line is not possible; the text lists those that are.
        """
        number = 0
        for given in filter(None, (" ".join(part.split()).lower() for part in line.split(","))):
            node = self.nodes[number]
            all_in = given == "all-in" and node.actions and node.actions[-1].startswith(("bet", "raise"))
            move = node.actions[-1] if all_in else given
            if move not in node.actions:
                after = f"after {', '.join(node.line)!r}" if node.line else "first"
                choice = ", ".join(node.actions) or "nothing, the hand is over"
                raise InvalidInput(f"{given!r} is not possible {after}; possible: {choice}")
            number = node.children[node.actions.index(move)]
        return number


def grow_betting_tree(pot: Chips, behind: Chips, bets: Sequence[BetSize], big_blind: Chips) -> BettingTree:
    """Grow the tree of all bets.

    Parameters
    ----------
    pot : chips in the middle, half from each player.
    behind : chips that each player has left.
    bets : sizes as shares of the pot, and ``"allin"``.
    big_blind : the smallest bet.

    Raises
    ------
    InvalidInput
        If an amount or size is not positive and finite, or the tree would have over 20,000 nodes or lines of over
        100 moves.
    """
    _check_amounts(pot, behind, bets, big_blind)
    rules = _Rules(float(pot), float(behind), tuple(bets), float(big_blind))
    nodes: list[PublicNode] = []
    _grow(rules, nodes, (), 0, (0.0, 0.0), 0.0)
    return _with_sequences(nodes, rules.pot)


class _Rules(NamedTuple):
    """The parameters of `grow_betting_tree`."""

    pot: float
    behind: float
    bets: tuple[BetSize, ...]
    big_blind: float

    def bet_totals(self, called: float, raised: float) -> list[float]:
        """What a bettor may have put in after a bet or raise on top of `called`, ascending."""
        if called >= self.behind:
            return []
        smallest = max(raised, self.big_blind)
        shares = [math.inf if size == "allin" else float(size) for size in self.bets]
        return sorted({min(self.behind, called + max(smallest, share * (self.pot + 2 * called))) for share in shares})


def _grow(
    rules: _Rules,
    nodes: list[PublicNode],
    line: tuple[str, ...],
    player: int,
    committed: tuple[float, float],
    raised: float,
) -> int:
    """Add the node after `line` and all below it; `raised` is the size of the bet or raise to answer, 0 for none."""
    number = len(nodes)
    if number >= _MAX_NODES or len(line) > _MAX_MOVES:
        raise InvalidInput(
            f"bet sizes {rules.bets} give over {_MAX_NODES:,} nodes or lines of over {_MAX_MOVES} moves; "
            "use fewer or larger sizes"
        )
    nodes.append(PublicNode(line, player, committed))
    theirs = committed[1 - player]
    moves: list[tuple[str, int]] = []
    if raised:
        moves.append(("fold", _end(nodes, (*line, "fold"), committed, player)))
        moves.append(("call", _end(nodes, (*line, "call"), (theirs, theirs), None)))
    elif line:
        moves.append(("check", _end(nodes, (*line, "check"), committed, None)))
    else:
        moves.append(("check", _grow(rules, nodes, ("check",), 1 - player, committed, 0.0)))
    for total in rules.bet_totals(theirs, raised):
        label = f"raise to {total:.10g}" if raised else f"bet {total:.10g}"
        after = (total, theirs) if player == 0 else (theirs, total)
        moves.append((label, _grow(rules, nodes, (*line, label), 1 - player, after, total - theirs)))
    actions, children = zip(*moves, strict=True)
    nodes[number] = nodes[number]._replace(actions=actions, children=children)
    return number


def _end(nodes: list[PublicNode], line: tuple[str, ...], committed: tuple[float, float], folded: int | None) -> int:
    nodes.append(PublicNode(line, TERMINAL, committed, folded))
    return len(nodes) - 1


def _with_sequences(nodes: list[PublicNode], pot: float) -> BettingTree:
    """Number both players' sequences and collect the ends."""
    sequences = np.zeros((len(nodes), 2), dtype=np.int64)
    decisions: tuple[list[int], list[int]] = ([], [])
    n_sequences = [1, 1]
    for number, node in enumerate(nodes):
        if node.player != TERMINAL:
            decisions[node.player].append(number)
            for child in node.children:
                sequences[child] = sequences[number]
                sequences[child, node.player] = n_sequences[node.player]
                n_sequences[node.player] += 1
    folds = [number for number, node in enumerate(nodes) if node.folded is not None]
    showdowns = [number for number, node in enumerate(nodes) if node.player == TERMINAL and node.folded is None]
    # Whoever folds loses half the pot and what they have put in; at a showdown both have put in the same.
    won = [_won_by_fold(nodes[number], pot) for number in folds]
    shown = [pot / 2 + nodes[number].committed[0] for number in showdowns]
    return BettingTree(
        tuple(nodes),
        (_treeplex(nodes, decisions[0], sequences[:, 0]), _treeplex(nodes, decisions[1], sequences[:, 1])),
        (tuple(decisions[0]), tuple(decisions[1])),
        _seen_by_both(sequences[folds], np.array(won), np.array([1.0, -1.0])),
        _seen_by_both(sequences[showdowns], np.array(shown), np.array([1.0, 1.0])),
    )


def _treeplex(nodes: list[PublicNode], decisions: list[int], sequences: Int64[np.ndarray, " nodes"]) -> Treeplex:
    return Treeplex(
        sequences[decisions].astype(np.int32),
        np.array([sequences[nodes[number].children[0]] for number in decisions], dtype=np.int32),
        np.array([len(nodes[number].actions) for number in decisions], dtype=np.int32),
    )


def _won_by_fold(node: PublicNode, pot: Chips) -> float:
    """What player 1 wins."""
    return -pot / 2 - node.committed[0] if node.folded == 0 else pot / 2 + node.committed[1]


def _seen_by_both(
    sequences: Int64[np.ndarray, "ends 2"], stake: Float64[np.ndarray, " ends"], signs: Float64[np.ndarray, "2"]
) -> tuple[Ends, Ends]:
    """The ends in both players' eyes; `stake` is player 1's times its sign."""
    first, second = np.ascontiguousarray(sequences.T) - 1
    return Ends(first, second, signs[0] * stake), Ends(second, first, signs[1] * stake)


def _check_amounts(pot: Chips, behind: Chips, bets: Sequence[BetSize], big_blind: Chips) -> None:
    if not (math.isfinite(pot) and pot > 0):
        raise InvalidInput(f"the pot is {pot}; expected a positive number of chips")
    if not (math.isfinite(behind) and behind >= 0):
        raise InvalidInput(f"the players have {behind} chips behind; expected a finite number, at least 0")
    if not (math.isfinite(big_blind) and big_blind > 0):
        raise InvalidInput(f"the big blind is {big_blind}; expected a positive number of chips")
    if isinstance(bets, str) or len(bets) == 0:
        raise InvalidInput(f"bets is {bets!r}; expected some sizes such as (0.5, 1.0, 'allin')")
    for size in bets:
        if size != "allin" and (isinstance(size, str | bool) or not (math.isfinite(size) and size > 0)):
            raise InvalidInput(f"bet size {size!r}: expected a positive share of the pot such as 0.5, or 'allin'")
