"""Runs the claims of systems, one after another, and reports what they measured: as a table, as data, and as a page.

A claim that raises is reported as failed with its reason; the others are measured all the same.
"""

import io
import json
import os
import platform
import re
import time
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import metadata, resources
from itertools import groupby
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from firstlight import __version__
from firstlight.catalogue import System, find, working
from firstlight.errors import FirstlightError, Interrupted
from firstlight.evidence import Budget, Claim, Measurement, claims_in
from firstlight.terminal import console, readable

FIGURE_STYLE = {
    "axes.grid": True,
    # Of the palette of Okabe and Ito (safe for the colour-blind) the hues that stand out from white and from black.
    "axes.prop_cycle": "cycler(color=['0072B2', 'D55E00', '009E73', 'CC79A7', '808080', 'A6761D'])",
    "figure.constrained_layout.use": True,
    "figure.figsize": (4.4, 2.9),  # small, so that words stay legible on a phone
    "font.size": 9.0,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "savefig.transparent": True,
    "svg.fonttype": "none",  # text stays text, which is smaller
}


@dataclass(frozen=True)
class Outcome:
    """What became of one claim.

    Attributes
    ----------
    system : the system that claims it.
    claim : the claim.
    seconds : wall time it took.
    measurement : what it measured, unless it failed.
    failure : why it failed, in one line; empty if it was measured.
    trace : where it failed.
    """

    system: System
    claim: Claim
    seconds: float
    measurement: Measurement | None = None
    failure: str = ""
    trace: str = ""

    @property
    def holds(self) -> bool:
        """Whether the claim was measured and its measurement is on the good side of the bar."""
        return self.measurement is not None and self.measurement.holds

    @property
    def verdict(self) -> str:
        """One word: "holds", "missed" or "failed"."""
        return "holds" if self.holds else "missed" if self.measurement else "failed"

    @property
    def mark(self) -> str:
        """The verdict in colour, for a terminal."""
        return f"[green]✓ {self.verdict}[/]" if self.holds else f"[bold red]✗ {self.verdict}[/]"


