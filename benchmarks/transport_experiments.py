"""The paper's experiments with tree-sliced distances: gradient flows, the spectral test, topic coherence.

    python benchmarks/transport_experiments.py flows spectral [--quick] [--folder DIR] [--json FILE]
    python benchmarks/transport_experiments.py topics --corpora DIR [--max-iter 20] [--folder DIR]

Every run is kept in the folder as soon as it ends, and the same command goes on where it was stopped; the full tables
take hours on one core. DIR holds corpora as OCTIS keeps them (github.com/MIND-Lab/OCTIS, preprocessed_datasets), each
in a folder of its own, of which M10 and BBC_News are used.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight.files import write_text
from firstlight.terminal import print_table
from firstlight.transport.experiments import FLOW_PROBLEMS, flow_table, spectral_table, topic_table

Rows = Sequence[Mapping[str, Any]]
CORPORA = ("BBC_News", "M10")


def main() -> None:
    """Run the experiments that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("experiments", nargs="+", choices=["flows", "spectral", "topics"])
    parser.add_argument("--quick", action="store_true", help="fewer seeds and iterations; give it a folder of its own")
    parser.add_argument("--folder", type=Path, default=Path("transport-experiments"), help="where runs are kept")
    parser.add_argument("--json", type=Path, help="where the tables go as data")
    parser.add_argument("--corpora", type=Path, help="the folder of the corpora, for topics")
    parser.add_argument("--max-iter", type=int, default=100, help="passes over a corpus (100 in the paper)")
    parser.add_argument("--workers", type=int, default=1, help="processes; one keeps to one core")
    options = parser.parse_args()
    if "topics" in options.experiments and options.corpora is None:
        parser.error("topics needs --corpora, the folder of the corpora")
    kept: dict[str, Any] = {"folder": options.folder, "workers": options.workers}
    tables: dict[str, Rows] = {}
    if "flows" in options.experiments:
        size = {"seeds": 1, "n_iter": 500} if options.quick else {}
        for problem in FLOW_PROBLEMS:
            tables[f"Gradient flow to the {problem.name}"] = flow_table(problem, **size, **kept)
    if "spectral" in options.experiments:
        size = {"seeds": 2, "n_iter": 200} if options.quick else {}
        tables["Spectral error"] = spectral_table(**size, **kept)
    if "topics" in options.experiments:
        size = {"seeds": 1, "max_iter": 2} if options.quick else {"max_iter": options.max_iter}
        for name in CORPORA:
            tables[f"Topics of {name}"] = topic_table(options.corpora / name, **size, **kept)
    for title, rows in tables.items():
        print_table(rows, title)
    if options.json:
        write_text(options.json, json.dumps(tables, indent=1))


if __name__ == "__main__":
    main()
