"""Molecules at the door: read from files and SMILES, and refused with a reason where no calculation should begin."""

import itertools
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64
from pyscf import gto
from pyscf.data import elements, radii
from pyscf.data.nist import BOHR
from scipy.spatial.distance import cdist

from firstlight.chem.scf.auxiliary_basis import real_atoms
from firstlight.errors import InvalidInput, MissingExtra

Unit = Literal["angstrom", "bohr"]
CLOSEST = 0.4  # ångström; no two nuclei of a molecule are closer, H₂ being the shortest with 0.74
BONDED = (0.65, 1.5)  # where an atom's nearest neighbour stands, in units of the sum of covalent radii


@dataclass(frozen=True)
class Geometry:
    """A molecule without a basis: what a list of molecules to be computed is made of.

    Attributes
    ----------
    name : where it comes from, such as ``"qm9:1234"``; unique in a list.
    symbols : chemical symbols.
    positions : in ångström.
    charge : in elementary charges.
    spin : number of unpaired electrons.
    smiles : where known.
    """

    name: str
    symbols: tuple[str, ...]
    positions: Float64[np.ndarray, "atoms 3"]
    charge: int = 0
    spin: int = 0
    smiles: str = ""

    def mole(self, basis: Any = "def2-svp", **options: Any) -> gto.Mole:
        """Return it as a PySCF molecule.

        Parameters
        ----------
        basis : orbital basis, in any form that PySCF takes.
        **options : further attributes of the molecule: ``ecp``, ``cart``, ``verbose``, ``max_memory``…

        Raises
        ------
        InvalidInput
            If `check_atoms` refuses the atoms, the electrons do not go with the spin, or PySCF lacks the basis.
        """
        check_atoms(self.symbols, self.positions)
        atoms = list(zip(self.symbols, self.positions.tolist(), strict=True))
        options = {"verbose": 0, **options}
        try:
            return gto.M(atom=atoms, unit="Angstrom", basis=basis, charge=self.charge, spin=self.spin, **options)
        except (RuntimeError, KeyError, ValueError) as error:  # of PySCF, for electrons and basis sets
            raise InvalidInput(f"PySCF cannot build {self.name}: {' '.join(str(error).split())}") from error


