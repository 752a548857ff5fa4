import numpy as np
import pytest
from pyscf import gto
from pyscf.data.nist import BOHR

from firstlight.chem.scf.molecules import (
    check_molecule,
    from_smiles,
    read_molecules,
    read_xyz,
    warn_of_strange_distances,
)
from firstlight.errors import InvalidInput

WATER_CATION = [("O", 0.0, 0.0, -0.119015), ("H", 0.768550, 0.0, 0.476060), ("H", -0.768550, 0.0, 0.476060)]


def write_xyz(path, atoms):
    path.write_text("\n".join([str(len(atoms)), "a comment", *(" ".join(map(str, atom)) for atom in atoms)]))
    return path


def test_xyz_is_read_in_either_unit(tmp_path):
    angstrom = read_xyz(write_xyz(tmp_path / "a.xyz", WATER_CATION), charge=1, spin=1)
    in_bohr = [(symbol, *(x / BOHR for x in place)) for symbol, *place in WATER_CATION]
    bohr = read_xyz(write_xyz(tmp_path / "b.xyz", in_bohr), unit="bohr")
    np.testing.assert_allclose(angstrom.positions, bohr.positions, atol=1e-12)
    assert angstrom.symbols == ("O", "H", "H")
    assert angstrom.mole("cc-pvdz").nelectron == 9


def test_bohr_read_as_angstrom_is_warned_of(tmp_path):
    in_bohr = [(symbol, *(x / BOHR for x in place)) for symbol, *place in WATER_CATION]
    with pytest.warns(UserWarning, match=r"O1 and H2, are 1\.84 Å apart.* in bohr"):
        read_xyz(write_xyz(tmp_path / "b.xyz", in_bohr))


def test_angstrom_read_as_bohr_is_warned_of(tmp_path):
    with pytest.warns(UserWarning, match="are the coordinates in ångström"):
        read_xyz(write_xyz(tmp_path / "a.xyz", WATER_CATION), unit="bohr")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("smiles", ["O", "CS", "CBr", "FC(F)(F)Cl", "CP", "N#N", "c1ccsc1", "O=S(=O)(O)O"])
def test_ordinary_molecules_raise_no_warning(smiles):
    molecule = from_smiles(smiles)
    warn_of_strange_distances(molecule.symbols, molecule.positions)


@pytest.mark.parametrize(
    ("atoms", "said"),
    [
        ([("O", 0, 0, 0), ("H", 0, 0.757, 0.587), ("H", 0, "nan", 0.587)], r"atom 3 \(H\) has the coordinates"),
        ([("N", 0, 0, 0), ("N", 0, 0, 0.2)], r"atoms 1 \(N\) and 2 \(N\) are 0\.200 Å apart"),
        ([("H", -0.36, -0.51, 0.89), ("C", 0, 0, 0), ("H", -0.36, -0.51, 0.83)], r"1 \(H\) and 3 \(H\) are 0\.060"),
        ([("O", 0, 0, "x")], "line 3: expected a symbol and x y z"),
        ([("O", 0, 0)], "line 3: expected a symbol and x y z"),
        ([("Xx", 0, 0, 0)], "'Xx' is no chemical element"),
    ],
)
def test_bad_coordinates_are_refused_with_their_place(tmp_path, atoms, said):
    with pytest.raises(InvalidInput, match=said):
        read_xyz(write_xyz(tmp_path / "bad.xyz", atoms))


def test_a_file_that_is_cut_short_is_refused(tmp_path):
    (tmp_path / "cut.xyz").write_text("3\n\nO 0 0 0\nH 0 0 1\n")
    with pytest.raises(InvalidInput, match="announces 3 atoms and holds 2"):
        read_xyz(tmp_path / "cut.xyz")
    (tmp_path / "words.xyz").write_text("water\n")
    with pytest.raises(InvalidInput, match="begins with the number of atoms"):
        read_xyz(tmp_path / "words.xyz")
    with pytest.raises(InvalidInput, match="there is no file"):
        read_xyz(tmp_path / "absent.xyz")


def test_smiles_carry_charge_and_unpaired_electrons():
    hydroxide, methyl = from_smiles("[OH-]"), from_smiles("[CH3]")
    assert (hydroxide.charge, hydroxide.spin, hydroxide.mole().nelectron) == (-1, 0, 10)
    assert (methyl.charge, methyl.spin) == (0, 1)
    assert from_smiles("CCO", seed=3).positions == pytest.approx(from_smiles("CCO", seed=3).positions)


def test_unreadable_smiles_and_electrons_that_do_not_pair_are_refused():
    with pytest.raises(InvalidInput, match="cannot read the SMILES 'C1C'"):
        from_smiles("C1C")
    with pytest.raises(InvalidInput, match="PySCF cannot build"):
        from_smiles("[CH3]").__class__("x", ("H",), np.zeros((1, 3))).mole()


def test_lists_keep_what_can_be_used_and_say_why_the_rest_cannot(tmp_path):
    (tmp_path / "list.smi").write_text("CO methanol\nC1C broken\n\nCO again\n")
    (tmp_path / "list.csv").write_text("name,smiles\nmethanol,CO\nbroken,C1C\n")
    for name in ("list.smi", "list.csv"):
        molecules, refused = read_molecules(tmp_path / name)
        assert [m.name for m in molecules] == ["CO"]
        assert list(refused) == ["C1C"]
    (tmp_path / "other.csv").write_text("name\nmethanol\n")
    with pytest.raises(InvalidInput, match="no column 'smiles'"):
        read_molecules(tmp_path / "other.csv")
    with pytest.raises(InvalidInput, match=r"expected \.xyz, \.smi or \.csv"):
        read_molecules(tmp_path / "list.pdb")


def test_a_core_potential_is_refused_and_a_ghost_is_not():
    iodide = gto.M(atom="I 0 0 0; H 0 0 1.6", basis="def2-svp", ecp="def2-svp", verbose=0)
    with pytest.raises(InvalidInput, match="a core potential on I"):
        check_molecule(iodide)
    check_molecule(gto.M(atom="He 0 0 0; ghost-Ne 0 0 0.1", basis="sto-3g", verbose=0), ("He",))
    with pytest.raises(InvalidInput, match="expected a pyscf"):
        check_molecule("water")
