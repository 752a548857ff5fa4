"""Guesses for SCF side by side in one run: tables on the screen, the same as JSON.

    python benchmarks/chem_scf.py [--quick] [--tables NAMES] [--guesses NAMES] [--grid LEVEL] [--molecules N]

Times are seconds of processor time of one thread; only ratios travel between machines. Every guess is charged for its
own time: ERIC is cycles and guess, in cycles, over those of minao. Molecules are held-out ones of QM9 (package qm9pack)
and drugs of 30 to 60 atoms. With --folder, what is done is kept and the same call goes on from there. Every guess on
every molecule, with grids of level 3, is more than a day of one core: --guesses, --grid and --molecules take a part.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from firstlight import parallel
from firstlight.chem.scf.claims import mean_field_at
from firstlight.chem.scf.comparison import GUESSES, compare_on
from firstlight.chem.scf.comparison_tables import summary
from firstlight.chem.scf.data import packaged_qm9
from firstlight.chem.scf.density_model import DensityPredictor
from firstlight.chem.scf.drugs import drug_geometries
from firstlight.chem.scf.experiments import density_quality, growth_exponent, guess_cost, oracle_cycles, polyglycine
from firstlight.chem.scf.molecules import Geometry
from firstlight.files import load_arrays, write_text
from firstlight.terminal import console, print_table

Rows = Sequence[Mapping[str, Any]]
TABLES = ("oracle", "qm9", "drugs", "density", "bases", "hybrids", "polish", "size")


def main() -> None:
    """Run the tables that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer molecules, grids of level 1")
    parser.add_argument("--tables", default=",".join(TABLES), help="which, with commas between")
    parser.add_argument("--guesses", default=",".join(GUESSES), help="which, with commas between")
    parser.add_argument("--grid", type=int, metavar="LEVEL", help="of the grids; 3, with --quick 1, if not given")
    parser.add_argument("--molecules", type=int, metavar="N", help="of each table at the most")
    parser.add_argument("--weights", help="folder of a predictor; the shipped one if not given")
    parser.add_argument("--folder", type=Path, help="where runs are kept")
    parser.add_argument(
        "--json", type=Path, default=Path("chem-scf-benchmark.json"), help="where the tables go as data"
    )
    parser.add_argument("--cost", type=int, metavar="RESIDUES", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cost:
        print(json.dumps(guess_cost(polyglycine(options.cost), DensityPredictor.from_pretrained(options.weights))))
        return
    level = options.grid if options.grid is not None else 1 if options.quick else 3
    bench = Benchmark(
        options.quick, options.weights, options.folder, options.guesses.split(","), level, options.molecules
    )
    tables = {}
    for name in options.tables.split(","):
        tables[name] = getattr(bench, name)()
        print_table(tables[name], name)
    write_text(options.json, json.dumps(tables, indent=1, default=float))
    console().print(f"The same as data: {options.json}")


class Benchmark:
    """The tables, by name."""

    def __init__(
        self,
        quick: bool,
        weights: str | None,
        folder: Path | None,
        guesses: Sequence[str],
        level: int,
        molecules: int | None = None,
    ) -> None:
        self.quick, self.weights, self.folder, self.guesses, self.level = quick, weights, folder, guesses, level
        self.most = molecules

    def oracle(self) -> Rows:
        """Cycles from exact densities, by auxiliary basis and metric."""
        counts = self._each(
            "oracle", partial(oracle_cycles, grid_level=self.level), packaged_qm9(count=self._count(20))
        )
        return [{"guess": guess, "cycles": float(np.mean([one[guess] for one in counts]))} for guess in counts[0]]

    def qm9(self) -> Rows:
        """PBE/def2-SVP on held-out molecules of QM9."""
        return self._guesses("qm9", packaged_qm9(count=self._count(100)))

    def drugs(self) -> Rows:
        """PBE/def2-SVP on drugs."""
        return self._guesses("drugs", drug_geometries()[: self._count(40)])

    def density(self) -> Rows:
        """Relative Coulomb error and dipole moment."""
        rows = []
        sets = {"qm9": packaged_qm9(count=self._count(100)), "drugs": drug_geometries()[: self._count(40)]}
        for name, molecules in sets.items():
            measure = partial(density_quality, source=self._source(), grid_level=self.level)
            found = self._each(f"density-{name}", measure, molecules)
            means = {f"mean {field}": float(np.mean([one[field] for one in found])) for field in found[0]}
            rows.append({"molecules": f"{len(found)} of {name}", **means})
        return rows

    def bases(self) -> Rows:
        """PBE in bases that the network has not met."""
        molecules = packaged_qm9(count=self._count(20))
        return [
            {"basis": basis, **row}
            for basis in ("def2-tzvp", "6-311+g(3df,2p)")
            for row in self._guesses(f"bases-{basis}", molecules, basis=basis)
        ]

    def hybrids(self) -> Rows:
        """Hybrids with density fitting."""
        molecules = packaged_qm9(count=self._count(20))
        return [
            {"xc": xc, **row} for xc in ("b3lyp", "pbe0") for row in self._guesses(f"hybrids-{xc}", molecules, xc=xc)
        ]

    def polish(self) -> Rows:
        """B3LYP without density fitting, where cycles are dear, with cheap cycles first."""
        molecules = packaged_qm9(count=self._count(10))
        return self._guesses("polish", molecules, xc="b3lyp", density_fit=False, polish=True)

    def size(self) -> Rows:
        """The guess alone, each in a fresh process so that memory counts from zero."""
        rows = []
        for residues in (5, 9, 13) if self.quick else (13, 28, 64, 128):
            command = [sys.executable, __file__, "--cost", str(residues)]
            command += ["--weights", self.weights] if self.weights else []
            answer = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append(json.loads(answer.stdout))
        exponent = growth_exponent([row["atoms"] for row in rows], [row["guess s"] for row in rows])
        return [{**row, "exponent of all": exponent} for row in rows]

    def _guesses(
        self,
        name: str,
        molecules: Sequence[Geometry],
        *,
        xc: str = "pbe",
        basis: str = "def2-svp",
        density_fit: bool = True,
        polish: bool = False,
    ) -> Rows:
        make = partial(mean_field_at, xc=xc, grid_level=self.level, density_fit=density_fit)
        rows, failures = compare_on(
            molecules,
            make,
            self._source(),
            basis=basis,
            folder=self._kept(name, *self.guesses),
            guesses=self.guesses,
            polish=polish,
        )
        for molecule, failure in failures.items():
            console(stderr=True).print(f"{name}: {molecule}: {failure.strip().splitlines()[-1]}", markup=False)
        return summary(rows)

    def _each(self, name: str, measure: Any, molecules: Sequence[Geometry]) -> list[dict[str, Any]]:
        folder = self._kept(name)
        jobs = {molecule.name.replace(":", "_"): molecule for molecule in molecules}
        results, failures = parallel.run(partial(_as_arrays, measure), jobs, folder=folder)
        for molecule, failure in failures.items():
            console(stderr=True).print(f"{name}: {molecule}: {failure.strip().splitlines()[-1]}", markup=False)
        kept = [result if folder is None else load_arrays(result) for result in results.values()]
        return [json.loads(str(arrays["measured"])) for arrays in kept]

    def _kept(self, name: str, *guesses: str) -> Path | None:
        return self.folder and self.folder / "-".join([name, f"grid{self.level}", *guesses])

    def _source(self) -> DensityPredictor:
        return DensityPredictor.from_pretrained(self.weights)

    def _count(self, full: int) -> int:
        return min(3 if self.quick else full, self.most or full)


def _as_arrays(measure: Any, molecule: Geometry) -> dict[str, np.ndarray]:
    return {"measured": np.array(json.dumps(measure(molecule)))}


if __name__ == "__main__":
    main()
