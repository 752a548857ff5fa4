"""Tree-sliced distances against their peers, side by side in one run: tables on the screen, the same as JSON.

    python benchmarks/transport.py [--quick] [--json FILE] [--authors DIR]

Times are seconds of processor time of one thread, compiled beforehand, medians of runs by turns; memory is what a call
needs beyond what its process held, each in a process of its own. Only ratios travel between machines. With --authors,
a checkout of github.com/thanhquangtran/TS-Sobolev, the code published with the paper takes part.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from firstlight.files import write_text
from firstlight.terminal import console, print_table
from firstlight.transport import sample_tree_system, tree_sliced_sobolev
from firstlight.transport.monte_carlo import balancing_gains, fitted_slope, monte_carlo_errors
from firstlight.transport.pot_comparison import (
    chain_errors,
    duality_gaps,
    exact_transport_errors,
    extra_memory,
    single_precision_errors,
    speeds,
)

Rows = Sequence[Mapping[str, Any]]


def main() -> None:
    """Run all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller clouds, fewer repeats")
    parser.add_argument(
        "--json", type=Path, default=Path("transport-benchmark.json"), help="where the tables go as data"
    )
    parser.add_argument("--authors", type=Path, help="a checkout of github.com/thanhquangtran/TS-Sobolev")
    options = parser.parse_args()
    torch.set_num_threads(1)
    quick = options.quick
    sizes = [(1_000, 3), (10_000, 3), (10_000, 100), (10_000, 3_000), (100_000, 3), (100_000, 100)]
    tables: dict[str, Callable[[], Rows]] = {
        "Order 1 against optimal transport on the explicit tree (ot.emd2)": lambda: exact_transport_errors(
            60 if quick else 200, repeats=3, seed=0
        ),
        "Distance against dual functions": lambda: duality_gaps(200, n_trees=20, seed=0),
        "Chains: relative errors of ours and of the published formula": lambda: chain_errors(100, n_trees=20, seed=0),
        "Seconds for 100 projections, float32": lambda: [
            speeds(n, d, repeats=3 if n * d < 1e7 else 2) for n, d in sizes[: 3 if quick else None]
        ],
        "Seconds by order, forward and backward, n = 10,000, d = 3": by_order,
        "Extra memory": lambda: memory(20_000 if quick else 100_000),
        "Seconds by number of points, d = 3, 100 projections": lambda: scaling(5 if quick else 6),
        "Relative errors in single precision": lambda: single_precision_errors(100_000, n_trees=25, seed=0),
        "Monte-Carlo error by number of independent trees": lambda: rates_of_convergence(quick),
        "Relative error of independent and of balanced trees": lambda: balancing_gains(
            n_trees=100 if quick else 250, repeats=20 if quick else 100, seed=0
        ),
    }
    if options.authors:
        sys.path.insert(0, str(options.authors / "src"))
        tables["Against the authors' code"] = lambda: against_authors(quick)
    measured = {}
    for title, table in tables.items():
        measured[title] = table()
        print_table(measured[title], title)
    write_text(options.json, json.dumps(measured, indent=1, default=float))
    console().print(f"The same as data: {options.json}")


def by_order() -> Rows:
    """Powers are what costs: quick at the orders people use."""
    rng = np.random.default_rng(0)
    x, y = (torch.from_numpy(rng.standard_normal((10_000, 3), dtype=np.float32)) for _ in range(2))
    x.requires_grad_()
    return [
        {"p": p, "seconds": processor_seconds(lambda p=p: tree_sliced_sobolev(x, y, p=p, n_trees=25).backward())}
        for p in (1, 1.2, 1.5, 2, 3, 10)
    ]


def memory(n: int) -> Rows:
    """Ours and POT's, and whether ours grows with the number of trees or dimensions."""
    cases = [("ours", n, 3, 100), ("ours", n, 3, 4000), ("POT", n, 3, 100)]
    cases += [("ours backward", n, 3, 100), ("ours backward", n, 3, 4000), ("POT backward", n, 3, 100)]
    cases += [("ours backward", 10_000, 3000, 100), ("POT backward", 10_000, 3000, 100)]
    return [
        {"call": method, "points": n, "d": d, "projections": k, "MB": extra_memory(method, n, d, projections=k) / 1e6}
        for method, n, d, k in cases
    ]