def read_xyz(path: str | Path, unit: Unit = "angstrom", charge: int = 0, spin: int = 0) -> Geometry:
    """Read a molecule from an ``.xyz`` file.

    Parameters
    ----------
    path : the file: number of atoms, a comment, then a symbol and three coordinates per line.
    unit : of the coordinates. The format means ångström; some programs write bohr, and a warning says where the
        distances look like it.
    charge, spin : of the molecule, which the format does not hold.

    Raises
    ------
    InvalidInput
        If a line cannot be read, or `check_atoms` refuses the atoms.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines() or [""]
        count = int(lines[0])
    except FileNotFoundError as error:
        raise InvalidInput(f"there is no file {path}") from error
    except (OSError, ValueError) as error:  # no text is a ValueError too
        raise InvalidInput(f"cannot read {path} as .xyz, which begins with the number of atoms: {error}") from error
    rows = [line.split() for line in lines[2 : 2 + count]]
    if len(rows) < count or count < 1:
        raise InvalidInput(f"{path} announces {count} atoms and holds {len(rows)}")
    positions = np.empty((count, 3))
    for number, row in enumerate(rows):
        try:
            positions[number] = [float(text) for text in row[1:4]]
        except ValueError as error:
            line = " ".join(row)
            raise InvalidInput(f"{path}, line {number + 3}: expected a symbol and x y z, got {line!r}") from error
    symbols = tuple(_symbol(row[0], f"{path}, line {number + 3}") for number, row in enumerate(rows))
    positions *= {"angstrom": 1.0, "bohr": BOHR}[unit]
    check_atoms(symbols, positions)
    warn_of_strange_distances(symbols, positions, unit)
    return Geometry(path.stem, symbols, positions, charge, spin)


def from_smiles(smiles: str, name: str = "", seed: int = 0) -> Geometry:
    """Build a molecule in three dimensions: ETKDG and MMFF94 of RDKit, hydrogens added.

    Parameters
    ----------
    smiles : the molecule; a formal charge or unpaired electrons become those of the geometry.
    name : its name; the SMILES unless given.
    seed : of the conformer.

    Raises
    ------
    InvalidInput
        If RDKit cannot read the SMILES, or finds no conformer that MMFF94 can relax.
    """
    chemistry, forcefields = rdkit_modules()
    molecule = chemistry.MolFromSmiles(smiles)
    if molecule is None or not molecule.GetNumAtoms():
        raise InvalidInput(f"RDKit cannot read the SMILES {smiles!r}")
    known = chemistry.MolToSmiles(molecule)
    molecule = chemistry.AddHs(molecule)
    if forcefields.EmbedMolecule(molecule, randomSeed=seed) != 0:
        raise InvalidInput(f"RDKit finds no conformer of {smiles!r}; give a geometry instead")
    if not forcefields.MMFFHasAllMoleculeParams(molecule):
        raise InvalidInput(f"MMFF94 has no parameters for {smiles!r}; give a geometry instead")
    forcefields.MMFFOptimizeMolecule(molecule, maxIters=2000)
    atoms = list(molecule.GetAtoms())
    symbols = tuple(atom.GetSymbol() for atom in atoms)
    positions = np.array(molecule.GetConformer().GetPositions(), dtype=float)
    check_atoms(symbols, positions)
    unpaired = sum(atom.GetNumRadicalElectrons() for atom in atoms)
    charge = chemistry.GetFormalCharge(molecule)
    return Geometry(name or smiles, symbols, positions, charge, unpaired, known)


def read_molecules(path: str | Path, unit: Unit = "angstrom") -> tuple[list[Geometry], dict[str, str]]:
    """Read one ``.xyz`` file, or a list of SMILES: ``.smi``, or the column ``smiles`` of a ``.csv``.

    Returns
    -------
    molecules : those that can be used.
    refused : why the others cannot, by name.

    Raises
    ------
    InvalidInput
        If the file is of another kind or cannot be read.
    """
    path = Path(path)
    if path.suffix == ".xyz":
        return [read_xyz(path, unit)], {}
    molecules, refused = [], {}
    for smiles in dict.fromkeys(read_smiles(path)):
        try:
            molecules.append(from_smiles(smiles))
        except InvalidInput as error:
            refused[smiles] = str(error)
    return molecules, refused


def read_smiles(path: str | Path) -> list[str]:
    """Return the SMILES of a ``.smi`` file (first word of each line) or a ``.csv`` file (column ``smiles``).

    Raises
    ------
    InvalidInput
        If the file has another ending, cannot be read, or has no such column.
    """
    import csv

    path = Path(path)
    if path.suffix not in (".smi", ".csv"):
        raise InvalidInput(f"cannot read molecules from {path}: expected .xyz, .smi or .csv")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            if path.suffix == ".smi":
                return [line.split()[0] for line in file if line.strip()]
            return [row["smiles"] for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {path}: {error}") from error
    except KeyError as error:
        raise InvalidInput(f"{path} has no column 'smiles'") from error


def check_molecule(mol: Any, elements: tuple[str, ...] = ()) -> None:
    """Refuse a PySCF molecule for which no density can be predicted; ghost atoms are passed over.

    Parameters
    ----------
    mol : the molecule, built.
    elements : symbols of what is supported; any unless given.

    Raises
    ------
    InvalidInput
        If it is a periodic cell, has a core potential or an element that is not supported, or `check_atoms` refuses.
    """
    if not isinstance(mol, gto.Mole) or hasattr(mol, "lattice_vectors"):
        raise InvalidInput(f"expected a pyscf.gto.Mole, built; got {type(mol).__name__} (cells are not supported)")
    if mol.natm == 0:
        raise InvalidInput("the molecule has no atoms; was it built?")
    atoms = real_atoms(mol)
    symbols = tuple(mol.atom_pure_symbol(a) for a in atoms)
    if foreign := sorted({symbol for symbol in symbols if elements and symbol not in elements}):
        also = "; their core potentials change the number of electrons" if mol.has_ecp() else ""
        raise InvalidInput(f"no density is known for {', '.join(foreign)}; supported are {' '.join(elements)}{also}")
    if mol.has_ecp():
        cored = sorted({mol.atom_pure_symbol(a) for a in atoms if mol.atom_nelec_core(a)})
        raise InvalidInput(
            f"a core potential on {', '.join(cored)} changes the number of electrons; all-electron densities only"
        )
    check_atoms(symbols, mol.atom_coords(unit="Angstrom")[atoms])


def check_atoms(symbols: tuple[str, ...], positions: Float64[np.ndarray, "atoms 3"]) -> None:
    """Refuse atoms without a place, and atoms on top of each other.

    Raises
    ------
    InvalidInput
        If a coordinate is not finite, or two atoms are closer than 0.4 Å; the text names them.
    """
    if len(symbols) != len(positions):
        raise InvalidInput(f"{len(symbols)} symbols do not go with {len(positions)} positions")
    if len(lost := np.flatnonzero(~np.isfinite(positions).all(axis=1))):
        a = int(lost[0])
        raise InvalidInput(f"atom {a + 1} ({symbols[a]}) has the coordinates {positions[a].tolist()}; mend the input")
    if len(symbols) < 2:
        return
    distances = cdist(positions, positions)
    np.fill_diagonal(distances, math.inf)
    a, b = sorted(int(k) for k in np.unravel_index(distances.argmin(), distances.shape))
    if distances[a, b] < CLOSEST:
        raise InvalidInput(
            f"atoms {a + 1} ({symbols[a]}) and {b + 1} ({symbols[b]}) are {distances[a, b]:.3f} Å apart, closer than "
            f"{CLOSEST} Å; mend the geometry or its unit"
        )


def warn_of_strange_distances(
    symbols: tuple[str, ...], positions: Float64[np.ndarray, "atoms 3"], unit: Unit = "angstrom"
) -> None:
    """Warn where all atoms are so far from, or so close to, their neighbours that the unit must be wrong."""
    if len(symbols) < 2:
        return
    covalent = np.array([radii.COVALENT[elements.charge(symbol)] for symbol in symbols]) * BOHR
    distances = cdist(positions, positions)
    np.fill_diagonal(distances, math.inf)
    nearest = (distances / (covalent[:, None] + covalent)).min(axis=1)
    if BONDED[0] <= np.median(nearest) <= BONDED[1]:
        return
    a, b = min(itertools.combinations(range(len(symbols)), 2), key=lambda pair: distances[pair])
    other = "bohr" if unit == "angstrom" else "ångström"
    warnings.warn(
        f"the nearest atoms, {symbols[a]}{a + 1} and {symbols[b]}{b + 1}, are {distances[a, b]:.2f} Å apart, which is "
        f"no bond; are the coordinates in {other}?",
        stacklevel=3,
    )


def _symbol(text: str, where: str) -> str:
    try:
        number = int(text) if text.isdigit() else elements.charge(text)
        if 0 < number < len(elements.ELEMENTS):  # PySCF counts ghosts as 0
            return elements.ELEMENTS[number]
    except (KeyError, ValueError):
        pass
    raise InvalidInput(f"{where}: {text!r} is no chemical element")


def rdkit_modules() -> tuple[Any, Any]:
    """Return ``rdkit.Chem`` and ``rdkit.Chem.AllChem``, silenced; raise `MissingExtra` where RDKit is absent."""
    try:
        from rdkit import Chem, RDLogger
        from rdkit.Chem import AllChem
    except ModuleNotFoundError as error:
        raise MissingExtra("rdkit", "chem") from error
    RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined] - it is made in C++. It prints its own account of every refusal
    return Chem, AllChem
