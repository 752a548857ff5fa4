"""Where molecules come from, and which of them are never trained on.

Training molecules are small: QM9, and fragments of ChEMBL compounds cut at BRICS bonds and capped. What is judged is
kept apart by rules, not by lists, so that anybody who makes new labels keeps it apart too: QM9 molecules by their index
(`is_held_out`), drug molecules by leaving out them and whatever occurs only in them (`fragments`).
"""

import csv
import hashlib
import json
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from firstlight.chem.scf.drugs import JUDGED
from firstlight.chem.scf.molecules import Geometry, from_smiles, rdkit_modules
from firstlight.errors import InvalidInput, MissingExtra
from firstlight.files import load_arrays

ELEMENTS = ("H", "C", "N", "O", "F", "P", "S", "Cl", "Br")
HELD_OUT_SHARE = 73  # one QM9 molecule of so many: about 150 of 11,000


def is_held_out(index: int) -> bool:
    """Whether the QM9 molecule of this index (1 … 133,885) is for judging only.

    The rule is a hash of the index, so it needs no list and holds for any part of QM9.
    """
    digest = hashlib.blake2b(f"qm9:{index}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % HELD_OUT_SHARE == 0


def read_qm9(path: str | Path, *, held_out: bool | None = None, most_atoms: int | None = None) -> list[Geometry]:
    """Read QM9 molecules from an archive of arrays.

    Parameters
    ----------
    path : ``.npz`` with ``index`` (QM9's own), ``natoms``, ``smiles`` by molecule; ``z`` and ``pos`` (ångström) of all
        atoms one after another.
    held_out : only those held out, or only the others; all unless given.
    most_atoms : leave out larger molecules.

    Raises
    ------
    InvalidInput
        If the file is no such archive.
    """
    from pyscf.data.elements import ELEMENTS as SYMBOLS

    arrays = load_arrays(path)
    if missing := {"index", "natoms", "smiles", "z", "pos"} - arrays.keys():
        raise InvalidInput(f"{path} has no array {min(missing)!r}; expected index, natoms, smiles, z, pos")
    ends = np.cumsum(arrays["natoms"])
    molecules = []
    for index, smiles, end, count in zip(arrays["index"], arrays["smiles"], ends, arrays["natoms"], strict=True):
        unwanted = held_out is not None and is_held_out(int(index)) is not held_out
        if unwanted or (most_atoms is not None and count > most_atoms):
            continue
        symbols = tuple(SYMBOLS[z] for z in arrays["z"][end - count : end])
        positions = arrays["pos"][end - count : end].astype(float)
        molecules.append(Geometry(f"qm9:{index}", symbols, positions, smiles=str(smiles)))
    return molecules


def packaged_qm9(*, count: int, fewest_atoms: int = 8, most_atoms: int = 20, seed: int = 0) -> list[Geometry]:
    """Draw held-out molecules from the whole of QM9, as the package ``qm9pack`` carries it.

    Parameters
    ----------
    count, seed : how many, and which.
    fewest_atoms, most_atoms : their size.

    Raises
    ------
    MissingExtra
        If ``qm9pack`` is not installed.
    """
    spec = find_spec("qm9pack")
    if spec is None or spec.origin is None:
        raise MissingExtra("qm9pack")
    held_out = []
    for part in sorted((Path(spec.origin).parent / "data").glob("qm9_part*.csv")):
        with part.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if is_held_out(int(row["Index"])) and fewest_atoms <= int(row["N_atoms"]) <= most_atoms:
                    held_out.append(row)
    drawn = np.random.default_rng(seed).permutation(len(held_out))[:count]
    return [_from_row(held_out[k]) for k in drawn]


def _from_row(row: dict[str, str]) -> Geometry:
    symbols = tuple(json.loads(row["Elements"].replace("'", '"')))
    return Geometry(f"qm9:{row['Index']}", symbols, np.array(json.loads(row["XYZ_Ang"])), smiles=row["SMILES"])


def fragments(compounds: Iterable[str], *, apart_from: Iterable[str] = ()) -> list[str]:
    """Cut compounds at their BRICS bonds, cap the pieces, and return the SMILES of the distinct ones.

    Every piece is capped twice, with hydrogen and with methyl: BRICS cuts amides, esters and ethers, which only the
    methyl leaves what they are.

    Parameters
    ----------
    compounds : SMILES.
    apart_from : SMILES of further molecules for judging, beside `firstlight.chem.scf.drugs.JUDGED`: compounds among
        them are not cut, and pieces that equal one of them are left out.

    Returns
    -------
    Canonical SMILES of neutral, closed-shell pieces of `ELEMENTS`, sorted. Whole compounds that no BRICS bond cuts are
    among them.
    """
    chemistry, _ = rdkit_modules()
    from rdkit.Chem import BRICS

    attachment = chemistry.MolFromSmarts("[#0]")
    caps = [chemistry.MolFromSmarts("[H]"), chemistry.MolFromSmiles("C")]
    judged = _constitutions([*apart_from, *JUDGED])
    pieces: set[str] = set()
    for smiles in sorted(s for s in _distinct(compounds) if constitution(s) not in judged):
        cut = BRICS.BreakBRICSBonds(chemistry.MolFromSmiles(smiles))
        for piece in chemistry.GetMolFrags(cut, asMols=True, sanitizeFrags=False):
            for cap in caps:
                capped = chemistry.ReplaceSubstructs(piece, attachment, cap, replaceAll=True)[0]
                pieces |= _distinct([chemistry.MolToSmiles(capped)])
    return sorted(piece for piece in pieces if constitution(piece) not in judged and _is_ordinary(piece))


def training_geometries(
    qm9: str | Path,
    compounds: Iterable[str],
    drugs: Iterable[str],
    *,
    sizes: tuple[int, int] = (8, 14),
    most: int | None = None,
    known: Iterable[str] = (),
    seed: int = 0,
) -> list[Geometry]:
    """Draw molecules to be labelled: fragments and QM9 molecules by turns, in an order set by the seed.

    Parameters
    ----------
    qm9 : archive for `read_qm9`; those held out are left out, by index and by SMILES.
    compounds, drugs : SMILES of compounds to be cut, and of molecules for judging.
    sizes : fewest and most atoms, with hydrogens.
    most : how many at most.
    known : SMILES of molecules that have labels already.
    seed : of the order and of the conformers.
    """
    chemistry, _ = rdkit_modules()
    fewest_atoms, most_atoms = sizes
    rng = np.random.default_rng(seed)
    drugs = set(drugs)
    kept_apart = _constitutions([m.smiles for m in read_qm9(qm9, held_out=True)] + [*drugs, *known])
    small = [m for m in read_qm9(qm9, held_out=False, most_atoms=most_atoms) if len(m.symbols) >= fewest_atoms]
    small = [small[k] for k in rng.permutation(len(small))]
    pieces = [s for s in fragments(compounds, apart_from=drugs) if constitution(s) not in kept_apart]
    sizes_of = [chemistry.AddHs(chemistry.MolFromSmiles(s)).GetNumAtoms() for s in pieces]
    pieces = [s for s, size in zip(pieces, sizes_of, strict=True) if fewest_atoms <= size <= most_atoms]
    pieces = [pieces[k] for k in rng.permutation(len(pieces))]
    drawn: list[Geometry] = []
    for turn in range(max(len(small), len(pieces))):
        if turn < len(pieces):
            drawn += _embedded(pieces[turn], seed)
        if turn < len(small) and constitution(small[turn].smiles) not in kept_apart:
            drawn.append(small[turn])
        if most is not None and len(drawn) >= most:
            return drawn[:most]
    return drawn


def _embedded(smiles: str, seed: int) -> list[Geometry]:
    try:
        return [from_smiles(smiles, seed=seed)]
    except InvalidInput:  # no conformer or no parameters: there are other molecules
        return []


def _distinct(smiles: Iterable[str]) -> set[str]:
    """Return the canonical SMILES of those that RDKit can read."""
    return {known for known in map(_canonical, smiles) if known is not None}


def _constitutions(smiles: Iterable[str]) -> set[str]:
    return {known for known in map(constitution, smiles) if known}


def constitution(smiles: str) -> str:
    """Return the canonical SMILES without stereochemistry, which conformers and stereoisomers share."""
    chemistry, _ = rdkit_modules()
    molecule = chemistry.MolFromSmiles(smiles)
    return smiles if molecule is None else chemistry.MolToSmiles(molecule, isomericSmiles=False)


def _canonical(smiles: str) -> str | None:
    chemistry, _ = rdkit_modules()
    molecule = chemistry.MolFromSmiles(smiles)
    return None if molecule is None else chemistry.MolToSmiles(molecule)


def _is_ordinary(smiles: str) -> bool:
    """Whether it is one neutral piece without unpaired electrons, of the elements that are learned."""
    chemistry, _ = rdkit_modules()
    molecule = chemistry.MolFromSmiles(smiles)
    atoms = list(molecule.GetAtoms())
    return (
        "." not in smiles
        and chemistry.GetFormalCharge(molecule) == 0
        and not any(atom.GetNumRadicalElectrons() for atom in atoms)
        and all(atom.GetSymbol() in ELEMENTS for atom in atoms)
    )
