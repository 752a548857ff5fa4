"""Guesses side by side on one molecule: every table has the same rivals, and charges every guess for its own time.

``minao``, ``atom`` and ``sap`` are PySCF's. ``pre-scf`` is the strongest way without learning: converge loosely with
density fitting, the coarsest grid and a small basis, then project. ``restart`` begins from the converged density matrix
itself, which no guess can beat; ``oracle`` from the fit of the converged density, which no density in this auxiliary
basis can beat by much.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from pyscf import dft, scf

from firstlight import parallel
from firstlight.chem.scf.auxiliary_basis import JFIT, auxiliary_molecule
from firstlight.chem.scf.density_fit import coulomb_matrix, fit_density, relative_coulomb_error
from firstlight.chem.scf.guess import apply, shipped_predictor
from firstlight.chem.scf.mean_fields import is_kohn_sham
from firstlight.chem.scf.molecules import Geometry
from firstlight.chem.scf.prediction import DensitySource, FittedDensity
from firstlight.errors import InvalidInput
from firstlight.files import load_arrays

GUESSES = ("minao", "atom", "sap", "pre-scf", "restart", "ours", "oracle")
PRE_SCF_TO = 1e-4  # hartree
SMALL_BASIS = "def2-svp"


@dataclass(frozen=True)
class GuessRun:
    """One SCF calculation from one guess.

    Attributes
    ----------
    guess : one of `GUESSES`.
    cycles, converged : of the SCF calculation.
    energy : total energy in hartree.
    first_error : total energy after the first cycle minus the converged one, in hartree.
    guess_seconds, total_seconds : processor time of the guess, and of guess and SCF together.
    effective : effective relative iteration count (ERIC): cycles, and the guess's time in cycles, of this guess over
        the same of ``minao``.
    same_state : whether it ended at the energy of ``minao``.
    used : the guess that ran, where ``ours`` fell back to another.
    """

    guess: str
    cycles: int
    converged: bool
    energy: float
    first_error: float
    guess_seconds: float
    total_seconds: float
    effective: float
    same_state: bool
    used: str


def compare_guesses(
    mf: Any,
    source: DensitySource | None = None,
    *,
    guesses: Sequence[str] = GUESSES,
    polish: bool = False,
    auxbasis: str = JFIT,
) -> list[GuessRun]:
    """Run one calculation from several guesses.

    Parameters
    ----------
    mf : a mean-field object of PySCF that has not run; grids and density-fitting tensor are built once for all.
    source : of the densities of ``ours``; the shipped predictor unless given.
    guesses : which, of `GUESSES`. ``minao`` always runs, as the measure of the others.
    polish : as `apply` takes it, for ``ours``.
    auxbasis : basis of ``oracle``.

    Raises
    ------
    InvalidInput
        If a guess has another name.
    """
    if unknown := set(guesses) - set(GUESSES):
        raise InvalidInput(f"no guess is named {min(unknown)!r}; expected some of {', '.join(GUESSES)}")
    _build_shared(mf)
    minao = _timed(mf, "minao", lambda plain: plain.get_init_guess(key="minao"))
    converged, seconds_per_cycle = minao.pop("dm"), minao.pop("seconds_per_cycle")
    source = shipped_predictor() if source is None and "ours" in guesses else source
    oracle = FittedDensity(mf.mol, converged, auxbasis) if "oracle" in guesses else None
    makers: dict[str, Callable[[Any], Any]] = {
        "atom": lambda plain: plain.get_init_guess(key="atom"),
        "sap": lambda plain: plain.get_init_guess(key="sap"),
        "pre-scf": _pre_scf,
        "restart": lambda plain: converged,
        "ours": lambda plain: apply(plain, source, polish=polish),
        "oracle": lambda plain: apply(plain, oracle),
    }
    runs = {"minao": minao}
    for guess in GUESSES[1:]:
        if guess in guesses:
            runs[guess] = _timed(mf, guess, makers[guess])
            del runs[guess]["dm"], runs[guess]["seconds_per_cycle"]
    cost = {name: run["cycles"] + run["guess_seconds"] / seconds_per_cycle for name, run in runs.items()}
    tolerance = max(1e-7, 100 * mf.conv_tol)
    return [
        GuessRun(
            guess=name,
            effective=cost[name] / cost["minao"],
            same_state=abs(run["energy"] - minao["energy"]) <= tolerance,
            **run,
        )
        for name, run in runs.items()
    ]


def compare_on(
    molecules: Sequence[Geometry],
    make: Callable[[Any], Any],
    source: DensitySource | None = None,
    *,
    basis: str = "def2-svp",
    folder: str | Path | None = None,
    workers: int | None = None,
    **options: Any,
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Run `compare_guesses` on many molecules through `firstlight.parallel`.

    Parameters
    ----------
    molecules : with names of their own.
    make : makes the mean-field object of a ``pyscf.gto.Mole``; a function of a module, so that it can be sent.
    source, **options : as `compare_guesses` takes them.
    basis : orbital basis.
    folder : where the runs of each molecule are kept, so that the same call goes on where it was stopped.
    workers : processes.

    Returns
    -------
    rows : one per molecule and guess: the fields of `GuessRun`, the molecule's name and size.
    failures : by name of the molecule.
    """
    job = partial(_compare_one, make=make, source=source, basis=basis, options=options)
    results, failures = parallel.run(job, {_key(m.name): m for m in molecules}, folder=folder, workers=workers)
    kept = [result if folder is None else load_arrays(result) for result in results.values()]
    named = {_key(m.name): m.name for m in molecules}
    rows = [row for arrays in kept for row in json.loads(str(arrays["runs"]))]
    return rows, {named[key]: failure for key, failure in failures.items()}