@dataclass(frozen=True)
class Report:
    """What `verify` found, where, and with what.

    Attributes
    ----------
    command : the command line that runs the same again.
    outcomes : one per claim that was run, in order.
    asked : number of claims that were asked for; more than the outcomes if the run was stopped.
    full : whether the full protocols were run.
    seed : seed of everything random.
    started : when the run began, UTC.
    seconds : wall time of the whole run.
    machine : processor, cores, memory and operating system.
    versions : of firstlight, Python, and the libraries the systems stand on.
    """

    command: str
    outcomes: tuple[Outcome, ...]
    asked: int
    full: bool
    seed: int
    started: datetime
    seconds: float
    machine: Mapping[str, str]
    versions: Mapping[str, str]

    @property
    def stopped(self) -> bool:
        """Whether the run was stopped before every claim was measured."""
        return len(self.outcomes) < self.asked

    @property
    def holds(self) -> bool:
        """Whether every claim was measured and holds."""
        return not self.stopped and all(outcome.holds for outcome in self.outcomes)

    @property
    def verdict(self) -> str:
        """The result in one line."""
        held, measured = sum(outcome.holds for outcome in self.outcomes), len(self.outcomes)
        text = f"{held} of {measured} {'claim holds' if measured == 1 else 'claims hold'}"
        return f"{text}; stopped with {self.asked - measured} still to measure" if self.stopped else text

    def by_system(self) -> dict[System, list[Outcome]]:
        """Return the outcomes of each system that was begun."""
        return {system: list(group) for system, group in groupby(self.outcomes, lambda outcome: outcome.system)}

    def tables(self) -> Iterator[Table]:
        """Yield a table for the terminal of each system; long names fold, so that a narrow one shows them whole."""
        for system, outcomes in self.by_system().items():
            title, narrow = f"{system.path}: {system.summary}", (0, 1, 0, 0)
            table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=narrow)
            for heading in ("holds", "claim", "measured", "bar", "peer", "s"):
                table.add_column(heading, overflow="fold")
            for outcome in outcomes:
                sentence, figures = f"{outcome.claim.statement}\n{outcome.failure}".strip(), ("", "", "")
                if measured := outcome.measurement:
                    value = "" if measured.peer_value is None else f": {measured.text(measured.peer_value)}"
                    figures = measured.text(measured.value), measured.bar_text, measured.peer + value
                table.add_row(outcome.mark, *map(escape, (sentence, *figures)), f"{outcome.seconds:.1f}")
            yield table

    def to_json(self) -> str:
        """Return the report as strict JSON; a figure that is not finite is the string NaN, Infinity or -Infinity."""
        content = {"verdict": self.verdict, "holds": self.holds, **vars(self)}
        content["claims"] = [_content(outcome) for outcome in content.pop("outcomes")]
        # What Python writes of a figure that is not finite is no JSON; when it is read back, it becomes a string.
        loose = json.dumps(content, default=lambda thing: thing.tolist() if hasattr(thing, "tolist") else str(thing))
        return json.dumps(json.loads(loose, parse_constant=str), indent=2, ensure_ascii=False) + "\n"

    def to_html(self) -> str:
        """Return the report as one page that needs no other file."""
        import jinja2  # it and matplotlib take a tenth of a second each, and only the page needs them

        pages = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        pages.filters |= {"readable": readable, "picture": _picture}
        template = resources.files("firstlight").joinpath("report.html.jinja").read_text(encoding="utf-8")
        return pages.from_string(template).render(report=self)


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
    The report, with ``holds``, ``to_json()`` and ``to_html()``.

    Raises
    ------
    InvalidInput
        If a name is not that of a working system.
    """
    systems = list(dict.fromkeys(map(find, names))) or working()
    claims = [(system, claim) for system in systems for claim in _claims(system)]
    started, clock = datetime.now(UTC), time.perf_counter()
    outcomes = []
    screen = console(stderr=True)
    screen.quiet = not progress
    words = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis"))
    columns = SpinnerColumn(), MofNCompleteColumn(), BarColumn(16), TimeElapsedColumn(), words
    live = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
    with live, suppress(KeyboardInterrupt, Interrupted):
        bar = live.add_task("", total=len(claims))
        for system, claim in claims:
            live.update(bar, description=escape(claim.statement))
            outcomes.append(_measure(system, claim, Budget(full, seed)))
            live.advance(bar)
            sentence = escape(f"{system.path}: {claim.statement}")
            screen.print(f"{outcomes[-1].mark} {outcomes[-1].seconds:8.1f} s  {sentence}")
    return Report(
        command=" ".join(["firstlight verify", *(s.path for s in systems), *["--full"] * full, f"--seed {seed}"]),
        outcomes=tuple(outcomes),
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
        return claims_in(system.part("claims"))
    except Exception as error:
        return [Claim("its claims can be imported", "ours", partial(_raise, error))]


def _raise(error: Exception, budget: Budget) -> Measurement:
    raise error


def _measure(system: System, claim: Claim, budget: Budget) -> Outcome:
    """Measure one claim; whatever it raises, short of a stop, becomes the reason of its failure."""
    clock = time.perf_counter()
    try:
        measurement = claim(budget)
    except Interrupted:
        raise
    except Exception as error:
        kind = "" if isinstance(error, FirstlightError) else f"{type(error).__name__}: "
        failure = kind + " ".join(str(error).split())
        return Outcome(system, claim, time.perf_counter() - clock, failure=failure, trace=traceback.format_exc())
    return Outcome(system, claim, time.perf_counter() - clock, measurement)


def _machine() -> dict[str, str]:
    """Describe this machine in words."""
    machine = {"processor": platform.processor() or platform.machine(), "cores": str(os.cpu_count())}
    with suppress(AttributeError, OSError, IndexError):  # not every system says more
        machine["memory"] = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
        machine["cores"] = f"{len(os.sched_getaffinity(0))} usable of {os.cpu_count()}"
        cores = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        machine["processor"] = re.findall(r"^model name\s*: (.*)", cores, re.MULTILINE)[0]
    return machine | {"system": platform.platform(terse=True)}


def _versions(fields: set[str]) -> dict[str, str]:
    """Return the versions of what every system stands on and of what the extras of these fields bring."""
    versions = {"firstlight": __version__, "Python": platform.python_version()}
    for requirement in metadata.requires("firstlight") or ():
        for library, extra in re.findall(r"^([\w.-]+)(?:.*extra == .(\w+))?", requirement):
            if extra in ("", *fields):
                with suppress(metadata.PackageNotFoundError):
                    versions[library] = metadata.version(library)
    return versions


def _content(outcome: Outcome) -> dict[str, Any]:
    """Return what the JSON says of one claim."""
    claim, measured = outcome.claim, outcome.measurement
    content = {"system": outcome.system.path, "statement": claim.statement, "source": claim.source}
    content |= {"protocol": claim.protocol, "verdict": outcome.verdict, "seconds": outcome.seconds}
    if measured is None:
        return content | {"failure": outcome.failure, "trace": outcome.trace}
    return content | {name: value for name, value in vars(measured).items() if name != "plot"}


def _picture(plot: Callable[[Any], Any]) -> str:
    """Draw a figure as the address of an image that holds it, or say why it cannot be drawn."""
    from matplotlib import style
    from matplotlib.figure import Figure

    drawing = io.BytesIO()
    try:
        with style.context(["default", FIGURE_STYLE]):
            figure = Figure()
            plot(figure.subplots())
            figure.savefig(drawing, format="svg")
    except Exception as error:  # which must not cost the report
        return f"The figure could not be drawn ({type(error).__name__}: {error})."
    return "data:image/svg+xml;base64," + b64encode(drawing.getvalue()).decode()
