"""The verbs of ``firstlight scf``: run, guess, predict, bench, label, train."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from firstlight.errors import InvalidInput
from firstlight.files import writable, write_text
from firstlight.terminal import console, print_fields, print_table

if TYPE_CHECKING:
    from firstlight.chem.scf.molecules import Geometry
    from firstlight.chem.scf.prediction import DensitySource

app = typer.Typer()

MISSED = 1  # exit code where two guesses end at different energies, or molecules were left out
CUBES = (".cube", ".cub")

Molecule = Annotated[str, Argument(help="An .xyz file, or a SMILES.")]
XC = Annotated[str, Option(help="Functional, as PySCF names it; hf for Hartree–Fock.")]
Basis = Annotated[str, Option(help="Orbital basis, as PySCF names it.")]
Charge = Annotated[int, Option(help="Charge of the molecule.")]
Spin = Annotated[int, Option(help="Number of unpaired electrons.")]
Unit = Annotated[Literal["angstrom", "bohr"], Option(help="Unit of the coordinates in the .xyz file.")]
DensityFit = Annotated[bool, Option("--df/--no-df", help="Fit densities in SCF (mf.density_fit()).")]
Weights = Annotated[str | None, Option(help="Folder or repository of a predictor; the shipped one if not given.")]
Workers = Annotated[int | None, Option(help="Processes; one per core if not given.")]


@app.command()
def run(
    molecule: Molecule,
    xc: XC = "pbe",
    basis: Basis = "def2-svp",
    charge: Charge = 0,
    spin: Spin = 0,
    unit: Unit = "angstrom",
    density_fit: DensityFit = True,
    polish: Annotated[bool, Option("--polish", help="Cheap cycles first; for hybrids with --no-df.")] = False,
    weights: Weights = None,
) -> None:
    """Run SCF from the predicted density and from PySCF's own guess, side by side.

    The exit code is 1 if the two do not end at the same energy.

    Example: firstlight scf run caffeine.xyz --xc b3lyp --basis def2-tzvp
    """
    from firstlight.chem.scf.certificate import certify
    from firstlight.chem.scf.guess import apply

    geometry = _read(molecule, unit, charge, spin)
    mf = apply(_mean_field(geometry, xc, basis, density_fit=density_fit), _source(weights), polish=polish)
    mf.kernel()
    found = certify(mf)
    theirs = mf.guess_replaced
    lines = {
        "molecule": f"{geometry.name}: {mf.mol.natm} atoms, {mf.mol.nelectron} electrons, {mf.mol.nao} orbitals",
        f"from {theirs}": _ended(found.peer_cycles, found.peer_energy, found.peer_converged),
        f"from {found.guess.used}": _ended(found.cycles, found.energy, found.converged),
        "guess": f"{found.guess.seconds:.2f} s, expected relative error {found.guess.uncertainty:.3g}",
        "certificate": found.verdict,
    }
    if found.guess.reason:
        lines["guess"] = f"{found.guess.used}, because {found.guess.reason}"
    print_fields(lines)
    if not found.holds:
        raise typer.Exit(MISSED)


@app.command()
def guess(
    molecule: Molecule,
    out: Annotated[Path, Option("--out", "-o", help="Where the orbitals go, as a PySCF chkfile (.chk, .h5).")],
    xc: XC = "pbe",
    basis: Basis = "def2-svp",
    charge: Charge = 0,
    spin: Spin = 0,
    unit: Unit = "angstrom",
    weights: Weights = None,
) -> None:
    """Write the guess as a PySCF chkfile, for ``mf.kernel(dm0=mf.from_chk("guess.chk"))``.

    Example: firstlight scf guess caffeine.xyz --xc pbe --basis def2-svp -o guess.chk
    """
    from firstlight.chem.scf.guess import apply
    from firstlight.chem.scf.guess_file import write_guess

    writable(out, ".chk", ".h5")
    geometry = _read(molecule, unit, charge, spin)
    # Without density fitting, so that no tensor is built that nobody will use.
    mf = apply(_mean_field(geometry, xc, basis, density_fit=False), _source(weights))
    write_guess(out, mf)
    print_fields(
        {
            "molecule": f"{geometry.name}: {mf.mol.natm} atoms, {mf.mol.nelectron} electrons, {mf.mol.nao} orbitals",
            "guess": mf.guess.used if not mf.guess.reason else f"{mf.guess.used}, because {mf.guess.reason}",
            "written": str(out),
        }
    )


@app.command()
def predict(
    molecule: Molecule,
    out: Annotated[Path | None, Option("--out", "-o", help="Save the coefficients (.npz).")] = None,
    cube: Annotated[Path | None, Option(help="Save the density on a grid, for viewers (.cube).")] = None,
    unit: Unit = "angstrom",
    weights: Weights = None,
) -> None:
    """Predict the electron density of a molecule, and its dipole moment.

    Example: firstlight scf predict caffeine.xyz --out density.npz --cube density.cube
    """
    from firstlight.chem.scf.molecules import check_molecule
    from firstlight.chem.scf.real_space import dipole_moment, write_cube
    from firstlight.files import save_arrays

    if out:
        writable(out, ".npz")
    if cube:
        writable(cube, *CUBES)
    geometry, source = _read(molecule, unit, 0, 0), _source(weights)
    mol = geometry.mole()
    check_molecule(mol, source.elements)
    density = source.predict(mol)
    moment = dipole_moment(mol, density.coefficients, density.auxbasis)
    lines = {
        "molecule": f"{geometry.name}: {mol.natm} atoms, {mol.nelectron} electrons",
        "density": f"{len(density.coefficients)} coefficients in {density.auxbasis}",
        "expected relative error": f"{density.uncertainty:.3g}",
        "dipole moment": f"{float((moment @ moment) ** 0.5):.3f} D ({', '.join(f'{x:.3f}' for x in moment)})",
    }
    if density.doubt:
        lines["doubt"] = density.doubt
    if out:
        save_arrays(out, coefficients=density.coefficients, positions=mol.atom_coords(), charges=mol.atom_charges())
        lines["coefficients"] = str(out)
    if cube:
        write_cube(cube, mol, density.coefficients, density.auxbasis)
        lines["cube"] = str(cube)
    print_fields(lines)


@app.command("label")
def make_labels(
    molecules: Annotated[Path, Argument(help="An .xyz file, SMILES (.smi, .csv), or an archive of geometries (.npz).")],
    out: Annotated[Path, Option("--out", "-o", help="Where the labels go, gathered (.npz).")],
    folder: Annotated[Path | None, Option(help="Where each is kept when it is done; beside the archive.")] = None,
    unit: Unit = "angstrom",
    workers: Workers = None,
    scheduler: Annotated[str | None, Option(help="Address of a Dask scheduler to run on.")] = None,
) -> None:
    """Compute densities of many molecules, to train on. The same call goes on where it was stopped.

    Molecules that cannot be used are listed, and the exit code is then 1.

    Example: firstlight scf label molecules.smi -o labels.npz
    """
    from firstlight.chem.scf.labels import label, read_label, write_labels

    writable(out, ".npz")
    usable, refused = _read_many(molecules, unit)
    files, failed = label(usable, folder or out.with_suffix(".parts"), workers=workers, scheduler=scheduler)
    refused |= failed
    if files:
        write_labels(out, [read_label(file) for file in files])
    print_fields({"labels": f"{len(files):,} in {out}" if files else "none", "left out": f"{len(refused):,}"})
    screen = console(stderr=True)
    for name, reason in refused.items():
        screen.print(f"{name}: {reason}", markup=False)
    if refused:
        raise typer.Exit(MISSED)


@app.command()
def bench(
    molecules: Annotated[Path, Argument(help="An .xyz file, SMILES (.smi, .csv), or an archive of geometries (.npz).")],
    xc: XC = "pbe",
    basis: Basis = "def2-svp",
    guesses: Annotated[str, Option(help="Which, with commas between.")] = "minao,atom,sap,pre-scf,restart,ours,oracle",
    density_fit: DensityFit = True,
    polish: Annotated[bool, Option("--polish", help="Cheap cycles before ours.")] = False,
    weights: Weights = None,
    workers: Workers = None,
    out: Annotated[Path | None, Option("--out", "-o", help="Every run as data (.json).")] = None,
) -> None:
    """Compare guesses over many molecules: cycles, time, and the cost of each guess in cycles.

    Example: firstlight scf bench molecules.smi --xc pbe --basis def2-svp
    """
    from functools import partial

    from firstlight.chem.scf.comparison import compare_on
    from firstlight.chem.scf.comparison_tables import summary

    if out:
        writable(out, ".json")
    usable, refused = _read_many(molecules, "angstrom")
    chosen = [name.strip() for name in guesses.split(",")]
    make = partial(_mean_field_of, xc=xc, density_fit=density_fit)
    source = _source(weights) if "ours" in chosen else None
    rows, failed = compare_on(usable, make, source, basis=basis, workers=workers, guesses=chosen, polish=polish)
    if not rows:
        raise InvalidInput(
            f"no molecule of {molecules} could be run: {next(iter((refused | failed).values()), 'none')}"
        )
    table = summary(rows)
    print_table(table)
    if out:
        write_text(out, json.dumps({"summary": table, "runs": rows}, indent=1))
    for name, reason in (refused | failed).items():
        console(stderr=True).print(f"{name}: {reason.strip().splitlines()[-1]}", markup=False)


@app.command("train")
def train_predictor(
    labels: Annotated[list[Path], Argument(help="Archives that `firstlight scf label` wrote (.npz).")],
    out: Annotated[Path, Option("--out", "-o", help="Folder for checkpoints, scores, and the finished model/.")],
    apart_from: Annotated[Path | None, Option(help="SMILES (.smi, .csv) of molecules that must not be seen.")] = None,
    epochs: Annotated[int, Option(help="Passes over the labels.")] = 150,
    seed: Annotated[int, Option(help="Seed of weights and order.")] = 0,
    resume: Annotated[bool, Option("--resume", help="Go on with the run in the folder.")] = False,
) -> None:
    """Train a density predictor on labels.

    Example: firstlight scf train labels.npz -o runs/mine; firstlight scf run CCO --weights runs/mine/model
    """
    from firstlight.chem.scf.labels import read_labels
    from firstlight.chem.scf.molecules import read_smiles
    from firstlight.chem.scf.training import train

    known = [label for archive in labels for label in read_labels(archive)]
    judged = read_smiles(apart_from) if apart_from else []
    _, finished = train(known, out, apart_from=judged, max_epochs=epochs, seed=seed, resume=resume)
    print_fields(
        {
            "labels": f"{len(known):,}",
            "relative Coulomb error": f"{finished.score:.4g} at epoch {finished.epoch} of {finished.epochs}",
            "model": str(out / "model"),
        }
    )


def _read(molecule: str, unit: Literal["angstrom", "bohr"], charge: int, spin: int) -> "Geometry":
    from dataclasses import replace

    from firstlight.chem.scf.molecules import from_smiles, read_xyz

    if molecule.endswith(".xyz") or Path(molecule).is_file():
        return read_xyz(molecule, unit, charge, spin)
    geometry = from_smiles(molecule)
    return replace(geometry, charge=charge or geometry.charge, spin=spin or geometry.spin)


def _read_many(path: Path, unit: Literal["angstrom", "bohr"]) -> "tuple[list[Geometry], dict[str, str]]":
    from firstlight.chem.scf.data import read_qm9
    from firstlight.chem.scf.molecules import read_molecules

    return (read_qm9(path), {}) if path.suffix == ".npz" else read_molecules(path, unit)


def _mean_field(geometry: "Geometry", xc: str, basis: str, *, density_fit: bool) -> Any:
    return _mean_field_of(geometry.mole(basis), xc=xc, density_fit=density_fit)


def _mean_field_of(mol: Any, *, xc: str, density_fit: bool) -> Any:
    from firstlight.chem.scf.mean_fields import mean_field

    return mean_field(mol, xc, density_fit=density_fit)


def _source(weights: str | None) -> "DensitySource":
    from firstlight.chem.scf.guess import shipped_predictor

    if weights is None:
        return shipped_predictor()
    from firstlight.chem.scf.density_model import DensityPredictor

    return DensityPredictor.from_pretrained(weights)


def _ended(cycles: int, energy: float, converged: bool) -> str:
    return f"{cycles} cycles, {energy:.9f} hartree" + ("" if converged else ", not converged")
