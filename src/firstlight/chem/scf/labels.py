"""Labels: converged densities of many molecules, as coefficients of auxiliary bases.

A label costs one SCF calculation. They are made through `firstlight.parallel`, one file per molecule as soon as it is
done, and gathered into one archive when all are.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64
from pyscf import dft
from pyscf.data import elements

from firstlight import parallel
from firstlight.chem.scf.auxiliary_basis import JFIT, JKFIT, auxiliary_molecule, function_integrals
from firstlight.chem.scf.density_fit import fit_density
from firstlight.chem.scf.molecules import Geometry, check_molecule
from firstlight.errors import FirstlightError, InvalidInput
from firstlight.files import load_arrays, save_arrays

HEAVIEST = 36  # Kr; beyond it the basis sets come with core potentials


@dataclass(frozen=True)
class LabelRecipe:
    """How a density is computed and fitted.

    Attributes
    ----------
    xc, basis : functional and orbital basis.
    scf_auxbasis : auxiliary basis of the SCF calculation.
    grid_level, conv_tol : of the SCF calculation. Against level 3, level 1 moves the density by 2·10⁻⁴ of the distance
        between superposed atoms and the converged density, level 0 by 7·10⁻³.
    auxbases : the bases in which the density is fitted, in the Coulomb metric with the number of electrons held.
    """

    xc: str = "pbe"
    basis: str = "def2-svp"
    scf_auxbasis: str = JKFIT
    grid_level: int = 1
    conv_tol: float = 1e-7
    auxbases: tuple[str, ...] = (JFIT, JKFIT)


@dataclass(frozen=True)
class Label:
    """A converged density.

    Attributes
    ----------
    geometry : the molecule.
    energy : total energy in hartree.
    coefficients : by auxiliary basis, in PySCF's order.
    """

    geometry: Geometry
    energy: float
    coefficients: Mapping[str, Float64[np.ndarray, " naux"]]


def label(
    molecules: Iterable[Geometry],
    folder: str | Path,
    recipe: LabelRecipe | None = None,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
) -> tuple[list[Path], dict[str, str]]:
    """Compute the density of every molecule, each in a file of its own; what is there already is not computed again.

    Parameters
    ----------
    molecules : neutral, closed-shell molecules.
    folder : where the files go; made if absent. It remembers its recipe.
    recipe : how densities are computed.
    workers, scheduler : as `firstlight.parallel.run` takes them.

    Returns
    -------
    files : of the labels, to be read by `read_label`.
    refused : why the other molecules have none, by name.

    Raises
    ------
    InvalidInput
        If the folder holds labels of another recipe.
    Interrupted
        On Ctrl-C; the same call goes on from there.
    """
    recipe = recipe or LabelRecipe()
    _remember(Path(folder), recipe)
    jobs = {_key(molecule.name): molecule for molecule in molecules}
    files, failures = parallel.run(
        partial(label_one, recipe=recipe), jobs, folder=folder, workers=workers, scheduler=scheduler
    )
    # A failure is a traceback; its last line says what happened, and the molecule is named by its own name.
    refused = {jobs[key].name: failure.strip().splitlines()[-1] for key, failure in failures.items()}
    return list(files.values()), refused


def label_one(molecule: Geometry, recipe: LabelRecipe) -> dict[str, np.ndarray]:
    """Compute and fit the density of one molecule, as arrays for a file.

    Raises
    ------
    InvalidInput
        If the molecule is charged, has unpaired electrons or a heavier element than krypton, or is refused by
        `check_molecule`.
    FirstlightError
        If its SCF calculation does not converge.
    """
    if heavy := [symbol for symbol in molecule.symbols if elements.charge(symbol) > HEAVIEST]:
        raise InvalidInput(
            f"{molecule.name} holds {heavy[0]}: a core potential would change its number of electrons; up to Kr only"
        )
    if molecule.charge or molecule.spin:
        raise InvalidInput(f"{molecule.name} has charge {molecule.charge} and spin {molecule.spin}; expected 0 and 0")
    mol = molecule.mole(recipe.basis)
    check_molecule(mol)
    mf: Any = dft.RKS(mol, xc=recipe.xc).density_fit(auxbasis=recipe.scf_auxbasis)
    mf.grids.level, mf.conv_tol = recipe.grid_level, recipe.conv_tol
    coarse = mf.copy()  # most of the way on a coarse grid, with the same integrals, takes a quarter off the time
    coarse.grids, coarse.conv_tol = dft.Grids(mol).set(level=0), 1e-5
    coarse.kernel()
    energy = mf.kernel(dm0=coarse.make_rdm1())
    if not mf.converged:
        raise FirstlightError(f"SCF of {molecule.name} did not converge in {mf.max_cycle} cycles")
    dm = np.asarray(mf.make_rdm1())
    about = {"name": molecule.name, "smiles": molecule.smiles, "energy": float(energy)}
    arrays = {
        "about": np.array(json.dumps(about)),
        "z": np.array([elements.charge(symbol) for symbol in molecule.symbols], dtype=np.int8),
        "pos": molecule.positions,
    }
    return arrays | {f"c_{name}": fit_density(mol, dm, name).astype(np.float32) for name in recipe.auxbases}


def read_label(path: str | Path) -> Label:
    """Read one label of the folder that `label` wrote.

    Raises
    ------
    InvalidInput
        If the file is none.
    """
    arrays = load_arrays(path)
    if missing := {"about", "z", "pos"} - arrays.keys():
        raise InvalidInput(f"{path} is no label: it has no array {min(missing)!r}")
    about = json.loads(str(arrays["about"]))
    return _label(about, arrays["z"], arrays["pos"], {n[2:]: c for n, c in arrays.items() if n.startswith("c_")})


def write_labels(path: str | Path, labels: Sequence[Label]) -> None:
    """Gather labels in one archive, coefficients in single precision.

    Raises
    ------
    InvalidInput
        If there are none, or the file cannot be written.
    """
    if not labels:
        raise InvalidInput("there are no labels to write")
    meta = [
        {
            "source": label.geometry.name,
            "smiles": label.geometry.smiles,
            "z": [elements.charge(symbol) for symbol in label.geometry.symbols],
            "pos": label.geometry.positions.tolist(),
            "energy": label.energy,
        }
        for label in labels
    ]
    coefficients = {
        f"c_{_short(basis)}_{k}": c.astype(np.float32)
        for k, label in enumerate(labels)
        for basis, c in label.coefficients.items()
    }
    save_arrays(path, meta=np.array(json.dumps(meta)), **coefficients)


def read_labels(path: str | Path) -> list[Label]:
    """Read an archive that `write_labels` wrote.

    Raises
    ------
    InvalidInput
        If the file is none, or the coefficients of a molecule do not hold its number of electrons.
    """
    arrays = load_arrays(path)
    if "meta" not in arrays:
        raise InvalidInput(f"{path} is no archive of labels: it has no array 'meta'")
    by_molecule: dict[int, dict[str, np.ndarray]] = {}
    for name, c in arrays.items():
        if name.startswith("c_"):
            _, basis, k = name.split("_")
            by_molecule.setdefault(int(k), {})[f"def2-universal-{basis}"] = c
    entries = enumerate(json.loads(str(arrays["meta"])))
    return [_label(entry, entry["z"], entry["pos"], by_molecule.get(k, {})) for k, entry in entries]


def check_electrons(label: Label) -> float:
    """Return the largest |q·c − N| of a label over its bases, in electrons: a wrong order of functions shows here."""
    mol = label.geometry.mole({symbol: [[0, [1.0, 1.0]]] for symbol in set(label.geometry.symbols)})
    errors = [
        abs(function_integrals(auxiliary_molecule(mol, basis)) @ c - mol.nelectron)
        for basis, c in label.coefficients.items()
    ]
    return float(max(errors))


def _label(about: Mapping[str, Any], z: Any, pos: Any, c: Mapping[str, np.ndarray]) -> Label:
    symbols = tuple(elements.ELEMENTS[int(number)] for number in z)
    name = about.get("name") or about["source"]
    geometry = Geometry(name, symbols, np.asarray(pos, dtype=float), smiles=about["smiles"])
    return Label(geometry, about["energy"], {basis: array.astype(float) for basis, array in c.items()})


def _remember(folder: Path, recipe: LabelRecipe) -> None:
    """Keep labels of two recipes out of one folder."""
    folder.mkdir(parents=True, exist_ok=True)
    file, written = folder / "recipe.json", json.loads(json.dumps(asdict(recipe)))
    if not file.exists():
        file.write_text(json.dumps(written, indent=1), encoding="utf-8")
    elif json.loads(file.read_text(encoding="utf-8")) != written:
        raise InvalidInput(f"{folder} holds labels of another recipe, {file}; choose another folder")


def _key(name: str) -> str:
    """Return a file name for a molecule, whose own name may be a SMILES with slashes."""
    readable = "".join(c if c.isalnum() else "_" for c in name)[:40]
    return f"{readable}_{blake2b(name.encode(), digest_size=6).hexdigest()}"


def _short(basis: str) -> str:
    return basis.removeprefix("def2-universal-")
