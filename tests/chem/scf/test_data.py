from pathlib import Path

import numpy as np
import pytest
from pyscf.data.elements import charge
from rdkit import Chem
from rdkit.Chem.rdMolDescriptors import CalcMolFormula

from firstlight.chem.scf.data import (
    ELEMENTS,
    fragments,
    is_held_out,
    packaged_qm9,
    read_qm9,
    training_geometries,
)
from firstlight.chem.scf.drugs import DRUGS, JUDGED
from firstlight.chem.scf.molecules import from_smiles, read_smiles
from firstlight.errors import InvalidInput
from firstlight.files import save_arrays

SHARED = next((p / "shared/data/01" for p in Path(__file__).parents if (p / "shared/data/01").is_dir()), None)
COMPOUNDS = ["CC(=O)Nc1ccc(OCC)cc1", "Clc1ccccc1CN1CCSCC1", "Oc1ccncc1", "C[N+](C)(C)CCO", "CCCCC[Si](C)(C)C"]


@pytest.fixture
def archive(tmp_path):
    """An archive in QM9's layout: methanol under a thousand indices, or methylamine where the index is held out."""
    indices = np.arange(1, 1001)
    smiles = ["CN" if is_held_out(k) else "CO" for k in indices.tolist()]
    known = {name: from_smiles(name) for name in ("CN", "CO")}
    save_arrays(
        tmp_path / "qm9.npz",
        index=indices,
        natoms=np.array([len(known[name].symbols) for name in smiles]),
        smiles=np.array(smiles),
        z=np.array([charge(symbol) for name in smiles for symbol in known[name].symbols], dtype=np.int8),
        pos=np.concatenate([known[name].positions for name in smiles]),
    )
    return tmp_path / "qm9.npz"


def test_held_out_molecules_and_the_others_are_all_and_apart(archive):
    kept, held = read_qm9(archive, held_out=False), read_qm9(archive, held_out=True)
    names = {m.name for m in kept} | {m.name for m in held}
    assert names == {m.name for m in read_qm9(archive)}
    assert len(kept) + len(held) == len(names)
    assert all(is_held_out(int(m.name.removeprefix("qm9:"))) for m in held)
    assert 1000 / 73 / 2 < len(held) < 1000 / 73 * 2
    assert kept[0].symbols == ("C", "O", "H", "H", "H", "H")
    assert held[0].symbols == ("C", "N", "H", "H", "H", "H", "H")


def test_about_150_molecules_of_the_11_000_are_held_out():
    if SHARED is None:
        pytest.skip("no shared data here")
    assert 100 <= len(read_qm9(SHARED / "qm9_le20_11000.npz", held_out=True)) <= 200


def test_an_archive_without_an_array_is_refused(tmp_path):
    save_arrays(tmp_path / "other.npz", index=np.arange(3))
    with pytest.raises(InvalidInput, match="no array 'natoms'"):
        read_qm9(tmp_path / "other.npz")


def test_fragments_are_ordinary_molecules_and_keep_their_bonds():
    pieces = fragments(COMPOUNDS)
    for smiles in pieces:
        molecule = Chem.MolFromSmiles(smiles)
        assert Chem.MolToSmiles(molecule) == smiles
        assert {atom.GetSymbol() for atom in molecule.GetAtoms()} <= set(ELEMENTS)
        assert Chem.GetFormalCharge(molecule) == 0
        assert not any(atom.GetAtomicNum() == 0 for atom in molecule.GetAtoms())
    assert "CC(C)=O" in pieces  # the acetyl of the first, capped with methyl
    assert "CC=O" in pieces  # and with hydrogen
    assert "Oc1ccncc1" in pieces  # of which BRICS cuts nothing off


def test_nothing_comes_from_molecules_for_judging():
    apart = fragments(COMPOUNDS, apart_from=[COMPOUNDS[1], "c1cc(O)ccn1"])
    assert "Oc1ccncc1" not in apart
    assert not any("S" in smiles for smiles in apart)


def test_training_molecules_alternate_and_leave_out_what_is_known(archive):
    drawn = training_geometries(archive, COMPOUNDS, ["CCO"], sizes=(5, 16), most=6, seed=1)
    assert [m.name.startswith("qm9") for m in drawn] == [False, True] * 3
    assert all(5 <= len(m.symbols) <= 16 for m in drawn)
    without = training_geometries(archive, COMPOUNDS, [], sizes=(5, 16), known=["CO", drawn[0].smiles], seed=1)
    assert not {"CO", drawn[0].smiles} & {m.smiles for m in without}


def test_the_drugs_are_of_thirty_to_sixty_atoms_and_of_all_elements():
    molecules = {name: Chem.AddHs(Chem.MolFromSmiles(smiles)) for name, smiles in DRUGS.items()}
    assert all(30 <= molecule.GetNumAtoms() <= 60 for molecule in molecules.values())
    assert all(Chem.GetFormalCharge(molecule) == 0 for molecule in molecules.values())
    assert {atom.GetSymbol() for molecule in molecules.values() for atom in molecule.GetAtoms()} == set(ELEMENTS)
    assert not fragments(JUDGED)


@pytest.mark.parametrize(
    ("name", "formula"),
    [("ibuprofen", "C13H18O2"), ("tenofovir", "C9H14N5O4P"), ("celecoxib", "C17H14F3N3O2S"), ("cortisone", "C21H28O5"),
     ("omeprazole", "C17H19N3O3S"), ("brompheniramine", "C16H19BrN2"), ("enalapril", "C20H28N2O5")],
)  # fmt: skip
def test_a_drug_has_its_formula(name, formula):
    assert CalcMolFormula(Chem.MolFromSmiles(DRUGS[name])) == formula


def test_packaged_molecules_are_held_out_ones():
    pytest.importorskip("qm9pack")
    drawn = packaged_qm9(count=3, seed=1)
    assert len(drawn) == 3
    assert all(is_held_out(int(m.name.removeprefix("qm9:"))) and 8 <= len(m.symbols) <= 20 for m in drawn)
    assert all(len(m.positions) == len(m.symbols) == from_smiles(m.smiles).mole().natm for m in drawn)


def test_drugs_and_training_fragments_have_no_molecule_in_common():
    if SHARED is None:
        pytest.skip("no shared data here")
    drugs = read_smiles(SHARED / "chembl_drugs.csv")
    pieces = fragments(read_smiles(SHARED / "chembl_samples.csv")[:60], apart_from=drugs)
    known = {Chem.MolToSmiles(m) for m in map(Chem.MolFromSmiles, drugs) if m}
    assert pieces
    assert not known & set(pieces)
