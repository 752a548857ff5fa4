"""Where molecules come from, and which of them are never trained on.

Training molecules are small: QM9, and fragments of ChEMBL compounds cut at BRICS bonds and capped. What is judged is
kept apart by rules, not by lists, so that anybody who makes new labels keeps it apart too: QM9 molecules by their index
(`is_held_out`), drug molecules by leaving out them and whatever occurs only in them (`fragments`).
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from firstlight.chem.scf.molecules import Geometry, from_smiles, rdkit_modules
from firstlight.errors import InvalidInput
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


def fragments(compounds: Iterable[str], *, apart_from: Iterable[str] = ()) -> list[str]:
    """Cut compounds at their BRICS bonds, cap the pieces, and return the SMILES of the distinct ones.

    Every piece is capped twice, with hydrogen and with methyl: BRICS cuts amides, esters and ethers, which only the
    methyl leaves what they are.

    Parameters
    ----------
    compounds : SMILES.
    apart_from : SMILES of molecules for judging: compounds among them are not cut, and pieces that equal one of them
        are left out.

    Returns
    -------
    Canonical SMILES of neutral, closed-shell pieces of `ELEMENTS`, sorted. Whole compounds that no BRICS bond cuts are
    among them.
    """
    chemistry, _ = rdkit_modules()
    from rdkit.Chem import BRICS

    attachment = chemistry.MolFromSmarts("[#0]")
    caps = [chemistry.MolFromSmarts("[H]"), chemistry.MolFromSmiles("C")]
    judged = _distinct(apart_from)
    pieces: set[str] = set()
    for smiles in sorted(_distinct(compounds) - judged):
        cut = BRICS.BreakBRICSBonds(chemistry.MolFromSmiles(smiles))
        for piece in chemistry.GetMolFrags(cut, asMols=True, sanitizeFrags=False):
            for cap in caps:
                capped = chemistry.ReplaceSubstructs(piece, attachment, cap, replaceAll=True)[0]
                pieces |= _distinct([chemistry.MolToSmiles(capped)])
    return sorted(piece for piece in pieces - judged if _is_ordinary(piece))


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
    kept_apart = _distinct(m.smiles for m in read_qm9(qm9, held_out=True)) | _distinct(drugs) | _distinct(known)
    small = [m for m in read_qm9(qm9, held_out=False, most_atoms=most_atoms) if len(m.symbols) >= fewest_atoms]
    small = [small[k] for k in rng.permutation(len(small))]
    pieces = [s for s in fragments(compounds, apart_from=drugs) if s not in kept_apart]
    sizes_of = [chemistry.AddHs(chemistry.MolFromSmiles(s)).GetNumAtoms() for s in pieces]
    pieces = [s for s, size in zip(pieces, sizes_of, strict=True) if fewest_atoms <= size <= most_atoms]
    pieces = [pieces[k] for k in rng.permutation(len(pieces))]
    drawn: list[Geometry] = []
    for turn in range(max(len(small), len(pieces))):
        if turn < len(pieces):
            drawn += _embedded(pieces[turn], seed)
        if turn < len(small) and _canonical(small[turn].smiles) not in kept_apart:
            drawn.append(small[turn])
        if most is not None and len(drawn) >= most:
            return drawn[:most]
    return drawn


def drug_geometries(
    smiles: Sequence[str], sizes: tuple[int, int] = (30, 60), count: int = 30, seed: int = 0
) -> list[Geometry]:
    """Draw molecules for judging: neutral, closed-shell, of `ELEMENTS`, with so many atoms; geometries by MMFF94."""
    chemistry, _ = rdkit_modules()
    drawn: list[Geometry] = []
    for k in np.random.default_rng(seed).permutation(len(smiles)):
        known = _canonical(str(smiles[k]))
        if known is None or not _is_ordinary(known):
            continue
        if sizes[0] <= chemistry.AddHs(chemistry.MolFromSmiles(known)).GetNumAtoms() <= sizes[1]:
            drawn += _embedded(known, seed)
        if len(drawn) == count:
            break
    return drawn


def _embedded(smiles: str, seed: int) -> list[Geometry]:
    try:
        return [from_smiles(smiles, seed=seed)]
    except InvalidInput:  # no conformer or no parameters: there are other molecules
        return []


def _distinct(smiles: Iterable[str]) -> set[str]:
    """Return the canonical SMILES of those that RDKit can read."""
    return {known for known in map(_canonical, smiles) if known is not None}


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
