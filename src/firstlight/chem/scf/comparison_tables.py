"""Tables of many comparisons: one line per guess, all against ``minao`` in the same run."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Average the runs of `compare_on` by guess.

    Runs that did not converge, or ended in another state, are counted and left out of the means, together with the run
    of ``minao`` that they would be compared with.

    Returns
    -------
    Per guess: molecules compared, mean cycles, their ratio to ``minao``, the share of the distance from ``minao`` to
    ``oracle`` that is closed, molecules on which it takes more cycles than ``minao``, effective relative iteration
    count, processor seconds of guess and in total, runs that did not converge, ended in another state, or fell back.
    """
    by_guess: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        by_guess.setdefault(row["guess"], {})[row["molecule"]] = row
    minao, oracle = by_guess["minao"], by_guess.get("oracle", {})
    return [_line(guess, runs, minao, oracle) for guess, runs in by_guess.items()]


def _line(
    guess: str,
    runs: Mapping[str, Mapping[str, Any]],
    minao: Mapping[str, Mapping[str, Any]],
    oracle: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    sound = [m for m, run in runs.items() if run["converged"] and minao[m]["converged"] and run["same_state"]]
    mine = np.array([runs[m]["cycles"] for m in sound], dtype=float)
    theirs = np.array([minao[m]["cycles"] for m in sound], dtype=float)
    best = np.array([oracle[m]["cycles"] if m in oracle else np.nan for m in sound], dtype=float)
    gap = float(np.sum(theirs - best))

    def mean(field: str) -> float:
        return float(np.mean([runs[m][field] for m in sound])) if sound else float("nan")

    return {
        "guess": guess,
        "molecules": len(sound),
        "cycles": float(mine.mean()) if sound else float("nan"),
        "of minao": float(mine.sum() / theirs.sum()) if sound else float("nan"),
        "gap closed": float(np.sum(theirs - mine)) / gap if gap > 0 else float("nan"),
        "worse": int(np.sum(mine > theirs)),
        "ERIC": mean("effective"),
        "guess s": mean("guess_seconds"),
        "total s": mean("total_seconds"),
        "not converged": sum(not run["converged"] for run in runs.values()),
        "other state": sum(bool(run["converged"]) and not run["same_state"] for run in runs.values()),
        "fell back": sum(run["used"] not in (guess, "density") for run in runs.values()),
    }