def density_error(mf: Any, source: DensitySource) -> float:
    """Return the relative Coulomb error f of a source's density, against the converged density of `mf`.

    Parameters
    ----------
    mf : a mean-field object that has run.
    source : of the density to be judged.
    """
    predicted = source.predict(mf.mol)
    exact, atoms = (
        fit_density(mf.mol, np.asarray(dm), predicted.auxbasis)
        for dm in (mf.make_rdm1(), mf.get_init_guess(mf.mol, "atom"))
    )
    matrix = coulomb_matrix(auxiliary_molecule(mf.mol, predicted.auxbasis))
    return relative_coulomb_error(predicted.coefficients, exact, atoms, matrix)


def _compare_one(molecule: Geometry, make: Any, source: Any, basis: str, options: dict[str, Any]) -> dict[str, Any]:
    runs = compare_guesses(make(molecule.mole(basis)), source, **options)
    rows = [{"molecule": molecule.name, "atoms": len(molecule.symbols), **asdict(run)} for run in runs]
    return {"runs": np.array(json.dumps(rows))}


def _key(name: str) -> str:
    return quote(name, safe="")  # a file name for any SMILES


def _build_shared(mf: Any) -> None:
    """Build what all runs share, so that no guess is charged for it or spared it."""
    if is_kohn_sham(mf) and mf.grids.coords is None:
        mf.grids.build(with_non0tab=True)
    if getattr(mf, "with_df", None) and mf.with_df._cderi is None:
        mf.with_df.build()


def _timed(mf: Any, guess: str, make: Callable[[Any], Any]) -> dict[str, Any]:
    """Run from one guess: `make` gives a density matrix, or a mean-field object that makes its own."""
    plain = mf.copy()
    plain.chkfile, plain.verbose = None, 0
    energies: list[float] = []
    began = time.process_time()
    made = make(plain)
    runner = plain if isinstance(made, np.ndarray) else made
    dm = made if isinstance(made, np.ndarray) else runner.get_init_guess()
    guessed = time.process_time()
    runner.callback = lambda state: energies.append(float(state["e_tot"]))
    runner.kernel(dm0=dm)
    ended = time.process_time()
    record = getattr(runner, "guess", None)
    return {
        "cycles": int(runner.cycles),
        "converged": bool(runner.converged),
        "energy": float(runner.e_tot),
        "first_error": energies[0] - float(runner.e_tot) if energies else 0.0,
        "guess_seconds": guessed - began,
        "total_seconds": ended - began,
        "used": record.used if record else guess,
        "dm": runner.make_rdm1(),
        "seconds_per_cycle": (ended - guessed) / max(1, int(runner.cycles)),
    }


def _pre_scf(mf: Any) -> np.ndarray:
    """Converge loosely where it is cheap, and project."""
    mol = mf.mol
    small = mol.copy()
    small.basis = SMALL_BASIS
    small.build(dump_input=False, parse_arg=False)
    smaller = small.nao < 0.8 * mol.nao
    cheap = mf.copy()
    if smaller:
        cheap.reset(small)
        cheap = cheap.density_fit()
    elif not getattr(cheap, "with_df", None):
        cheap = cheap.density_fit()
    if is_kohn_sham(cheap):
        cheap.grids = dft.Grids(cheap.mol).set(level=0, verbose=0)
    cheap.conv_tol, cheap.conv_check, cheap.chkfile, cheap.callback = PRE_SCF_TO, False, None, None
    cheap.kernel()
    dm = cheap.make_rdm1()
    return np.asarray(scf.addons.project_dm_nr2nr(small, dm, mol) if smaller else dm)
