import json
from pathlib import Path

import numpy as np
import pytest
from pyscf import dft

from firstlight.chem.scf import Geometry, LabelRecipe, fit_density, from_smiles, label, read_labels, write_labels
from firstlight.chem.scf.auxiliary_basis import JFIT, auxiliary_molecule
from firstlight.chem.scf.density_fit import coulomb_matrix
from firstlight.chem.scf.labels import check_electrons, label_one, read_label
from firstlight.errors import InvalidInput

SHARED = next((p / "shared/data/01" for p in Path(__file__).parents if (p / "shared/data/01").is_dir()), None)
BAD = Geometry("close", ("N", "N"), np.array([[0.0, 0, 0], [0, 0, 0.2]]))
IODIDE = Geometry("iodide", ("H", "I"), np.array([[0.0, 0, 0], [0, 0, 1.6]]))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    return folder, *label([from_smiles("O"), BAD, IODIDE, from_smiles("N")], folder, workers=1)


def test_bad_molecules_are_listed_and_the_others_labelled(made):
    _, files, refused = made
    assert sorted(read_label(file).geometry.name for file in files) == ["N", "O"]
    assert "0.200 Å apart" in refused["close"]
    assert "iodide holds I" in refused["iodide"]


def test_a_label_is_the_fit_of_an_independent_calculation(made):
    water = next(read_label(file) for file in made[1] if read_label(file).geometry.name == "O")
    mf = dft.RKS(water.geometry.mole(), xc="pbe").density_fit(auxbasis="def2-universal-jkfit")
    mf.grids.level, mf.conv_tol = 1, 1e-10
    mf.kernel()
    assert water.energy == pytest.approx(mf.e_tot, abs=1e-6)
    for basis, c in water.coefficients.items():
        error = c - fit_density(mf.mol, np.asarray(mf.make_rdm1()), basis)
        assert error @ coulomb_matrix(auxiliary_molecule(mf.mol, basis)) @ error < 1e-6
    assert check_electrons(water) < 1e-5


def test_what_is_done_is_not_done_again(made):
    folder, files, _ = made
    before = {file: file.stat().st_mtime_ns for file in files}
    again, refused = label([from_smiles("O"), from_smiles("N")], folder, workers=1)
    assert {file: file.stat().st_mtime_ns for file in again} == before
    assert not refused


def test_a_folder_is_for_one_recipe(made):
    with pytest.raises(InvalidInput, match="another recipe"):
        label([from_smiles("O")], made[0], LabelRecipe(xc="blyp"), workers=1)


def test_an_archive_gives_back_what_was_written(made, tmp_path):
    labels = [read_label(file) for file in made[1]]
    write_labels(tmp_path / "all.npz", labels)
    for one, other in zip(labels, read_labels(tmp_path / "all.npz"), strict=True):
        assert (one.geometry.name, one.geometry.symbols, one.energy) == (
            other.geometry.name,
            other.geometry.symbols,
            other.energy,
        )
        np.testing.assert_allclose(one.geometry.positions, other.geometry.positions)
        for basis, c in one.coefficients.items():
            np.testing.assert_array_equal(c, other.coefficients[basis])


@pytest.mark.parametrize("change", [{"charge": 1, "spin": 1}, {"spin": 2}])
def test_charged_and_open_shells_are_not_labelled(change):
    water = from_smiles("O")
    ion = Geometry("ion", water.symbols, water.positions, **change)
    with pytest.raises(InvalidInput, match="expected 0 and 0"):
        label_one(ion, LabelRecipe())


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(InvalidInput, match="no array 'meta'"):
        read_labels(tmp_path / "other.npz")
    with pytest.raises(InvalidInput, match="no array"):
        read_label(tmp_path / "other.npz")
    with pytest.raises(InvalidInput, match="no labels to write"):
        write_labels(tmp_path / "none.npz", [])


def test_given_labels_are_those_that_we_compute():
    if SHARED is None:
        pytest.skip("no shared data here")
    known = read_labels(SHARED / "labels_pbe_def2svp.npz")
    small = min(known, key=lambda label: len(label.geometry.symbols))
    ours = label_one(small.geometry, LabelRecipe())
    assert json.loads(str(ours["about"]))["energy"] == pytest.approx(small.energy, abs=1e-6)
    error = ours[f"c_{JFIT}"] - small.coefficients[JFIT]
    assert error @ coulomb_matrix(auxiliary_molecule(small.geometry.mole(), JFIT)) @ error < 1e-6
    assert max(check_electrons(label) for label in known[::100]) < 1e-5
