"""Runs CFR until it is good enough: limits, exploitability on the way, Ctrl-C, a line of progress.

What the strategies are of, and in which units exploitability counts, is the business of the solvers built on it.
"""

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float64

from firstlight.errors import Interrupted, InvalidInput
from firstlight.games.certificate import Certificate
from firstlight.games.cfr_kernels import exploit, iterate
from firstlight.games.cfr_memory import new_memory
from firstlight.games.cfr_methods import averaging_power, find_method
from firstlight.games.flat_game import Treeplex
from firstlight.terminal import console

# Exploitability is measured when the iterations have grown by this factor; a measurement costs about one iteration.
CHECK_SPACING = 1.1
# How long the compiled loop runs before Python looks at the clock and the keyboard.
STRETCH_SECONDS = 0.05

Solution = TypeVar("Solution")


class Check(NamedTuple):
    """What was measured on the way: after which iteration, how exploitable the average is, and R."""

    iteration: int
    exploitability: float
    radius: float


class CFRRun(ABC, Generic[Solution]):
    """A run of a CFR method on a game in sequence form; the base of `CFRSolver` and `RiverSolver`.

    Parameters
    ----------
    treeplexes : the decisions of both players.
    payoffs : what each of them gets, in a form that `firstlight.games.payoffs.pay` knows.
    payoff_range : the largest payoff of an end minus the smallest.
    unit : units of payoff in a unit of exploitability.
    method, alternating, averaging, scale : as in `CFRSolver`.
    """

    def __init__(
        self,
        treeplexes: tuple[Treeplex, Treeplex],
        payoffs: tuple[Any, Any],
        *,
        payoff_range: float,
        unit: float = 1.0,
        method: str,
        alternating: bool,
        averaging: str | float | None,
        scale: str = "auto",
    ) -> None:
        self._method = find_method(method, scale)
        self.method = method
        self.alternating = alternating
        self.averaging = self._method.averaging if averaging is None else averaging
        self.scale = scale
        self._power = averaging_power(self.averaging)
        self._payoffs = payoffs
        self._memory = new_memory(treeplexes, self._method.radius * (payoff_range if self._method.scale_free else 1.0))
        self._unit = unit
        self._checks: list[Check] = []
        self._seconds = 0.0
        self._stretch = 1

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

    def exploitability(self) -> float:
        """Measure the average by exact best responses: half of NashConv, in the solver's unit."""
        return max(exploit(self._payoffs, self._memory.first, self._memory.second, *self._answer()), 0.0) / self._unit

    def run(
        self,
        iterations: int | None = None,
        *,
        target: float | None = None,
        seconds: float | None = None,
        progress: bool = False,
    ) -> Solution:
        """Iterate until the first of the given limits is met; a later call goes on from there.

        Parameters
        ----------
        iterations : how many more iterations to run.
        target : stop once the exploitability of the average is at most this, in units of payoff, or in mbb for a river
            endgame. It is measured whenever the iterations have grown by a tenth, which costs next to nothing.
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
            return self._finish(began)
        except KeyboardInterrupt:
            solution = self._finish(began)
            check = self._checks[-1]
            raise Interrupted(
                f"{self.method} stopped after {check.iteration:,} iterations with exploitability "
                f"{check.exploitability:.3g}; nothing is lost, run() goes on from here",
                {"equilibrium": solution},
            ) from None

    @abstractmethod
    def _certify(self) -> Certificate:
        """Measure the average strategies in the form in which they are handed out."""

    @abstractmethod
    def _solution(self, certificate: Certificate) -> Solution:
        """The average strategies with their certificate and the history so far."""

    def _answer(self) -> tuple[Float64[np.ndarray, " sequences_1"], Float64[np.ndarray, " sequences_2"]]:
        """Both players' sums of plans, or the plans in play where these are the answer or nothing is summed yet."""
        first, second, _ = self._memory
        if self.averaging == "last" or not self.iteration:
            return first.plan, second.plan
        return first.total, second.total

    def _iterate(self, count: int) -> None:
        method = self._method
        iterate(
            self._payoffs, *self._memory, method.rule, self.alternating, self._power, method.weighs_by_radius, count
        )

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
        return self._certify().exploitability / self._unit <= target

    def _finish(self, began: float) -> Solution:
        self._check()
        certificate = self._certify()
        self._seconds += time.perf_counter() - began
        return self._solution(certificate)

    def _history(self) -> dict[str, Any]:
        """What every solution records beside strategies and certificate."""
        iterations, exploitabilities, _ = zip(*self._checks, strict=True)
        return {
            "method": self.method,
            "iterations": self.iteration,
            "seconds": self._seconds,
            "checked_at": np.array(iterations, np.int64),
            "exploitabilities": np.array(exploitabilities),
        }


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
def _shown(run: CFRRun, shown: bool) -> Iterator[Callable[[], None]]:
    """Show a line about the run while the block runs; the function that is given refreshes it."""
    if not shown:
        yield lambda: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(run.method)

        def show() -> None:
            if run._checks:
                check = run._checks[-1]
                text = f"{run.method}: {check.iteration:,} iterations, exploitability {check.exploitability:.3g}"
                bar.update(task, description=text)

        yield show
