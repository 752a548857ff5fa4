"""Independent spin configurations, each of which can be drawn again alone, with the evidence that they are.

Configuration i is draw i mod 100 of chain i div 100. Every chain starts from random spins of its own stream of random
numbers, forgets them, and gives a configuration every `thin` sweeps. So neither the number of configurations nor that
of processes changes any of them, and parts that begin at a multiple of 100 share no chain: a split of a data set by
index leaks nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64, Int8, UInt8

from firstlight import parallel
from firstlight.errors import FirstlightError, InvalidInput
from firstlight.files import load_arrays
from firstlight.graphs.ising.autocorrelation import autocorrelation, integrated_time
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.swendsen_wang import SwendsenWang
from firstlight.pictures import axes_or_new

CHAIN_LENGTH = 100  # draws per chain; divides the parts of the benchmark's split
THIN_TIMES, THERMALIZE_TIMES = 5, 20  # autocorrelation times between draws, and before the first
PILOT_TIMES = 400  # a pilot run this many autocorrelation times long knows them to about a sixth
SHORTEST_PILOT, LONGEST_PILOT = 1024, 2**18  # sweeps
PILOT = 2**32 - 1  # number of its stream, which no chain reaches


@dataclass(frozen=True)
class SamplingReport:
    """How configurations were drawn, and how independent they are.

    Autocorrelation times are integrated, τ = ½ + Σ_t ρ(t), in sweeps.

    Attributes
    ----------
    temperature : in units of the nearest-neighbour coupling.
    seed : from which, with the numbers of sweeps, every configuration follows.
    thermalize : sweeps of every chain before its first draw.
    thin : sweeps from draw to draw.
    tau_magnetisation : autocorrelation time of |m|, over all sweeps of all chains after `thermalize`.
    tau_energy : that of the energy, over all such sweeps of the first chain.
    rho_magnetisation : correlation of |m| between neighbouring draws of a chain.
    effective_size : number of independent configurations that are worth as much, by |m| or the energy, whichever gives
        fewer.
    start_deviation : mean m² of the first draws of all chains, in standard errors from the mean of the others; large if
        chains had not forgotten their start. NaN for fewer than 10 chains.
    magnetisations, energies : mean spin and energy of each configuration.
    """

    temperature: float
    seed: int
    thermalize: int
    thin: int
    tau_magnetisation: float
    tau_energy: float
    rho_magnetisation: float
    effective_size: float
    start_deviation: float
    magnetisations: Float64[np.ndarray, " n"] = field(repr=False)
    energies: Float64[np.ndarray, " n"] = field(repr=False)

    @property
    def n(self) -> int:
        """Number of configurations."""
        return len(self.energies)

    def plot(self, ax: Any = None) -> Any:
        """Draw the histogram of magnetisations."""
        ax = axes_or_new(ax)
        ax.hist(self.magnetisations, bins=50, range=(-1, 1), density=True, histtype="stepfilled", color="#0072B2")
        ax.set_xlabel("magnetisation per spin")
        ax.set_ylabel("probability density")
        return ax


@dataclass(frozen=True, eq=False)
class SpinSamples:
    """Spin configurations of a model, eight spins to a byte; ``samples[3]``, ``samples[:10]`` unpack to ±1.

    Attributes
    ----------
    model : the model.
    packed : the bits of each configuration, 1 for a spin up, as of ``numpy.packbits``.
    report : how they were drawn.
    """

    model: PowerLawIsing
    packed: UInt8[np.ndarray, "n bytes"] = field(repr=False)
    report: SamplingReport

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, index: Any) -> Int8[np.ndarray, "... sites"]:
        bits = np.unpackbits(self.packed[index], axis=-1, count=self.model.n_sites)
        return 2 * bits.view(np.int8) - 1

    def regenerate(self, index: int) -> Int8[np.ndarray, " sites"]:
        """Draw one configuration again, by its own chain alone."""
        index = range(len(self))[index]
        run = self.report
        chain = SwendsenWang(self.model, run.temperature, _stream(run.seed, index // CHAIN_LENGTH))
        chain.sweep(run.thermalize + (1 + index % CHAIN_LENGTH) * run.thin)
        return chain.spins


def sample(
    model: PowerLawIsing,
    temperature: float | int,
    n: int,
    *,
    thermalize: int | Literal["auto"] = "auto",
    thin: int | Literal["auto"] = "auto",
    seed: int | None = None,
    n_jobs: int = 1,
    folder: str | Path | None = None,
) -> SpinSamples:
    """Draw independent configurations from exp(-H/T).

    Parameters
    ----------
    model : the spins and their couplings.
    temperature : in units of the nearest-neighbour coupling, k_B = 1.
    n : number of configurations. Fewer are the first of more.
    thermalize : sweeps before the first draw of a chain; ``"auto"`` for 20 autocorrelation times.
    thin : sweeps between draws; ``"auto"`` for 5 autocorrelation times of |m| or the energy, whichever is slower, as
        measured by a pilot run of its own.
    seed : of all random numbers; if not given, a new one, which the report tells.
    n_jobs : processes, -1 for one per core. Their number changes nothing but the time.
    folder : where finished chains are kept, so that the same call after Ctrl-C goes on from there.

    Raises
    ------
    InvalidInput
        If a number is out of range, or the temperature too low for clusters to be drawn.
    Interrupted
        On Ctrl-C.
    """
    if not _whole(n, 1) or not _whole(n_jobs, -1) or n_jobs == 0:
        raise InvalidInput(
            f"expected whole numbers n ≥ 1 and n_jobs ≥ 1, or -1 for all cores, got n={n} and n_jobs={n_jobs}"
        )
    for name, sweeps, least in (("thermalize", thermalize, 0), ("thin", thin, 1)):
        if sweeps != "auto" and not _whole(sweeps, least):
            raise InvalidInput(f"{name} must be 'auto' or a number of sweeps from {least} on, got {sweeps!r}")
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    if not _whole(seed, 0):
        raise InvalidInput(f"the seed must be a whole number from 0 on, got {seed}")
    seed = int(seed)
    if "auto" in (thermalize, thin):
        tau = _pilot(model, temperature, seed)
        thin = int(np.ceil(THIN_TIMES * tau)) if thin == "auto" else thin
        thermalize = int(np.ceil(THERMALIZE_TIMES * tau)) if thermalize == "auto" else thermalize
    run = partial(_run_chain, model, float(temperature), seed, int(thermalize), int(thin))
    jobs = {
        f"{chain:06d}": (chain, min(CHAIN_LENGTH, n - chain * CHAIN_LENGTH)) for chain in range(-(-n // CHAIN_LENGTH))
    }
    if n_jobs == 1 and folder is None:
        chains = [run(job) for job in jobs.values()]
    else:
        results, failures = parallel.run(run, jobs, folder=folder, workers=None if n_jobs == -1 else n_jobs)
        if failures:
            raise FirstlightError(f"{len(failures)} chains failed, the first with:\n{next(iter(failures.values()))}")
        chains = list(results.values()) if folder is None else [load_arrays(file) for file in results.values()]
    packed = np.concatenate([chain["packed"] for chain in chains])
    return SpinSamples(model, packed, _report(model, float(temperature), seed, int(thermalize), int(thin), chains))


def _whole(number: Any, least: int) -> bool:
    return isinstance(number, int | np.integer) and bool(number >= least)


def _stream(seed: int, chain: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(chain,))


def _run_chain(
    model: PowerLawIsing, temperature: float, seed: int, thermalize: int, thin: int, job: tuple[int, int]
) -> dict[str, np.ndarray]:
    """Draw the configurations of one chain; the first chain also records the energy of every sweep."""
    number, n_draws = job
    chain = SwendsenWang(model, temperature, _stream(seed, number))
    chain.sweep(thermalize)
    sums, draws, energies = [], np.empty((n_draws, model.n_sites), np.int8), []
    for draw in range(n_draws):
        if number == 0:
            swept, energy = _recorded_sweeps(chain, thin)
            energies.append(energy)
        else:
            swept = chain.sweep(thin)
        sums.append(swept)
        draws[draw] = chain.spins
    return {
        "packed": np.packbits(draws > 0, axis=1),
        "magnetisations": np.concatenate(sums) / model.n_sites,
        "energies": model.energy(draws),
        "energies_of_sweeps": np.concatenate(energies) if energies else np.empty(0),
    }


def _recorded_sweeps(chain: SwendsenWang, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Make sweeps and return the sum of spins and the energy after each."""
    spins, sums = np.empty((n, chain.model.n_sites), np.int8), np.empty(n, np.int64)
    for sweep in range(n):
        sums[sweep] = chain.sweep()[0]
        spins[sweep] = chain.spins
    return sums, chain.model.energy(spins)


