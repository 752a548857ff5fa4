"""CFR methods side by side: the tables that claims and benchmarks print.

Two protocols, and neither replaces the other. The papers of this line update both players at once and average
uniformly, which is what the theory is about; practitioners alternate and give late iterations more weight, which is
faster for every method and narrows the differences.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from firstlight.games.cfr import CFRSolver
from firstlight.games.flat_game import FlatGame


@dataclass(frozen=True)
class Protocol:
    """How all methods of a comparison are run."""

    alternating: bool
    averaging: str


PAPER = Protocol(alternating=False, averaging="uniform")
PRACTICE = Protocol(alternating=True, averaging="quadratic")

# The literal rule of MI-SPCFR⁺ among the names of the methods.
PUBLISHED = "mi-spcfr+ (paper)"
CONTESTANTS = ("cfr+", "dcfr", "pcfr+", "pdcfr+", "spcfr+", "ireg-pcfr+", PUBLISHED, "mi-spcfr+")


def contestant(game: FlatGame, name: str, protocol: Protocol) -> CFRSolver:
    """Return a solver for a method's name or `PUBLISHED`."""
    scale = "paper" if name == PUBLISHED else "auto"
    method = "mi-spcfr+" if name == PUBLISHED else name
    return CFRSolver(game, method, alternating=protocol.alternating, averaging=protocol.averaging, scale=scale)


def compare_methods(
    games: Mapping[str, FlatGame],
    protocol: Protocol,
    *,
    methods: Iterable[str] = CONTESTANTS,
    iterations: int = 10_000,
) -> list[dict[str, Any]]:
    """Measure the exploitability that each method reaches on each game.

    Parameters
    ----------
    games : the games by name.
    protocol : `PAPER` or `PRACTICE`.
    methods : names of methods, `PUBLISHED` among them if wanted.
    iterations : how many each of them runs.

    Returns
    -------
    A row for each game: its name under ``"game"`` and an exploitability, in units of payoff, under each method's name.
    """
    rows = []
    for title, game in games.items():
        row: dict[str, Any] = {"game": title}
        for name in methods:
            row[name] = contestant(game, name, protocol).run(iterations).exploitability
        rows.append(row)
    return rows


def scaled(game: FlatGame, factor: float) -> FlatGame:
    """Return the game with all payoffs multiplied."""
    tree = replace(game.tree, payoff=game.tree.payoff * factor, payoff_sum=game.tree.payoff_sum * factor)
    return replace(game, payoff=game.payoff * factor, payoff_transposed=game.payoff_transposed * factor, tree=tree)


def scale_sensitivity(
    game: FlatGame, factors: Iterable[float], *, method: str = "mi-spcfr+", iterations: int = 10_000
) -> list[dict[str, float]]:
    """Measure how much the unit of the payoffs changes the course of a method, simultaneous and averaged uniformly.

    Returns
    -------
    A row for each factor that multiplies the payoffs: ``"factor"``, and under ``"change"`` the largest ratio, over all
    checks on the way, of exploitability / factor to the exploitability at factor 1, or its inverse.
    """
    plain = contestant(game, method, PAPER).run(iterations).exploitabilities
    rows = []
    for factor in factors:
        measured = contestant(scaled(game, factor), method, PAPER).run(iterations).exploitabilities / factor
        change = float(np.exp(np.abs(np.log(measured / plain)).max()))
        rows.append({"factor": factor, "change": change})
    return rows


def iteration_rate(iterate: Callable[[int], Any], *, seconds: float = 0.5) -> float:
    """Return iterations per second of processor time, so that other programs on the machine do not count.

    Parameters
    ----------
    iterate : runs a number of iterations. One of them is run beforehand, to compile and to warm up.
    seconds : how long to measure.
    """
    iterate(1)
    began = time.process_time()
    done, count = 0, 1
    while (spent := time.process_time() - began) < seconds:
        iterate(count)
        done += count
        count *= 2
    return done / spent


def solver_rate(game: FlatGame, method: str, *, seconds: float = 0.5) -> float:
    """Return how many alternating iterations a method makes per second of processor time."""
    return iteration_rate(contestant(game, method, PRACTICE).evaluate_and_update_policy, seconds=seconds)


def openspiel_rate(name: str, *, seconds: float = 0.5) -> float:
    """Return how many iterations ``pyspiel.CFRPlusSolver`` makes per second of processor time."""
    import pyspiel

    solver = pyspiel.CFRPlusSolver(pyspiel.load_game(name))

    def iterate(count: int) -> None:
        for _ in range(count):
            solver.evaluate_and_update_policy()

    return iteration_rate(iterate, seconds=seconds)