def scaling(decades: int) -> Rows:
    """From a thousand points up, with the exponent between neighbours."""
    rows: list[dict[str, Any]] = []
    for n in (10**k for k in range(3, decades + 1)):
        rng = np.random.default_rng(0)
        X, Y = (rng.standard_normal((n, 3), dtype=np.float32) for _ in range(2))
        seconds = processor_seconds(lambda X=X, Y=Y: tree_sliced_sobolev(X, Y, n_trees=25), repeats=3 if n < 1e6 else 1)
        exponent = np.log10(seconds / rows[-1]["seconds"]) if rows else float("nan")
        rows.append({"points": n, "seconds": seconds, "exponent": exponent})
    return rows


def rates_of_convergence(quick: bool) -> Rows:
    """The exponent is -1/2 for independent trees."""
    rows = []
    for d in (2, 3, 10, 30):
        errors = monte_carlo_errors((4, 16, 64, 256), d=d, p=1.5, pool=20_000 if quick else 200_000, seed=0)
        rows.append(
            {"d": d} | {f"{row['trees']} trees": row["error"] for row in errors} | {"slope": fitted_slope(errors)}
        )
    return rows


def processor_seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """Return the median processor time of a call that has been made once before."""
    call()
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        taken.append(time.process_time() - began)
    return median(taken)


def against_authors(quick: bool) -> Rows:
    """Values on the same trees, time, and what the published code does at equal clouds."""
    from tree_sliced import TSSobolev, TSSobolevChain  # type: ignore[import-not-found] - the checkout

    rows = []
    for n, d in [(1_000, 3), (10_000, 3), (10_000, 100)][: 2 if quick else None]:
        rng = np.random.default_rng(0)
        X, Y = (torch.from_numpy(rng.standard_normal((n, d), dtype=np.float32)) for _ in range(2))
        x = X.clone().requires_grad_()
        trees = sample_tree_system(np.zeros(d), 25, 4, seed=0)
        theirs = TSSobolev(p=1.5, delta=2, device="cpu")
        theta, root = (torch.from_numpy(part).float() for part in (trees.directions, trees.roots[:, None]))
        value = float(theirs(X, Y, theta, root))
        ours = tree_sliced_sobolev(X.double().numpy(), Y.double().numpy(), trees=trees, p=1.5)
        row = {"structure": "concurrent", "points": n, "d": d, "authors' - ours": value / ours - 1}
        row["ours, s"] = processor_seconds(
            lambda x=x, Y=Y, t=trees: tree_sliced_sobolev(x, Y, trees=t, p=1.5).backward()
        )
        row["authors', s"] = processor_seconds(
            lambda x=x, Y=Y, f=theirs, a=theta, b=root: f(x, Y, a, b).backward(), repeats=1
        )
        equal = X[:50].clone().requires_grad_()
        theirs(equal, X[:50], theta, root).backward()
        assert equal.grad is not None
        rows.append(row | {"NaN in the authors' gradient at X = Y": bool(equal.grad.isnan().any())})
    for p, division in ((1.5, "uniform"), (2, "uniform"), (1.5, "distance_based"), (2, "distance_based")):
        rows.append(chain_against_authors(TSSobolevChain, p, division))
    return rows


def chain_against_authors(chain: Any, p: float, division: str) -> Mapping[str, Any]:
    """Their chains and ours on the same trees."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((100, 3)), rng.standard_normal((100, 3)) + 0.5
    trees = sample_tree_system(np.zeros(3), 20, 4, structure="chain", seed=0)
    starts = trees.starts(slice(0, 20))
    next_starts = np.concatenate([starts[:, 1:], np.zeros((20, 1, 3))], axis=1)
    arrays = (X, Y, trees.directions, starts, next_starts)
    value = float(chain(p=p, mass_division=division, device="cpu")(*(torch.from_numpy(a).float() for a in arrays)))
    splitting = "uniform" if division == "uniform" else "distance"
    ours = tree_sliced_sobolev(X, Y, trees=trees, p=p, splitting=splitting)
    return {"structure": f"chain, {splitting}, p = {p:g}", "points": 100, "d": 3, "authors' - ours": value / ours - 1}


if __name__ == "__main__":
    main()