def _pilot(model: PowerLawIsing, temperature: float, seed: int) -> float:
    """Autocorrelation time in sweeps of |m| or the energy, whichever is longer, from a run that is long enough."""
    chain = SwendsenWang(model, temperature, _stream(seed, PILOT))
    series = np.empty((2, 0))
    block = max(1, min(SHORTEST_PILOT, 2**24 // model.n_sites))  # configurations kept at a time
    while True:
        for _ in range(max(1, series.shape[1], SHORTEST_PILOT) // block):
            sums, energies = _recorded_sweeps(chain, block)
            series = np.concatenate([series, [np.abs(sums), energies]], axis=1)
        settled = series[:, series.shape[1] // 4 :]
        tau = max(integrated_time(quantity[None]) for quantity in settled)
        if settled.shape[1] >= PILOT_TIMES * tau:
            return tau
        if series.shape[1] >= LONGEST_PILOT:
            raise InvalidInput(
                f"the chain at temperature {temperature:g} still remembers after {tau:.0f} sweeps, too long to measure "
                f"by {LONGEST_PILOT:,} sweeps; raise the temperature, or give thermalize and thin"
            )


def _report(
    model: PowerLawIsing,
    temperature: float,
    seed: int,
    thermalize: int,
    thin: int,
    chains: Sequence[Mapping[str, np.ndarray]],
) -> SamplingReport:
    whole = [chain for chain in chains if len(chain["packed"]) == len(chains[0]["packed"])]  # the last may be shorter
    magnetisations = np.stack([np.abs(chain["magnetisations"]) for chain in whole])
    drawn = magnetisations[:, thin - 1 :: thin]
    energies = np.stack([chain["energies"] for chain in whole])
    size = sum(len(chain["packed"]) for chain in chains)
    several = drawn.shape[1] > 1
    tau_draws = max(integrated_time(drawn), integrated_time(energies)) if several else 0.5
    return SamplingReport(
        temperature=temperature,
        seed=seed,
        thermalize=thermalize,
        thin=thin,
        tau_magnetisation=integrated_time(magnetisations),
        tau_energy=integrated_time(chains[0]["energies_of_sweeps"][None]),
        rho_magnetisation=float(autocorrelation(drawn)[1]) if several else 0.0,
        effective_size=size / (2 * tau_draws),
        start_deviation=_start_deviation(drawn**2) if len(whole) >= 10 and several else float("nan"),
        magnetisations=np.concatenate([chain["magnetisations"][thin - 1 :: thin] for chain in chains]),
        energies=np.concatenate([chain["energies"] for chain in chains]),
    )


def _start_deviation(squares: Float64[np.ndarray, "chains draws"]) -> float:
    first, others = squares[:, 0], squares[:, 1:].mean(axis=1)
    return float((first - others).mean() / ((first - others).std(ddof=1) / np.sqrt(len(first))))
