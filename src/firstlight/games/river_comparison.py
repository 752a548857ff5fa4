"""CFR methods side by side on river endgames: the table that claims and benchmarks print."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from firstlight.games.river import RiverSolver

RIVER_METHODS = ("cfr+", "pcfr+", "dcfr", "pdcfr+", "mi-spcfr+")


def compare_river_methods(
    endgames: Mapping[str, str | Path],
    *,
    methods: Iterable[str] = RIVER_METHODS,
    target: float = 1.0,
    seconds: float = 120.0,
) -> list[dict[str, Any]]:
    """Measure how long each method takes on each endgame, alternating and with its own averaging.

    Parameters
    ----------
    endgames : Libratus files by name.
    methods : names of CFR methods.
    target : when to stop, in mbb per hand.
    seconds : when to give up. Compiling, once per machine, comes before.

    Returns
    -------
    A row for each endgame and method: ``"endgame"``, ``"method"``, ``"iterations"``, ``"seconds"`` of wall-clock time,
    ``"processor_seconds"`` (other programs on the machine do not count) and ``"mbb"``, the exploitability reached.
    """
    rows = []
    for name, path in endgames.items():
        for method in methods:
            solver = RiverSolver.from_libratus(path, method=method)
            solver.run(1)
            began = time.process_time()
            solution = solver.run(target=target, seconds=seconds)
            rows.append(
                {
                    "endgame": name,
                    "method": method,
                    "iterations": solution.iterations,
                    "seconds": solution.seconds,
                    "processor_seconds": time.process_time() - began,
                    "mbb": solution.exploitability,
                }
            )
    return rows
