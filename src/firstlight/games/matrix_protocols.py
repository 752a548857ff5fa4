"""The matrix-game experiments of MI-SPRM+'s paper, as functions that claims and benchmarks call.

Averages are those of the theorems: R-weighted for MI-SPRM+, uniform for its peers.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from firstlight.games.data import SLOW_GAME, random_matrix_game
from firstlight.games.game_solution import GameSolution, convergence_slope
from firstlight.games.matrix_games import solve_matrix_game

# The step sizes over which the paper tunes its peers.
STEPS = (0.01, 0.1, 1.0)


def slow_game_gaps(iterations: int = 100_000, *, copies: int = 101, seed: int = 0) -> dict[str, float]:
    """Gaps of the first table: MI-SPRM+ by the published rule and its peers on the 3 × 3 game.

    Once MI-SPRM+ has converged, both sides of its criterion are rounding errors, and the published rule goes on raising
    R at random; its gap says more about the order of additions than about the method. So it is run on copies of the
    game with payoffs changed in their last digit, and the median is taken. The others do not depend on rounding.

    Parameters
    ----------
    iterations : rounds of self-play.
    copies : how many changed copies of the game the published rule solves.
    seed : of the changes.

    Returns
    -------
    The duality gap by method.
    """
    generator = np.random.default_rng(seed)
    changed = [SLOW_GAME * (1 + 2.0**-52 * generator.integers(-2, 3, SLOW_GAME.shape)) for _ in range(copies)]
    published = solve_all(changed, iterations=iterations, averaging="R", scale="paper")
    peers: dict[str, dict[str, Any]] = {
        "MI-SPRM+ (scale-free)": {"averaging": "R"},
        **{f"SPRM+ (step {step:g})": {"method": "sprm+", "averaging": "uniform", "eta": step} for step in STEPS},
        "IREG-PRM+": {"method": "ireg-prm+", "averaging": "uniform"},
        "PRM+": {"method": "prm+", "averaging": "uniform"},
        "RM+": {"method": "rm+", "averaging": "uniform"},
    }
    gaps = {"MI-SPRM+ (published rule)": float(np.median([solution.gap for solution in published]))}
    for name, options in peers.items():
        gaps[name] = solve_matrix_game(SLOW_GAME, iterations=iterations, **options).gap
    return gaps


@dataclass(frozen=True, eq=False)
class RandomGames:
    """What a method does on random games of one size and one standard deviation.

    Attributes
    ----------
    dimension, std : the cell.
    checked_at : iterations.
    gaps : geometric mean of the gaps over the games, in units of `std`.
    final_gaps : gap of each game at the end, in units of `std`.
    last_increments : iteration of the last growth of R in each game; empty for methods without.
    """

    dimension: int
    std: float
    checked_at: Int64[np.ndarray, " checks"]
    gaps: Float64[np.ndarray, " checks"]
    final_gaps: Float64[np.ndarray, " games"]
    last_increments: Int64[np.ndarray, " games_or_none"]

    @property
    def slope(self) -> float:
        """Exponent of convergence of the geometric mean, as `GameSolution.slope` fits it."""
        return convergence_slope(self.checked_at, self.gaps)

    @property
    def settled(self) -> float:
        """Share of the games in whose second half of iterations R did not grow."""
        return float(np.mean(self.last_increments <= self.checked_at[-1] / 2))


def random_games(
    dimension: int,
    std: float,
    *,
    seeds: Sequence[int] = range(60),
    iterations: int = 100_000,
    method: str = "mi-sprm+",
    **options: Any,
) -> RandomGames:
    """Solve random games of one size and standard deviation.

    Parameters
    ----------
    dimension, std : as `random_matrix_game` takes them.
    seeds : one game for each.
    iterations : rounds of self-play.
    method, **options : as `solve_matrix_game` takes them; the average is R-weighted for MI-SPRM+, else uniform.
    """
    options = {"averaging": "R" if method == "mi-sprm+" else "uniform"} | options
    games = [random_matrix_game(dimension, std, seed) for seed in seeds]
    solutions = solve_all(games, iterations=iterations, method=method, **options)
    # Gaps of zero, where rounding is all that is left, would spoil the geometric mean.
    gaps = np.maximum([solution.gaps for solution in solutions], 1e-17 * std) / std
    return RandomGames(
        dimension,
        std,
        solutions[0].checked_at,
        np.exp(np.log(gaps).mean(axis=0)),
        gaps[:, -1],
        np.array([solution.radius.last_increment for solution in solutions if solution.radius], np.int64),
    )


def best_smooth_gap(dimension: int, std: float, **options: Any) -> tuple[float, float]:
    """Return SPRM+'s smallest geometric-mean gap over the paper's step sizes, in units of `std`, and that step size."""
    gaps = {step: float(random_games(dimension, std, method="sprm+", eta=step, **options).gaps[-1]) for step in STEPS}
    best = min(gaps, key=gaps.__getitem__)
    return gaps[best], best


def scale_sensitivity(
    game: Float64[np.ndarray, "rows columns"], factors: Iterable[float], *, iterations: int = 100_000, **options: Any
) -> dict[float, float]:
    """Measure how much the unit of payoff changes the course of MI-SPRM+.

    Parameters
    ----------
    game : payoffs.
    factors : what they are multiplied with.
    iterations : rounds of self-play.
    **options : further ones of `solve_matrix_game`, such as ``scale="paper"``.

    Returns
    -------
    For each factor the largest ratio, at any check, between gap / factor and the gap at factor 1, or its inverse.
    Differences at the level of rounding are left out.
    """
    floor = 1e-13 * np.abs(game).max()

    def course(factor: float) -> np.ndarray:
        gaps = solve_matrix_game(factor * game, iterations=iterations, averaging="R", **options).gaps
        return np.log(np.maximum(gaps / factor, floor))

    plain = course(1.0)
    return {factor: float(np.exp(np.abs(course(factor) - plain).max())) for factor in factors}


def solve_all(games: Sequence[np.ndarray], **options: Any) -> list[GameSolution]:
    """Solve several games side by side in threads, as many as the machine has cores; compiled loops do not block."""

    def solve(game: np.ndarray) -> GameSolution:
        return solve_matrix_game(game, **options)

    with ThreadPoolExecutor() as threads:
        return list(threads.map(solve, games))
