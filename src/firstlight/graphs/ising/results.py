"""Results on the benchmark: scores beside what they cost and what a local predictor could have reached."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firstlight.errors import InvalidInput
from firstlight.files import write_text
from firstlight.graphs.ising.data import LRIMName
from firstlight.graphs.ising.locality import LocalityCurve, local_lmmse_curve, oracle_curve
from firstlight.graphs.ising.sampling import SpinSamples
from firstlight.pictures import axes_or_new


@dataclass(frozen=True)
class BenchmarkResult:
    """What a model reached on a data set, and at what cost; the benchmark asks for both.

    Attributes
    ----------
    model : name of the model, with its width and depth.
    dataset : name of the data set.
    logmse : log10 of the mean squared error over all nodes of the test graphs.
    radius : hops around a node that can change its prediction; None if all nodes can.
    cost : growth of the run time with the nodes N, the edges E and the layers L.
    parameters : number of trained weights.
    cpu_hours : processor time of training.
    seed : of first weights and of the order of the graphs.
    """

    model: str
    dataset: str
    logmse: float
    radius: int | None
    cost: str
    parameters: int
    cpu_hours: float
    seed: int

    def save(self, path: str | Path) -> None:
        """Write the result as JSON, whole or not at all."""
        write_text(path, json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n")

    @staticmethod
    def load(path: str | Path) -> "BenchmarkResult":
        """Read a result from a file, or from ``result.json`` in the folder of a run.

        Raises
        ------
        InvalidInput
            If it is no such file.
        OSError
            If it cannot be opened.
        """
        path = Path(path) / "result.json" if Path(path).is_dir() else Path(path)
        text = path.read_text(encoding="utf-8")
        try:
            result = BenchmarkResult(**json.loads(text))
            LRIMName.parse(result.dataset)
            if not isinstance(result.logmse, float):
                raise TypeError(f"logmse is {result.logmse!r}, no number")
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{path} is no result of firstlight ising train: {error}") from error
        return result


@dataclass(frozen=True)
class BenchmarkReport:
    """Results on one data set beside what local predictors reach on the same test graphs.

    Attributes
    ----------
    results : of the models, in the order in which they are printed.
    oracle : error of the truncated sum, by radius.
    local : error of the best local linear predictor, by radius.
    """

    results: Sequence[BenchmarkResult]
    oracle: LocalityCurve
    local: LocalityCurve

    @staticmethod
    def of(results: Sequence[BenchmarkResult], samples: SpinSamples) -> "BenchmarkReport":
        """Compare results on the test graphs, the last tenth of a data set.

        Raises
        ------
        InvalidInput
            If there are no results, or of several data sets.
        """
        if len({result.dataset for result in results}) != 1:
            found = ", ".join(sorted({result.dataset for result in results})) or "none"
            raise InvalidInput(f"expected results on one data set, found {found}; make a report for each")
        spins = samples[len(samples) * 9 // 10 :]
        ranked = sorted(results, key=lambda result: -result.logmse)
        return BenchmarkReport(ranked, oracle_curve(samples.model, spins), local_lmmse_curve(samples.model, spins))

    def rows(self) -> list[Mapping[str, str]]:
        """Rows of the table, one for each model.

        ``as good as`` is the smallest radius at which the best local linear predictor reaches the same error.
        """
        farthest = int(self.local.radii[-1])
        return [
            {
                "model": result.model,
                "LogMSE": f"{result.logmse:.3f}",
                "sees": "everything" if result.radius is None else f"{result.radius} hops",
                "oracle there": _at(self.oracle, result.radius),
                "best linear there": _at(self.local, result.radius),
                "as good as": f"> {farthest} hops"
                if (k := self.local.radius_of(result.logmse)) > farthest
                else f"{k} hops",
                "cost": result.cost,
                "weights": f"{result.parameters:,}",
                "CPU hours": f"{result.cpu_hours:.3g}",
            }
            for result in self.results
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw both curves over the radius, and every model where it sees and what it reached."""
        ax = axes_or_new(ax)
        # At the greatest distance the predictors see everything and only rounding errors are left.
        for curve, colour in ((self.oracle, "#000000"), (self.local, "#0072B2")):
            ax.plot(curve.radii[:-1], curve.logmse[:-1], color=colour, label=curve.predictor)
        last = int(self.local.radii[-1])
        markers = "osD^vP*X"
        for number, result in enumerate(self.results):
            radius = last if result.radius is None else min(result.radius, last)
            label = f"{result.model}, {result.cost}"
            ax.plot(radius, result.logmse, markers[number % len(markers)], color="#D55E00", label=label)
        ax.set_xlabel("radius that is seen (hops; all nodes at the right)")
        ax.set_ylabel("log₁₀ MSE")
        ax.legend(frameon=False, fontsize="small")
        return ax


def _at(curve: LocalityCurve, radius: int | None) -> str:
    """Write a curve's value at a radius, or a dash where the radius is all of the graph."""
    at = [] if radius is None else np.flatnonzero(curve.radii == radius)
    return f"{curve.logmse[at[0]]:.3f}" if len(at) and radius != curve.radii[-1] else "–"
