"""The long-range Ising benchmark (LRIM), generated exactly, for PyTorch Geometric.

For authors of graph networks who want to know how far their model sees. Each graph is a configuration of spins on a
torus at its critical temperature, the label of a node is -s_i Σ_j J_ij s_j with J_ij = r_ij^-(2+σ), and every other
node has a part in it that is known. Source: Mathys, Christiansen, Errica, Maruyama, Alesiani, *LRIM: a physics-based
benchmark for provably evaluating long-range capabilities in graph learning*, ICLR 2026.

Data sets are drawn on your machine by an exact cluster algorithm in linear time, come with a report of how independent
their graphs are, and read the authors' files too. What a local model can reach is computed beside it.

>>> from firstlight.graphs.ising import PowerLawIsing, local_lmmse_curve, oracle_curve, sample
>>> model = PowerLawIsing((16, 16), sigma=0.6)
>>> samples = sample(model, 8.8787, n=1000, thermalize=100, thin=10, seed=0)
>>> y = model.target(samples[0])  # the labels of the first graph
>>> bool(abs(y.sum() / 2 - samples.report.energies[0]) < 1e-9)
True

The oracle of the benchmark, which truncates the sum after 8 hops, and the best linear predictor from the same spins:

>>> oracle, local = (curve(model, samples, [8]) for curve in (oracle_curve, local_lmmse_curve))
>>> [round(float(curve.logmse[0]), 1) for curve in (oracle, local)]
[-1.2, -2.1]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from firstlight.graphs.ising.beyond_radius import BeyondRadius, beyond_radius
from firstlight.graphs.ising.certificate import LocalityCertificate, locality_certificate, task_range
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.data import LRIM_NAMES, generate, load_samples, save_samples
from firstlight.graphs.ising.locality import LocalityCurve, local_lmmse_curve, oracle_curve
from firstlight.graphs.ising.results import BenchmarkReport, BenchmarkResult
from firstlight.graphs.ising.sampling import SamplingReport, SpinSamples, sample
from firstlight.graphs.ising.temperatures import (
    LRIM_TEMPERATURES,
    PseudoCritical,
    pseudo_critical_temperature,
)

if TYPE_CHECKING:
    from firstlight.graphs.ising.baselines import GraphBaseline
    from firstlight.graphs.ising.dataset import LRIM
    from firstlight.graphs.ising.evaluator import LRIMEvaluator, logmse
    from firstlight.graphs.ising.lattice_graphs import lattice_data
    from firstlight.graphs.ising.model_range import RangeMeasure, range_measure
    from firstlight.graphs.ising.radial_field import RadialFieldModel

__all__ = [
    "LRIM",
    "LRIM_NAMES",
    "LRIM_TEMPERATURES",
    "BenchmarkReport",
    "BenchmarkResult",
    "BeyondRadius",
    "GraphBaseline",
    "LRIMEvaluator",
    "LocalityCertificate",
    "LocalityCurve",
    "PowerLawIsing",
    "PseudoCritical",
    "RadialFieldModel",
    "RangeMeasure",
    "SamplingReport",
    "SpinSamples",
    "beyond_radius",
    "generate",
    "lattice_data",
    "load_samples",
    "local_lmmse_curve",
    "locality_certificate",
    "logmse",
    "oracle_curve",
    "pseudo_critical_temperature",
    "range_measure",
    "sample",
    "save_samples",
    "task_range",
]

# What needs PyTorch Geometric is imported when it is named: that takes seconds, which processes that only draw spins
# would spend too. No module may have the name of anything here, or it would stand in its place once imported.
_MODULES = {
    "GraphBaseline": "baselines",
    "LRIM": "dataset",
    "LRIMEvaluator": "evaluator",
    "RadialFieldModel": "radial_field",
    "RangeMeasure": "model_range",
    "lattice_data": "lattice_graphs",
    "logmse": "evaluator",
    "range_measure": "model_range",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
