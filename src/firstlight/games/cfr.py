"""Counterfactual regret minimisation of two-player zero-sum games, under OpenSpiel's names."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float64

from firstlight.errors import Interrupted, InvalidInput
from firstlight.files import load_arrays, save_arrays
from firstlight.games.cfr_kernels import exploit, iterate
from firstlight.games.cfr_memory import fingerprint, memory_arrays, new_memory, restore
from firstlight.games.cfr_methods import averaging_power, find_method
from firstlight.games.equilibrium import Equilibrium, Profile, certify
from firstlight.games.flat_game import FlatGame
from firstlight.games.game_tree import TERMINAL
from firstlight.terminal import console

# Exploitability is measured when the iterations have grown by this factor; a measurement costs about one iteration.
CHECK_SPACING = 1.1
# How long the compiled loop runs before Python looks at the clock and the keyboard.
STRETCH_SECONDS = 0.05


class Check(NamedTuple):
    """What was measured on the way: after which iteration, how exploitable the average is, and R."""

    iteration: int
    exploitability: float
    radius: float


class CFRSolver:
    """Solve a two-player zero-sum game by counterfactual regret minimisation.

    A drop-in for OpenSpiel's ``CFRSolver`` and ``CFRPlusSolver``: the same method names and, for ``"cfr"`` and
    ``"cfr+"``, the same iterates.

    Parameters
    ----------
    game : a `FlatGame`, a ``pyspiel.Game``, or a string for ``pyspiel.load_game``.
    method : ``"mi-spcfr+"``, ``"ireg-pcfr+"``, ``"pcfr+"``, ``"spcfr+"``, ``"cfr+"``, ``"cfr"``, ``"linear-cfr"``,
        ``"dcfr"``, ``"dcfr+"`` or ``"pdcfr+"``; `firstlight.games.cfr_methods` says what they are.
    alternating : whether player 2 answers the new strategy of player 1, as CFR is run in practice, or both move at
        once, as it is analysed.
    averaging : which average of the strategies is the answer: ``"uniform"``, ``"linear"``, ``"quadratic"``, a number
        p for weights t^p, or ``"last"`` for the strategies in play; the method's own unless given. MI-SPCFR+ multiplies
        the weights by R.
    scale : of MI-SPCFR+: with ``"auto"`` R grows from a tiny part of the payoff range, so that the unit of the payoffs
        does not matter; ``"paper"`` is the published rule, R = 1, 2, 3 … in units of payoff.

    Raises
    ------
    InvalidInput
        If the game is not one of two players with constant sum and perfect recall, or an option is unknown.
    MissingExtra
        If `game` is not a `FlatGame` and OpenSpiel is not installed.

    Examples
    --------
    >>> solution = CFRSolver("kuhn_poker").run(target=1e-6)
    >>> lowest, highest = solution.value_bounds
    >>> lowest <= -1 / 18 <= highest
    True
    """

    def __init__(
        self,
        game: Any,
        method: str = "mi-spcfr+",
        *,
        alternating: bool = True,
        averaging: str | float | None = None,
        scale: Literal["auto", "paper"] = "auto",
    ) -> None:
        self._method = find_method(method, scale)
        self.method = method
        self.alternating = alternating
        self.averaging = self._method.averaging if averaging is None else averaging
        self.scale = scale
        self._power = averaging_power(self.averaging)
        self.game = game if isinstance(game, FlatGame) else FlatGame.from_openspiel(game)
        unit = payoff_range(self.game) if self._method.scale_free else 1.0
        self._memory = new_memory(self.game, self._method.radius * unit)
        self._checks: list[Check] = []
        self._seconds = 0.0
        self._stretch = 1
        # What OpenSpiel's policies are made from: the game, then the first policy, which saves walking it again.
        self._pattern = None if isinstance(game, FlatGame) else game

    @property
    def iteration(self) -> int:
        """Iterations finished."""
        return int(self._memory.progress["iteration"])

    @property
    def radius(self) -> float:
        """R of smooth regret matching; 0 for methods without."""
        return float(self._memory.progress["radius"])

    @property
    def increments(self) -> int:
        """How often R has grown."""
        return int(self._memory.progress["increments"])

    def evaluate_and_update_policy(self, iterations: int = 1) -> None:
        """Run an iteration, or several in one compiled loop, without measuring anything."""
        if iterations < 1:
            raise InvalidInput(f"iterations must be more than 0, got {iterations}")
        self._iterate(iterations)

    def current_profile(self) -> Profile:
        """Return the strategies in play."""
        behaviour = (self._memory.first.behaviour.copy(), self._memory.second.behaviour.copy())
        return Profile(self.game.tree.information_sets, behaviour, self.game.tree.title)

    def average_profile(self) -> Profile:
        """Return the average of the strategies so far, the answer."""
        return self.current_profile() if self.averaging == "last" else Profile.from_plans(self.game, self._answer())

    def current_policy(self) -> Any:
        """Return the strategies in play as an ``open_spiel.python.policy.TabularPolicy``."""
        return self._openspiel(self.current_profile())

    def average_policy(self) -> Any:
        """Return the average strategies as an ``open_spiel.python.policy.TabularPolicy``."""
        return self._openspiel(self.average_profile())

    def tabular_average_policy(self) -> Any:
        """Return the average strategies as a ``pyspiel.TabularPolicy``, the C++ one."""
        return self.average_profile().to_pyspiel()

    def exploitability(self) -> float:
        """Measure the average by exact best responses: half of NashConv, in units of payoff."""
        return max(exploit(self._memory.first, self._memory.second, *self._answer()), 0.0)

    def run(
        self,
        iterations: int | None = None,
        *,
        target: float | None = None,
        seconds: float | None = None,
        progress: bool = False,
    ) -> Equilibrium:
        """Iterate until the first of the given limits is met; a later call goes on from there.

        Parameters
        ----------
        iterations : how many more iterations to run.
        target : stop once the exploitability of the average is at most this, in units of payoff. It is measured
            whenever the iterations have grown by a tenth, which costs next to nothing.
        seconds : stop after this time. Compiling, once per machine, comes before.
        progress : show iterations and exploitability while it runs.

        Returns
        -------
        The average strategies, their certificate, and the exploitability on the way since the solver was made.

        Raises
        ------
        InvalidInput
            If no limit is given, or one is not positive.
        Interrupted
            On Ctrl-C. The solver stands after a whole iteration and can go on; ``finished["equilibrium"]`` holds
            the result so far.
        """
        _check_limits(iterations, target, seconds)
        self._iterate(0)
        began = time.perf_counter()
        last = sys.maxsize if iterations is None else self.iteration + iterations
        deadline = math.inf if seconds is None else began + seconds
        try:
            with _shown(self, progress) as show:
                while self.iteration < last and time.perf_counter() < deadline and not self._reached(target):
                    self._advance(min(last, 1 + int(CHECK_SPACING * self.iteration)), deadline)
                    show()
            return self._equilibrium(began)
        except KeyboardInterrupt:
            solution = self._equilibrium(began)
            raise Interrupted(
                f"{self.method} stopped after {solution.iterations:,} iterations with exploitability "
                f"{solution.exploitability:.3g}; nothing is lost, run() goes on from here",
                {"equilibrium": solution},
            ) from None

    def checkpoint(self, path: str | Path) -> None:
        """Write the solver's whole memory to a ``.npz`` file, whole or not at all; `resume` goes on from it."""
        checks = np.array(self._checks, dtype=np.float64).reshape(-1, len(Check._fields))
        save_arrays(
            path,
            game=np.array(fingerprint(self.game)),
            title=np.array(self.game.tree.title),
            method=np.array(self.method),
            alternating=np.array(self.alternating),
            averaging=np.array(self.averaging),
            scale=np.array(self.scale),
            checks=checks,
            seconds=np.array(self._seconds),
            **memory_arrays(self._memory),
        )

    @classmethod
    def resume(cls, path: str | Path, game: Any) -> "CFRSolver":
        """Return the solver that `checkpoint` wrote; it goes on as if it had never stopped, bit by bit.

        Parameters
        ----------
        path : the checkpoint.
        game : the game it was made for, in any form that the constructor takes.

        Raises
        ------
        InvalidInput
            If the file is no checkpoint or damaged, or the game is another one.
        """
        arrays = load_arrays(path)
        missing = {"game", "title", "method", "alternating", "averaging", "scale", "checks", "seconds"} - set(arrays)
        if missing:
            raise InvalidInput(f"{path} is not a checkpoint of CFRSolver: it has no {min(missing)}")
        flat = game if isinstance(game, FlatGame) else FlatGame.from_openspiel(game)
        if str(arrays["game"]) != fingerprint(flat):
            raise InvalidInput(
                f"{path} is a checkpoint of another game, {str(arrays['title'])!r}, not of {flat.tree.title!r}"
            )
        solver = cls(
            flat,
            str(arrays["method"]),
            alternating=bool(arrays["alternating"]),
            averaging=arrays["averaging"].item(),
            scale=arrays["scale"].item(),
        )
        restore(solver._memory, arrays)
        solver._checks = [Check(int(check[0]), *check[1:].tolist()) for check in arrays["checks"]]
        solver._seconds = float(arrays["seconds"])
        return solver

    def _answer(self) -> tuple[Float64[np.ndarray, " sequences_1"], Float64[np.ndarray, " sequences_2"]]:
        """Both players' sums of plans, or the plans in play where these are the answer or nothing is summed yet."""
        first, second, _ = self._memory
        if self.averaging == "last" or not self.iteration:
            return first.plan, second.plan
        return first.total, second.total

    def _openspiel(self, profile: Profile) -> Any:
        policy = profile.to_openspiel(self._pattern)
        self._pattern = policy
        return policy

    def _iterate(self, count: int) -> None:
        method = self._method
        iterate(*self._memory, method.rule, self.alternating, self._power, method.weighs_by_radius, count)

    def _advance(self, stop: int, deadline: float) -> None:
        """Iterate up to `stop`, in stretches so short that Ctrl-C and the deadline are met soon."""
        while self.iteration < stop:
            began = time.perf_counter()
            if began >= deadline:
                break
            self._iterate(min(self._stretch, stop - self.iteration))
            took = time.perf_counter() - began
            if took > STRETCH_SECONDS:
                self._stretch = max(1, self._stretch // 2)
            elif 2 * took < STRETCH_SECONDS:
                self._stretch *= 2

    def _check(self) -> float:
        """Measure the average and remember it, once per iteration."""
        if not self._checks or self._checks[-1].iteration < self.iteration:
            self._checks.append(Check(self.iteration, self.exploitability(), self.radius))
        return self._checks[-1].exploitability

    def _reached(self, target: float | None) -> bool:
        measured = self._check() if self.iteration else math.inf
        if target is None or measured > target:
            return False
        # The certificate has the last word, since it is computed from the strategies that are handed out.
        return certify(self.game, self.average_profile()).exploitability <= target

    def _equilibrium(self, began: float) -> Equilibrium:
        self._check()
        profile = self.average_profile()
        certificate = certify(self.game, profile)
        self._seconds += time.perf_counter() - began
        iterations, exploitabilities, radii = zip(*self._checks, strict=True)
        return Equilibrium(
            profile,
            certificate,
            self.method,
            self.iteration,
            self._seconds,
            checked_at=np.array(iterations, np.int64),
            exploitabilities=np.array(exploitabilities),
            radii=np.array(radii) if self._method.radius else None,
        )


def payoff_range(game: FlatGame) -> float:
    """Return the largest payoff of a leaf minus the smallest."""
    return float(np.ptp(game.tree.payoff[game.tree.player == TERMINAL]))


def _check_limits(iterations: int | None, target: float | None, seconds: float | None) -> None:
    given = {"iterations": iterations, "target": target, "seconds": seconds}
    if all(limit is None for limit in given.values()):
        raise InvalidInput("run needs a limit: iterations, target (exploitability) or seconds")
    for name, limit in given.items():
        if limit is not None and not limit > 0:
            raise InvalidInput(f"{name} must be more than 0, got {limit}")
    if iterations is not None and iterations != int(iterations):
        raise InvalidInput(f"iterations must be a whole number, got {iterations}")


@contextmanager
def _shown(solver: CFRSolver, shown: bool) -> Iterator[Callable[[], None]]:
    """Show a line about the solver while the block runs; the function that is given refreshes it."""
    if not shown:
        yield lambda: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(solver.method)

        def show() -> None:
            if solver._checks:
                check = solver._checks[-1]
                text = f"{solver.method}: {check.iteration:,} iterations, exploitability {check.exploitability:.3g}"
                bar.update(task, description=text)

        yield show
