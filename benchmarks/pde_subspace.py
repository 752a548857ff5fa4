"""Predicted subspaces beside multigrid, constant bases and nearest neighbours: tables on the screen, the same as JSON.

    python benchmarks/pde_subspace.py [--quick] [--json FILE]

Times are processor times of one thread. Only ratios and iterations travel between machines.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight.files import write_text
from firstlight.pde.subspace import experiments, reduction_experiments, solver_experiments
from firstlight.terminal import console, print_table

Rows = Sequence[Mapping[str, Any]]


def main() -> None:
    """Run all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples, smaller grids")
    parser.add_argument(
        "--json", type=Path, default=Path("pde-subspace-benchmark.json"), help="where the tables go as data"
    )
    options = parser.parse_args()
    quick = options.quick
    samples, judged = (100, 20) if quick else (2000, 100)
    tables: dict[str, Callable[[], Rows]] = {
        "Mean distance of the 10 lowest eigenvectors from the predicted space, flattop 32 × 32": lambda: (
            experiments.flattop_errors(samples, judged)
        ),
        "Conjugate gradients to 1e-8, flattop 32 × 32": lambda: experiments.deflation_iterations(judged, samples),
        **{
            f"10 eigenpairs to 1e-8, LOBPCG with multigrid, flattop {cells} × {cells}": lambda cells=cells: (
                experiments.eigensolver_starts(cells, min(judged, 20), samples)
            )
            for cells in ((64,) if quick else (64, 128, 256))
        },
        "Reduced models of Burgers' equation, family II": lambda: experiments.reduced_model_errors(judged, samples),
        "Control of a rod, errors at the final time": lambda: reduction_experiments.control_errors(
            100 if quick else 1500, 100 if quick else 1500, judged
        ),
        "Reduced models of convection, diffusion and reaction": lambda: reduction_experiments.convection_errors(
            100 if quick else 2000, 100 if quick else 2000, judged
        ),
        "Ten eigenpairs in three dimensions, without any training": lambda: solver_experiments.eigensolvers_in_space(
            *((16, 8, 1) if quick else (32, 16, 3))
        ),
        "Conjugate gradients with multigrid on composite plates": lambda: solver_experiments.multigrid_candidates(
            12 if quick else 32, 4 if quick else 20
        ),
        "Four eigenvalues from a start of even vectors, mirror-symmetric coefficients, largest error": lambda: (
            solver_experiments.symmetric_starts(2 if quick else 20)
        ),
        "An iteration of deflated conjugate gradients": lambda: [
            experiments.deflation_overhead(cells) for cells in ((300,) if quick else (300, 1000))
        ],
    }
    measured = {}
    for title, table in tables.items():
        measured[title] = table()
        print_table(measured[title], title)
    write_text(options.json, json.dumps(measured, indent=1, default=float))
    console().print(f"The same as data: {options.json}")


if __name__ == "__main__":
    main()
