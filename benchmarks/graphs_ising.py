"""The long-range Ising benchmark against what is independent of it, in one run: tables on the screen, the same as JSON.

    python benchmarks/graphs_ising.py [--quick] [--json FILE] [--sets DIR]

Times are processor times of one thread, compiled beforehand. Only ratios travel between machines. With --sets, a folder
where ``firstlight ising generate`` has put data sets, their reports and the oracle's curves take part.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from firstlight.files import write_text
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.data import SWEEPS_BETWEEN_DRAWS, load_samples
from firstlight.graphs.ising.locality import local_lmmse_curve, oracle_curve
from firstlight.graphs.ising.sampler_comparison import (
    against_textbook,
    cost_exponent,
    enumeration_deviations,
    field_errors,
    sweep_costs,
)
from firstlight.graphs.ising.temperatures import LRIM_TEMPERATURES
from firstlight.terminal import console, print_table

Rows = Sequence[Mapping[str, Any]]

# Draws a part of a set in a process of its own and says how much memory that took, in bytes.
GENERATE = """
import resource, sys
from joblib.externals.loky import get_reusable_executor
from firstlight.graphs.ising.data import generate
generate(sys.argv[1], sys.argv[2])
get_reusable_executor().shutdown(wait=True)  # children count once they have ended
for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
    print(resource.getrusage(who).ru_maxrss * 1024)
"""


def main() -> None:
    """Run all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    parser.add_argument(
        "--json", type=Path, default=Path("graphs-ising-benchmark.json"), help="where the tables go as data"
    )
    parser.add_argument("--sets", type=Path, help="a folder of generated data sets")
    options = parser.parse_args()
    quick = options.quick
    tables: dict[str, Callable[[], Rows]] = {
        "Sampled averages on 4 × 4 against all 65,536 states, σ = 0.6": lambda: enumeration_deviations(
            PowerLawIsing((4, 4), 0.6), LRIM_TEMPERATURES[16, 0.6], 20_000 if quick else 200_000, seed=0
        )[:4],
        "Fourier transform against direct sums": lambda: field_errors(
            [PowerLawIsing((size, size), 0.6) for size in (16, 32, 64)[: 2 if quick else 3]], seed=0
        ),
        "Labels of a graph": lambda: label_times(quick),
        "Cost of a sweep": lambda: sweep_table(quick),
        "Against the textbook's Wolff algorithm": lambda: [
            against_textbook(size, sigma, clusters=500 if quick else 10_000, sweeps=20_000, seed=0)
            for size in (16, 32, 64)
            for sigma in (0.6, 1.5)
        ],
        "Memory to draw a set (256 × 256 in the full run)": lambda: memory(quick),
    }
    if options.sets:
        tables["Data sets"] = lambda: [set_row(file) for file in sorted(options.sets.glob("lrim_*.npz"))]
    measured = {}
    for title, table in tables.items():
        measured[title] = table()
        print_table(measured[title], title)
    write_text(options.json, json.dumps(measured, indent=1, default=float))
    console().print(f"The same as data: {options.json}")


def label_times(quick: bool) -> Rows:
    """Fast Fourier transform beside direct sums, which are too slow above 64 × 64."""
    rows = []
    for size in (16, 32, 64, 128, 256):
        model = PowerLawIsing((size, size), 0.6)
        spins = np.random.default_rng(0).choice(np.array([-1, 1], np.int8), (10, model.n_sites))
        row: dict[str, Any] = {"size": size, "ms": 1e3 * processor_seconds(lambda m=model, s=spins: m.target(s)) / 10}
        if size <= (32 if quick else 64):
            direct = processor_seconds(lambda m=model, s=spins: m.local_field(s, "direct"), repeats=1)
            row |= {"direct sums, ms": 1e2 * direct, "times faster": 1e2 * direct / row["ms"]}
        rows.append(row)
    return rows


def sweep_table(quick: bool) -> Rows:
    """By size, with the exponent over all sizes in the last row."""
    rows: list[dict[str, Any]] = []
    for sigma in (0.6, 1.5):
        costs = sweep_costs((32, 64, 128, 256), sigma, seconds=4 if quick else 30, seed=0)
        rows += [{"σ": sigma, **row, "ns per spin": 1e6 * row["ms per sweep"] / row["spins"]} for row in costs]
        rows[-1]["exponent"] = cost_exponent(costs)
        # What the ten sets cost on one core, but for writing them.
        for row in rows[-4:]:
            row["10,000 graphs, minutes"] = 10 / 60 * row["ms per sweep"] * SWEEPS_BETWEEN_DRAWS[row["size"], sigma]
    return rows


def memory(quick: bool) -> Rows:
    """Most memory of the process that asks and of the one that draws; the first holds all graphs, packed."""
    rows = []
    for name in ("lrim_64_0.6_100", "lrim_64_0.6_1000") if quick else ("lrim_256_1.5_100", "lrim_256_1.5_400"):
        with TemporaryDirectory() as folder:
            run = subprocess.run(
                [sys.executable, "-c", GENERATE, name, folder], capture_output=True, text=True, check=True
            )
        asks, draws = map(int, run.stdout.split())
        rows.append({"set": name, "process that asks, MB": asks / 1e6, "process that draws, MB": draws / 1e6})
    return rows


def set_row(file: Path) -> Mapping[str, Any]:
    """Size, independence and oracle of a data set."""
    samples = load_samples(file)
    report = samples.report
    radius = samples.model.shape[0] // 2
    oracle, best = (curve(samples.model, samples, [radius]) for curve in (oracle_curve, local_lmmse_curve))
    return {
        "set": file.stem,
        "MB": file.stat().st_size / 1e6,
        "T": report.temperature,
        "sweeps": report.thin,
        "τ of |m|": report.tau_magnetisation,
        "τ of E": report.tau_energy,
        "ρ of |m|": report.rho_magnetisation,
        "effective share": report.effective_size / report.n,
        "oracle at L/2": float(oracle.logmse[0]),
        "local linear at L/2": float(best.logmse[0]),
    }


def processor_seconds(call: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median processor time of a call that has been made once before."""
    call()
    taken = []
    for _ in range(repeats):
        began = process_time()
        call()
        taken.append(process_time() - began)
    return median(taken)


if __name__ == "__main__":
    main()
