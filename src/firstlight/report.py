"""What a run of ``firstlight verify`` found: as data, as JSON, and as one self-contained page."""

import io
import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from firstlight.catalogue import System
from firstlight.evidence import Claim, Measurement, readable
from firstlight.files import written_whole

# Of the palette of Okabe and Ito (safe for the colour-blind) the hues that stand out from white and, inverted, from black.
COLOURS = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#808080", "#A6761D"
FIGURE_STYLE = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.figsize": (4.4, 2.9),  # small, so that words stay legible on a phone
    "font.size": 9.0,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "path.simplify_threshold": 0.5,  # points nearer than half a pixel to the line are left out
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

    def to_json(self) -> str:
        """Return the report as strict JSON; a figure that is not finite is the string NaN, Infinity or -Infinity."""
        content = {"verdict": self.verdict, "holds": self.holds, **vars(self)}
        content |= {"started": self.started.isoformat(timespec="seconds")}
        content["claims"] = [_content(outcome) for outcome in content.pop("outcomes")]
        loose = json.dumps(content, default=lambda thing: thing.tolist() if hasattr(thing, "tolist") else str(thing))
        return json.dumps(json.loads(loose, parse_constant=str), indent=2, ensure_ascii=False) + "\n"

    def to_html(self) -> str:
        """Return the report as one page that needs no other file."""
        import jinja2  # it and matplotlib take a tenth of a second each, and only this method needs them

        pages = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        pages.filters |= {"readable": readable, "picture": _picture}
        template = files("firstlight").joinpath("report.html.jinja").read_text(encoding="utf-8")
        return pages.from_string(template).render(report=self)

    def write(self, path: str | Path) -> None:
        """Write the report to a file, whole or not at all: as JSON if its name ends in .json, otherwise as a page."""
        text = self.to_json() if Path(path).suffix == ".json" else self.to_html()
        with written_whole(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


def _content(outcome: Outcome) -> dict[str, Any]:
    """Return what the JSON says of one claim."""
    claim = outcome.claim
    ...


def _picture(plot: Callable[[Any], Any]) -> str:
    """Draw a figure as the address of an image that contains itself; or say why it cannot be drawn."""
    from matplotlib import pyplot  # noqa
