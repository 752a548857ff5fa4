"""Zero-sum matrix games: min_x max_y xᵀAy, solved by self-play, with a proof of the value."""

import time
from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np

from firstlight.errors import Interrupted, InvalidInput
from firstlight.games.first_order import OGDA, OMWU, DSOptMD
from firstlight.games.game_solution import GameSolution, RadiusTrace
from firstlight.games.matrix_loop import SelfPlay, Weights
from firstlight.games.matrix_lp import solve_by_lp
from firstlight.games.matrix_payoffs import checked_payoffs, shape_of, value_bounds
from firstlight.games.minimiser import Minimiser
from firstlight.games.regret import IREGPRMPlus, MISPRMPlus, PRMPlus, RMPlus, SOGRMPlus, SPRMPlus

METHODS: dict[str, type[Minimiser]] = {
    "mi-sprm+": MISPRMPlus,
    "ireg-prm+": IREGPRMPlus,
    "sogrm+": SOGRMPlus,
    "sprm+": SPRMPlus,
    "prm+": PRMPlus,
    "rm+": RMPlus,
    "ds-optmd": DSOptMD,
    "ogda": OGDA,
    "omwu": OMWU,
}

# The power of t in the weight of round t; "last" takes the last strategies alone.
AVERAGES = {"uniform": 0.0, "R": 0.0, "linear": 1.0, "quadratic": 2.0, "last": 0.0}

CHECKS_PER_DECADE = 10


def solve_matrix_game(
    A: Any,
    method: str = "mi-sprm+",
    iterations: int = 10_000,
    *,
    averaging: str = "quadratic",
    tol: float | None = None,
    **options: Any,
) -> GameSolution:
    """Solve min_x max_y xᵀAy: the row player loses what the column player wins.

    Parameters
    ----------
    A : payoffs to the column player, rows × columns: a NumPy array, nested lists, a torch tensor, a SciPy sparse array,
        or a SciPy `LinearOperator` for a pair of functions. Dense payoffs are played in compiled code.
    method : "mi-sprm+" (without parameters to tune), its relatives "ireg-prm+", "sogrm+", "sprm+", "prm+", "rm+", the
        first-order methods "ds-optmd", "ogda", "omwu", or "lp" for the linear program, solved by HiGHS.
    iterations : rounds of self-play, at most.
    averaging : weight of round t in the strategies returned: "uniform"; "R", the weights of MI-SPRM+'s theorem;
        "linear" or "quadratic", t or t², for MI-SPRM+ times R; or "last" for the last round alone.
    tol : stop once the gap is at most this, in units of payoff. It is looked at ten times per decade of iterations.
    **options : parameters of the method, as its class in `firstlight.games` takes them: ``eta`` and ``R``, or ``scale``
        and ``growth``.

    Returns
    -------
    Strategies with proved bounds on the value, and how the gap fell.

    Raises
    ------
    InvalidInput
        If the payoffs are not a finite real matrix, or a name or number is not as above.
    Interrupted
        On Ctrl-C; its ``finished["solution"]`` is the solution so far.

    Examples
    --------
    >>> from firstlight.games import solve_matrix_game
    >>> solution = solve_matrix_game([[0, 1, -1], [-1, 0, 2], [1, -2, 0]])
    >>> solution.x.round(3)
    array([0.5 , 0.25, 0.25])
    """
    payoffs = checked_payoffs(A)
    _check_numbers(iterations, tol)
    if method == "lp":
        _check_options(method, options, known=set())
        return solve_by_lp(payoffs)
    players = _players(method, shape_of(payoffs), options)
    run = _Run(SelfPlay(payoffs, players, _weights(method, averaging)), method, averaging)
    try:
        run.play(iterations, tol)
    except KeyboardInterrupt as stop:
        solution = run.solution()
        raise Interrupted(f"stopped after {solution.iterations} iterations", {"solution": solution}) from stop
    return run.solution()


def _check_numbers(iterations: int, tol: float | None) -> None:
    if not (isinstance(iterations, int | np.integer) and iterations >= 1):
        raise InvalidInput(f"iterations must be a whole number of at least 1, got {iterations}")
    if tol is not None and not tol >= 0.0:
        raise InvalidInput(f"tol must be at least 0, got {tol}")


def _weights(method: str, averaging: str) -> Weights:
    if averaging not in AVERAGES:
        raise InvalidInput(f"averaging must be one of {', '.join(AVERAGES)}; got {averaging!r}")
    if averaging == "R" and method != "mi-sprm+":
        raise InvalidInput(f'averaging "R" weighs by the radius of mi-sprm+, which {method} does not have')
    by_radius = method == "mi-sprm+" and averaging in ("R", "linear", "quadratic")
    return Weights(AVERAGES[averaging], by_radius, last_only=averaging == "last")


def _players(method: str, shape: tuple[int, int], options: dict[str, Any]) -> tuple[Minimiser, Minimiser]:
    """Make both players' minimisers; those of MI-SPRM+ share one radius."""
    if method not in METHODS:
        raise InvalidInput(f"method must be one of {', '.join(METHODS)}, lp; got {method!r}")
    _check_options(method, options, known=signature(METHODS[method]).parameters.keys() - {"n_actions", "radius"})
    row = METHODS[method](shape[0], **options)
    if isinstance(row, MISPRMPlus):
        return row, MISPRMPlus(shape[1], radius=row.radius)
    return row, METHODS[method](shape[1], **options)


def _check_options(method: str, options: dict[str, Any], known: set[str]) -> None:
    if unknown := options.keys() - known:
        raise InvalidInput(f"{method} has no option {min(unknown)!r}; it has {', '.join(sorted(known)) or 'none'}")


class _Run:
    """Self-play with what is measured on the way."""

    def __init__(self, game: SelfPlay, method: str, averaging: str) -> None:
        self.game = game
        self.method = method
        self.averaging = averaging
        self.began = time.perf_counter()
        self.checked_at: list[int] = []
        self.gaps: list[float] = []
        self.radii: list[float] = []

    def play(self, iterations: int, tol: float | None) -> None:
        for rounds in _checks(iterations):
            self.game.play_until(rounds)
            lower, upper = value_bounds(self.game.payoffs, *self.game.strategies())
            self.checked_at.append(rounds)
            self.gaps.append(upper - lower)
            self.radii.append(float(self.game.bound["value"]))
            if tol is not None and upper - lower <= tol:
                return

    def solution(self) -> GameSolution:
        x, y = self.game.strategies()
        return GameSolution(
            x,
            y,
            value_bounds(self.game.payoffs, x, y),
            method=self.method,
            averaging=self.averaging,
            iterations=self.game.rounds,
            seconds=time.perf_counter() - self.began,
            checked_at=np.array(self.checked_at, np.int64),
            gaps=np.array(self.gaps, np.float64),
            radius=self._radius() if self.method == "mi-sprm+" else None,
        )

    def _radius(self) -> RadiusTrace:
        bound = self.game.bound
        return RadiusTrace(
            values=np.array(self.radii, np.float64),
            increments=int(bound["increments"]),
            last_increment=int(bound["last_increment"]),
            tightest=float(bound["tightest"]),
        )


def _checks(iterations: int) -> Iterator[int]:
    """Yield the iterations to look at, evenly on a logarithmic scale; the last is always one of them."""
    exponent, rounds = 0, 1
    while rounds < iterations:
        yield rounds
        while round(10 ** (exponent / CHECKS_PER_DECADE)) <= rounds:
            exponent += 1
        rounds = round(10 ** (exponent / CHECKS_PER_DECADE))
    yield iterations
