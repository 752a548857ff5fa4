"""The cluster sampler beside what checks it: all states of a tiny lattice, direct sums, and the textbook's algorithm.

The peer in speed is Wolff's single-cluster algorithm as textbooks have it, which asks every other spin whether it
joins, O(N) for each spin of the cluster; it runs compiled, with its probabilities in a table.
"""

from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any

import numpy as np
from jaxtyping import Float64, Int8, Int32, Int64

from firstlight.compiled import compiled
from firstlight.graphs.ising.autocorrelation import integrated_time
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.sampling import sample
from firstlight.graphs.ising.swendsen_wang import SwendsenWang
from firstlight.graphs.ising.temperatures import LRIM_TEMPERATURES

Row = Mapping[str, Any]


def enumeration_deviations(model: PowerLawIsing, temperature: float | int, n: int, seed: int) -> list[Row]:
    """Sampled averages of m², m⁴, E and ⟨s_0 s_j⟩ beside exact ones from all 2^N states, N ≤ 16.

    Returns
    -------
    A row per quantity: ``exact``, ``sampled``, ``standard error`` over blocks of draws, and the ``deviation`` in them.
    """
    exact_spins = 2 * (np.arange(2**model.n_sites)[:, None] >> np.arange(model.n_sites) & 1) - 1
    matrix = model.couplings()
    energy = -0.5 * np.einsum("si,ij,sj->s", exact_spins, matrix, exact_spins, optimize=True)
    weight = np.exp(-(energy - energy.min()) / temperature)
    weight /= weight.sum()
    drawn = sample(model, temperature, n, seed=seed)
    rows = []
    for name, exact, sampled in zip(
        _quantity_names(model),
        weight @ _quantities(exact_spins, energy),
        _quantities(drawn[:], drawn.report.energies).T,
        strict=True,
    ):
        blocks = sampled[: n // 50 * 50].reshape(50, -1).mean(axis=1)
        error = float(blocks.std(ddof=1) / np.sqrt(50))
        row = {"quantity": name, "exact": float(exact), "sampled": float(sampled.mean()), "standard error": error}
        rows.append(row | {"deviation": float((sampled.mean() - exact) / error)})
    return rows


def _quantity_names(model: PowerLawIsing) -> list[str]:
    return ["m²", "m⁴", "E", *(f"⟨s_0 s_{site}⟩" for site in range(1, model.n_sites))]


def _quantities(
    spins: Int8[np.ndarray, "states n"] | Int64[np.ndarray, "states n"], energy: Float64[np.ndarray, " states"]
) -> Float64[np.ndarray, "states quantities"]:
    m = spins.mean(axis=1)
    return np.column_stack([m**2, m**4, energy, spins[:, :1] * spins[:, 1:]]).astype(np.float64)


def field_errors(models: Sequence[PowerLawIsing], seed: int) -> list[Row]:
    """Local fields of random spins by Fourier transform and by direct sums: largest difference over largest field."""
    rng = np.random.default_rng(seed)
    rows = []
    for model in models:
        spins = 2 * rng.integers(0, 2, (4, model.n_sites)) - 1
        direct = model.local_field(spins, "direct")
        difference = np.abs(model.local_field(spins, "fft") - direct).max() / np.abs(direct).max()
        rows.append({"model": repr(model), "sites": model.n_sites, "relative error": float(difference)})
    return rows


def sweep_costs(sizes: Sequence[int], sigma: float, *, seconds: float, seed: int) -> list[Row]:
    """Processor time of a sweep at the benchmark's temperature, by size: the median of five runs by turns."""
    chains = {
        size: SwendsenWang(PowerLawIsing((size, size), sigma), LRIM_TEMPERATURES[size, sigma], seed) for size in sizes
    }
    share = seconds / (5 * len(sizes))
    taken: dict[int, list[float]] = {size: [] for size in sizes}
    n = {size: max(1, int(share / _seconds_for(chain, 2))) for size, chain in chains.items()}
    for _ in range(5):
        for size, chain in chains.items():
            taken[size].append(_seconds_for(chain, n[size]))
    return [{"size": size, "spins": size**2, "ms per sweep": 1e3 * float(np.median(taken[size]))} for size in sizes]


def cost_exponent(rows: Sequence[Row]) -> float:
    """Exponent of the cost of a sweep in the number of spins, by least squares of logarithms."""
    spins, cost = (np.log([row[name] for row in rows]) for name in ("spins", "ms per sweep"))
    return float(np.polyfit(spins, cost, 1)[0])


def against_textbook(size: int, sigma: float, *, clusters: int, sweeps: int, seed: int) -> Row:
    """Processor time of ours and of the textbook's algorithm, per sweep and per independent configuration.

    A sweep of single clusters is as many of them as turn over as many spins as there are. An independent configuration
    takes 2 τ updates, with τ the integrated autocorrelation time of |m|, which needs thousands of clusters to be known.
    """
    model, temperature = PowerLawIsing((size, size), sigma), LRIM_TEMPERATURES[size, sigma]
    chain = SwendsenWang(model, temperature, seed)
    chain.sweep(200)
    began = process_time()
    ours = chain.sweep(sweeps)
    sweep_seconds = (process_time() - began) / sweeps
    textbook = TextbookWolff(model, temperature, chain.spins, seed)  # from equilibrium, so that it need not find it
    before = textbook.turn_clusters(1)
    began = process_time()
    theirs = textbook.turn_clusters(clusters)
    cluster_seconds = (process_time() - began) / clusters
    turned = (
        np.abs(np.diff(theirs, prepend=before)).mean() / 2
    )  # spins of a cluster are equal, so the sum tells its size
    taus = [integrated_time(np.abs(series)[None].astype(np.float64)) for series in (ours, theirs)]
    return {
        "size": size,
        "sigma": sigma,
        "ms per sweep": 1e3 * sweep_seconds,
        "Wolff, ms per sweep": 1e3 * cluster_seconds * model.n_sites / float(turned),
        "times faster per sweep": cluster_seconds * model.n_sites / float(turned) / sweep_seconds,
        "τ in sweeps": taus[0],
        "Wolff, τ in clusters": taus[1],
        "times faster per independent configuration": taus[1] * cluster_seconds / (taus[0] * sweep_seconds),
    }


def _seconds_for(chain: SwendsenWang, n: int) -> float:
    began = process_time()
    chain.sweep(n)
    return max(process_time() - began, 1e-7) / n


class TextbookWolff:
    """Wolff's algorithm with O(N) questions for each spin of a cluster, on a square lattice."""

    def __init__(self, model: PowerLawIsing, temperature: float, spins: Int8[np.ndarray, " n"], seed: int) -> None:
        self.spins = spins.copy()
        self._joins = -np.expm1(-2 * model.kernel / temperature).reshape(model.shape)
        self._generator = np.random.default_rng(seed)

    def turn_clusters(self, n: int) -> Int64[np.ndarray, " clusters"]:
        """Turn over `n` clusters and return the sum of all spins after each."""
        sums = np.empty(n, np.int64)
        _turn_single_clusters(self.spins, self._joins, np.empty(len(self.spins), np.int32), self._generator, sums)
        return sums


@compiled
def _turn_single_clusters(
    spins: Int8[np.ndarray, " n"],
    joins: Float64[np.ndarray, "rows columns"],
    waiting: Int32[np.ndarray, " n"],
    generator: np.random.Generator,
    sums: Int64[np.ndarray, " clusters"],
) -> None:
    rows, columns = joins.shape
    for cluster in range(len(sums)):
        site = int(generator.random() * len(spins))
        old = spins[site]
        spins[site] = -old
        waiting[0] = site
        n_waiting = 1
        while n_waiting:
            n_waiting -= 1
            site = waiting[n_waiting]
            row, column = site // columns, site % columns
            for to_row in range(rows):
                for to_column in range(columns):
                    other = to_row * columns + to_column
                    if spins[other] == old and generator.random() < joins[to_row - row, to_column - column]:
                        spins[other] = -old
                        waiting[n_waiting] = other
                        n_waiting += 1
        sums[cluster] = spins.astype(np.int64).sum()
