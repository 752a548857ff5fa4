"""Learning continuous dynamics beside maps from frame to frame and a neural ODE: tables, and the same as JSON.

    python benchmarks/pde_flow.py [--quick] [--json FILE]
    python benchmarks/pde_flow.py --train lorenz burgers [--seeds 3] [--methods …] [--folder DIR] [--workers N]

The first form measures labels, costs and the models that ship, in minutes. With --train every method is trained anew by
one protocol (`firstlight.pde.flow.experiments`); each run is kept in the folder, and the same command goes on where it
was stopped. Times are processor times of one thread; only ratios travel between machines.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from firstlight.evidence import Budget
from firstlight.files import write_text
from firstlight.pde.flow import claims
from firstlight.pde.flow.experiments import EXPERIMENTS, METHODS, run, summary
from firstlight.pde.flow.label_quality import label_errors, measured_orders
from firstlight.terminal import console, print_table

Rows = Sequence[Mapping[str, Any]]
DEFAULT_METHODS = ("flow-quintic-25", "flow-c4-25", "flow-linear-25", "state-100", "increment-100")


def main() -> None:
    """Run the tables that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer trajectories")
    parser.add_argument("--train", nargs="+", choices=EXPERIMENTS, default=[], metavar="PROBLEM", help="train anew")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=DEFAULT_METHODS, metavar="METHOD")
    parser.add_argument("--seeds", type=int, default=3, help="of first weights, batches and kept frames")
    parser.add_argument("--folder", type=Path, default=Path("pde-flow-experiments"), help="where runs are kept")
    parser.add_argument("--workers", type=int, default=1, help="processes; one keeps to one core")
    parser.add_argument(
        "--json", type=Path, default=Path("pde-flow-benchmark.json"), help="where the tables go as data"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    measured: dict[str, Rows] = {}
    tables = training_tables(options) if options.train else standing_tables(options.quick)
    for title, table in tables.items():
        measured[title] = table()
        print_table([{k: v for k, v in row.items() if not isinstance(v, list)} for row in measured[title]], title)
    write_text(options.json, json.dumps(measured, indent=1, default=float))
    console().print(f"The same as data: {options.json}")


def training_tables(options: argparse.Namespace) -> dict[str, Callable[[], Rows]]:
    """Mean errors over seeds of each problem, then each run with its curves."""
    tables: dict[str, Callable[[], Rows]] = {}
    for name in options.train:
        rows: list[dict[str, Any]] = []

        def trained(name: str = name, rows: list[dict[str, Any]] = rows) -> Rows:
            kept = {"folder": options.folder, "workers": options.workers}
            rows += run(EXPERIMENTS[name], options.methods, seeds=range(options.seeds), **kept)
            return summary(rows)

        tables[f"{name}, mean over {options.seeds} seeds"] = trained
        tables[f"{name}, every run"] = lambda rows=rows: rows
    return tables


def standing_tables(quick: bool) -> dict[str, Callable[[], Rows]]:
    """What needs no training: paths, and the shipped models on fresh trajectories."""
    budget, n = Budget(full=not quick), 2 if quick else 20
    measured_by = {
        "Error against processor time, Burgers": claims.on_the_pareto_front,
        "Milliseconds per step of training, U-Net of Burgers": claims.training_is_cheaper_than_through_a_solver,
        "Learned velocities against the solver's": claims.field_is_near_the_right_hand_side,
        "Lorenz backwards": claims.lorenz_runs_backwards,
        "Diffusion-reaction backwards": claims.ill_posedness_is_detected,
        "Labels of Lorenz by the spacing of frames": claims.coarse_frames_fail,
    }
    return {
        "Orders of the velocities on sin(t)": measured_orders,
        **{
            f"Error of labels, {name}": lambda name=name: [
                {
                    "share of frames": share,
                    **{row["kind"]: row["error"] for row in label_errors(problem(name), share, n=n)},
                }
                for share in (0.1, 0.25, 1.0)
            ]
            for name in claims.COUNTS
        },
        **{
            f"Error of shipped models, {name}": lambda claim=claim: claim(budget).rows
            for name, claim in {
                "Lorenz": claims.lorenz_beats_next_state,
                "Burgers": claims.burgers_beats_next_state,
                "diffusion-reaction": claims.diffusion_reaction_beats_next_state,
                "shallow water": claims.shallow_water_beats_next_state,
            }.items()
        },
        **{title: lambda claim=claim: claim(budget).rows for title, claim in measured_by.items()},
    }


def problem(name: str) -> Any:
    """Return the problem of an experiment."""
    return EXPERIMENTS[name].problem


if __name__ == "__main__":
    main()
