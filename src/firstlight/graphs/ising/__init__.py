"""The long-range Ising benchmark, generated exactly."""

from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.data import LRIM_NAMES, generate, load_samples, save_samples
from firstlight.graphs.ising.sampling import SamplingReport, SpinSamples, sample
from firstlight.graphs.ising.temperatures import LRIM_TEMPERATURES

__all__ = [
    "LRIM_NAMES",
    "LRIM_TEMPERATURES",
    "PowerLawIsing",
    "SamplingReport",
    "SpinSamples",
    "generate",
    "load_samples",
    "sample",
    "save_samples",
]
