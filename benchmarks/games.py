"""Games against their peers, side by side in one run: tables on the screen, the same as JSON.

    python benchmarks/games.py [--quick] [--json FILE] [--libratus DIR]

Rates are iterations per second of processor time of one thread, compiled beforehand; only ratios travel between
machines. Errors are exploitabilities (games in turns) or duality gaps (matrix games). With --libratus, a folder that
holds ``subgame3.txt`` and ``subgame4.txt`` of github.com/Sandholm-Lab/LibratusEndgames, river endgames are solved too.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyspiel

from firstlight.files import write_text
from firstlight.games import CFRSolver, FlatGame
from firstlight.games.cfr_comparison import (
    PAPER,
    PRACTICE,
    compare_methods,
    openspiel_rate,
    scale_sensitivity,
    solver_rate,
)
from firstlight.games.data import BENCHMARK_GAMES
from firstlight.games.matrix_protocols import STEPS, best_smooth_gap, random_games, slow_game_gaps
from firstlight.games.river_comparison import compare_river_methods
from firstlight.terminal import console, print_table

Rows = Sequence[Mapping[str, Any]]
LIARS_DICE_6 = "liars_dice(dice_sides=6)"


def main() -> None:
    """Run all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer games, seeds and iterations")
    parser.add_argument("--json", type=Path, default=Path("games-benchmark.json"), help="where the tables go as data")
    parser.add_argument("--libratus", type=Path, help="a folder with subgame3.txt and subgame4.txt")
    parser.add_argument("--build", metavar="GAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        print(json.dumps(build(options.build)))
        return
    names = list(BENCHMARK_GAMES)[: 2 if options.quick else None]
    games = {name: FlatGame.from_openspiel(pyspiel.load_game(*BENCHMARK_GAMES[name])) for name in names}
    iterations = 1_000 if options.quick else 10_000
    tables = {
        "Building: seconds and memory": [build_apart(name) for name in ("leduc_poker", LIARS_DICE_6)],
        "Iterations per second against OpenSpiel": rates(("leduc_poker", LIARS_DICE_6)),
        "Bounds on the value of Leduc poker": brackets(FlatGame.from_openspiel("leduc_poker")),
        f"Paper's protocol: simultaneous, uniform, {iterations:,} iterations": compare_methods(
            games, PAPER, iterations=iterations
        ),
        f"Practice: alternating, quadratic, {iterations:,} iterations": compare_methods(
            games, PRACTICE, iterations=iterations
        ),
        "Payoffs multiplied: largest change of the relative course": units(FlatGame.from_openspiel("leduc_poker")),
        "The 3 × 3 game after 100,000 rounds": [
            {"method": name, "gap": gap} for name, gap in slow_game_gaps(copies=31 if options.quick else 101).items()
        ],
        "Random matrix games: geometric mean of gap / std": random_cells(options.quick),
    }
    if options.libratus:
        endgames = {name: options.libratus / f"{name}.txt" for name in ("subgame3", "subgame4")}
        tables["Libratus river endgames, to 1 mbb"] = compare_river_methods(endgames)
    for title, rows in tables.items():
        print_table(rows, title)
    write_text(options.json, json.dumps(tables, indent=1, default=float))
    console().print(f"The same as data: {options.json}")


def build(name: str) -> dict[str, Any]:
    """Build a flat game in a process that has built nothing before, and say what it cost."""
    FlatGame.from_openspiel("kuhn_poker")  # compiles
    before = peak_memory()
    began = time.process_time()
    game = FlatGame.from_openspiel(name)
    seconds = time.process_time() - began
    grown = peak_memory() - before
    size = len(game.tree) + game.payoff.nnz
    return {
        "game": name,
        "nodes": len(game.tree),
        "nonzeros": game.payoff.nnz,
        "seconds": seconds,
        "seconds per 300k nodes": seconds / len(game.tree) * 300_000,
        "peak bytes per node + nonzero": grown / size,
    }


def peak_memory() -> int:
    """Return the most bytes this process has ever held (Linux; ``ru_maxrss`` would count its parent's too)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def build_apart(name: str) -> dict[str, Any]:
    """Run `build` in a fresh process, so that memory counts from zero."""
    answer = subprocess.run([sys.executable, __file__, "--build", name], capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


def rates(names: Sequence[str]) -> Rows:
    """CFR+ and MI-SPCFR+ here, CFR+ in OpenSpiel's C++."""
    rows = []
    for name in names:
        game = FlatGame.from_openspiel(name)
        ours, smooth, theirs = solver_rate(game, "cfr+"), solver_rate(game, "mi-spcfr+"), openspiel_rate(name)
        rows.append(
            {
                "game": name,
                "cfr+": ours,
                "mi-spcfr+": smooth,
                "pyspiel.CFRPlusSolver": theirs,
                "cfr+ / pyspiel": ours / theirs,
                "mi-spcfr+ / cfr+": smooth / ours,
            }
        )
    return rows


def brackets(game: FlatGame) -> Rows:
    """Time until the bounds on the value are as narrow as asked, and whether they enclose the linear program's."""
    exact = game.lp_solve().value
    rows = []
    for width in (1e-5, 1e-7):
        run = CFRSolver(game).run(target=width / 2, seconds=120)
        lowest, highest = run.value_bounds
        rows.append(
            {
                "asked width": width,
                "width": highest - lowest,
                "iterations": run.iterations,
                "seconds": run.seconds,
                "encloses the linear program": lowest <= exact <= highest,
            }
        )
    return rows


def units(game: FlatGame) -> Rows:
    """The scale-free rule and the published one."""
    factors = (1e-3, 1e-1, 1e1, 1e3, 1e6)
    ours = scale_sensitivity(game, factors)
    published = scale_sensitivity(game, factors, method="mi-spcfr+ (paper)")
    return [
        {"payoffs times": one["factor"], "scale-free": one["change"], "published": other["change"]}
        for one, other in zip(ours, published, strict=True)
    ]


def random_cells(quick: bool) -> Rows:
    """MI-SPRM+ in every cell of the paper's grid; the best tuned SPRM+ beside it where payoffs are large."""
    seeds = range(6 if quick else 60)
    iterations = 10_000 if quick else 100_000
    rows = []
    for dimension in (10, 30) if quick else (10, 30, 50, 100):
        for std in (1.0, 10.0, 100.0):
            began = time.perf_counter()
            cell = random_games(dimension, std, seeds=seeds, iterations=iterations)
            took = time.perf_counter() - began
            row = {
                "dimension": dimension,
                "std": std,
                "mi-sprm+": float(cell.gaps[-1]),
                "slope": cell.slope,
                "R settled": cell.settled,
                "seconds": took,
            }
            tuned, step = best_smooth_gap(dimension, std, seeds=seeds, iterations=iterations)
            rows.append(row | {f"best sprm+ of {len(STEPS)}": tuned, "η": step, "ratio": row["mi-sprm+"] / tuned})
    return rows


if __name__ == "__main__":
    main()
