"""Runs the claims of systems, one after another, and gathers what they measured into a report.

A claim that raises is reported as failed with its reason; the others are measured all the same.
"""

import os
import platform
import time
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from firstlight import __version__
from firstlight.catalogue import System, find, missing_extra, working
from firstlight.errors import FirstlightError, Interrupted
from firstlight.evidence import Budget, Claim, Measurement, claims_in
from firstlight.report import Outcome, Report
from firstlight.terminal import console


def verify(*names: str, full: bool = False, seed: int = 0, progress: bool = True) -> Report:
    """Measure the claims of systems, one after another.

    Ctrl-C ends the run early; the report then holds what was measured until then.

    Parameters
    ----------
    names : paths or command words of systems; without any, all that work.
    full : run the papers' full protocols, which may take hours, instead of the quick form.
    seed : seed of everything random.
    progress : show on standard error what is being measured.

    Returns
    -------
    The report, with ``holds``, ``to_json()``, ``write_json(path)`` and ``write_html(path)``.

    Raises
    ------
    InvalidInput
        If a name is not that of a working system.
    """
    systems = tuple(dict.fromkeys(map(find, names))) or tuple(working())
    claims = [(system, claim) for system in systems for claim in _claims(system)]
    started, clock = datetime.now(UTC), time.perf_counter()
    outcomes = []
    with _Progress(len(claims), shown=progress) as watcher, suppress(KeyboardInterrupt, Interrupted):
        for system, claim in claims:
            watcher.begin(claim)
            outcomes.append(_measure(system, claim, Budget(full, seed)))
            watcher.finish(outcomes[-1])
    return Report(
        outcomes=tuple(outcomes),
        systems=systems,
        asked=len(claims),
        full=full,
        seed=seed,
        started=started,
        seconds=time.perf_counter() - clock,
        machine=_machine(),
        versions=_versions({system.field for system in systems}),
    )


def _claims(system: System) -> list[Claim]:
    """Return the claims of a system; if they cannot be imported, one claim that says why."""
    try:
        claims = claims_in(system.part("claims"))
    except Exception as error:
        return [Claim("the claims of this system can be imported", "ours", partial(_raise, error))]
    return claims or [Claim("this system makes claims", "ours", partial(_raise, LookupError("claims.py holds none")))]


def _raise(error: Exception, budget: Budget) -> Measurement:
    raise error


def _measure(system: System, claim: Claim, budget: Budget) -> Outcome:
    """Measure one claim; whatever it raises, short of a stop, becomes the reason of its failure."""
    clock = time.perf_counter()
    try:
        measurement = claim(budget)
        if not isinstance(measurement, Measurement):
            raise TypeError(f"the claim returned {type(measurement).__name__}, expected a Measurement")
        return Outcome(system.path, claim, time.perf_counter() - clock, measurement)
    except Interrupted:
        raise
    except Exception as error:
        reason = missing_extra(error, system.field) if isinstance(error, ModuleNotFoundError) else error
        kind = "" if isinstance(reason, FirstlightError) else f"{type(reason).__name__}: "
        failure = kind + " ".join(str(reason).split())
        return Outcome(system.path, claim, time.perf_counter() - clock, failure=failure, trace=traceback.format_exc())


class _Progress:
    """Shows which claim is being measured: live on a terminal, one line per finished claim in a pipe."""

    def __init__(self, claims: int, *, shown: bool) -> None:
        self._console = console(stderr=True)
        self._console.quiet = not shown
        sentence = TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"))
        columns = (SpinnerColumn(), MofNCompleteColumn(), BarColumn(16), TimeElapsedColumn(), sentence)
        live = shown and self._console.is_terminal
        self._bar = Progress(*columns, console=self._console, expand=True, transient=True, disable=not live)
        self._task = self._bar.add_task("", total=claims)

    def __enter__(self) -> "_Progress":
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def begin(self, claim: Claim) -> None:
        self._bar.update(self._task, description=escape(claim.statement))

    def finish(self, outcome: Outcome) -> None:
        self._bar.advance(self._task)
        mark, colour = ("✓", "green") if outcome.holds else ("✗", "red")
        line = f"[{colour}]{mark} {outcome.verdict:6}[/] {outcome.seconds:7.1f} s  {outcome.system}: "
        self._console.print(line + escape(outcome.claim.statement))


def _machine() -> dict[str, str]:
    """Describe this machine in words."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    described = {"processor": processor, "cores": f"{usable} usable of {os.cpu_count()}"}
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        described["memory"] = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    return described | {"system": platform.platform(terse=True)}


def _versions(fields: set[str]) -> dict[str, str]:
    """Return the versions of what every system stands on and of what the extras of these fields bring."""
    libraries = ["numpy", "scipy", "numba", "torch"]
    with suppress(metadata.PackageNotFoundError):  # run from a source tree that was not installed
        for requirement in map(Requirement, metadata.requires("firstlight") or ()):
            if requirement.marker and any(requirement.marker.evaluate({"extra": field}) for field in fields):
                libraries.append(requirement.name)
    versions = {"firstlight": __version__, "Python": platform.python_version()}
    for library in dict.fromkeys(libraries):
        versions[library] = "not installed"
        with suppress(metadata.PackageNotFoundError):
            versions[library] = metadata.version(library)
    return versions
