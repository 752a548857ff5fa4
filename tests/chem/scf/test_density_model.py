from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pyscf import dft, gto
from scipy.spatial.transform import Rotation
from tests.chem.scf.sources import METHANOL, water

from firstlight.chem.scf import density_model, fit_density
from firstlight.chem.scf.auxiliary_basis import JFIT, auxiliary_molecule, function_integrals, shells
from firstlight.chem.scf.data import ELEMENTS
from firstlight.chem.scf.density_fit import coulomb_matrix, relative_coulomb_error
from firstlight.chem.scf.density_model import DensityPredictor
from firstlight.errors import InvalidInput

WEIGHTS = Path(density_model.__file__).parent / "weights"
# One atom of every element that is learned, and no symmetry.
STRANGE = """C 0.1 0.2 0.3; N 1.5 0.1 0.2; O -0.4 1.5 0.4; F -0.7 -0.9 -0.3; S 0.3 0.1 2.1; Cl -1.5 2.0 1.8
P 2.5 1.4 -0.2; Br 1.8 -1.6 1.5; H 2.1 -0.4 -0.6; H -2.5 0.4 0.5"""


@cache
def shipped():
    return DensityPredictor.from_pretrained()


def moved(mol, turn=None, shift=(0.0, 0.0, 0.0), order=None):
    order = range(mol.natm) if order is None else order
    positions = mol.atom_coords() @ (np.eye(3) if turn is None else turn).T + shift
    atoms = [(mol.atom_symbol(a), positions[a]) for a in order]
    return gto.M(atom=atoms, unit="Bohr", basis=mol.basis, verbose=0, spin=mol.spin)


def values(mol, density, points):
    return auxiliary_molecule(mol, density.auxbasis).eval_gto("GTOval_sph", points) @ density.coefficients


@settings(max_examples=5)
@given(seed=st.integers(0, 1000), mirrored=st.booleans())
def test_density_turns_with_the_molecule(seed, mirrored):
    """At points in space, so that the order of functions, axes and shells is tested with the network."""
    mol = gto.M(atom=STRANGE, basis="sto-3g", verbose=0, spin=None)
    turn = Rotation.random(random_state=seed).as_matrix() * (-1 if mirrored else 1)
    shift = np.array([1.0, -2.0, 0.5])
    turned = moved(mol, turn, shift)
    points = np.random.default_rng(seed).normal(size=(300, 3), scale=3.0)
    before = values(mol, shipped().predict(mol), points)
    after = values(turned, shipped().predict(turned), points @ turn.T + shift)
    np.testing.assert_allclose(after, before, atol=1e-10 * np.abs(before).max(), rtol=0)


def test_the_test_above_sees_a_wrong_order_of_p_functions(monkeypatch):
    """With x, y, z where e3nn has y, z, x the density no longer turns with the molecule."""
    mol = gto.M(atom=METHANOL, basis="sto-3g", verbose=0)
    turned = moved(mol, turn := Rotation.random(random_state=1).as_matrix())
    points = np.random.default_rng(0).normal(size=(300, 3), scale=2.0)
    wrong = DensityPredictor.from_pretrained()
    for element in wrong.elements:
        scale, momenta = wrong.scale.get_buffer(f"scale_{element}"), shells(element, JFIT)
        first, count = momenta.count(0), momenta.count(1)
        columns = torch.arange(first, first + 3 * count).view(count, 3)
        scale[:, columns.flatten()] = scale[:, columns[:, [2, 0, 1]].flatten()]
    before = values(mol, wrong.predict(mol), points)
    after = values(turned, wrong.predict(turned), points @ turn.T)
    assert np.abs(after - before).max() > 1e-3 * np.abs(before).max()


def test_density_does_not_depend_on_the_order_of_atoms():
    mol = gto.M(atom=METHANOL, basis="sto-3g", verbose=0)
    other = moved(mol, order=[3, 0, 5, 1, 4, 2])
    points = np.random.default_rng(0).normal(size=(200, 3), scale=2.0)
    before, after = (values(m, shipped().predict(m), points) for m in (mol, other))
    np.testing.assert_allclose(after, before, atol=1e-11 * np.abs(before).max(), rtol=0)


def test_density_holds_the_electrons_of_the_molecule():
    for charge, spin in ((0, 0), (1, 1)):
        mol = water(charge=charge, spin=spin)
        density = shipped().predict(mol)
        q = function_integrals(auxiliary_molecule(mol, JFIT))
        assert q @ density.coefficients == pytest.approx(mol.nelectron, abs=1e-9)
        assert bool(density.doubt) is bool(charge)


def test_ghosts_are_not_seen():
    ghosts = gto.M(atom="O 0 0 0; ghost-O 0 0 3; H 0 0.757 0.587; ghost-H 0 1 3.5; H 0 -0.757 0.587", basis="sto-3g")
    np.testing.assert_array_equal(shipped().predict(ghosts).coefficients, shipped().predict(water()).coefficients)


def test_orbital_basis_does_not_matter():
    small, large = (shipped().predict(water(basis)).coefficients for basis in ("sto-3g", "def2-tzvp"))
    np.testing.assert_array_equal(small, large)


@pytest.mark.parametrize("atoms", [METHANOL, "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"])
def test_density_is_nearer_to_the_converged_one_than_superposed_atoms(atoms):
    mol = gto.M(atom=atoms, basis="def2-svp", verbose=0)
    mf = dft.RKS(mol, xc="pbe").density_fit()
    mf.grids.level = 1
    exact = fit_density(mol, np.asarray(mf.run().make_rdm1()))
    superposed = fit_density(mol, np.asarray(mf.init_guess_by_atom(mol)))
    matrix = coulomb_matrix(auxiliary_molecule(mol, JFIT))
    density = shipped().predict(mol)
    error = relative_coulomb_error(density.coefficients, exact, superposed, matrix)
    assert error < 0.1
    assert error < 5 * density.uncertainty


def test_molecules_unlike_the_data_are_doubted():
    """Nitrogen at twice its bond length: between a molecule and two atoms, and far from any label."""
    assert "nearest neighbour of N1 is 2.20" in shipped().predict(gto.M(atom="N 0 0 0; N 0 0 2.2", verbose=0)).doubt
    assert not shipped().predict(gto.M(atom=METHANOL, verbose=0)).doubt


def test_heads_that_disagree_are_doubted():
    """With the check of distances out of the way, fluorine atoms on half a bond length."""
    unchecked = DensityPredictor.from_pretrained()
    unchecked.nearest[:, 0] = 0.0
    assert "expected error" in unchecked.predict(gto.M(atom="F 0 0 0; F 0 0 0.75; F 0.6 0.6 0", spin=1)).doubt


def test_unknown_elements_are_refused():
    with pytest.raises(InvalidInput, match="no density is known for Si"):
        shipped().predict(gto.M(atom="Si 0 0 0; H 0 0 1.5; H 1.5 0 0; H 0 1.5 0; H -0.9 -0.9 -0.9", verbose=0))


def test_saved_models_predict_the_same(tmp_path):
    torch.manual_seed(0)
    model = DensityPredictor(elements=("H", "O"), channels=4, layers=1, functions=3, heads=2)
    model.save_pretrained(tmp_path / "model")
    again = DensityPredictor.from_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(model.predict(water()).coefficients, again.predict(water()).coefficients)
    assert again.elements == ("H", "O")


def test_shipped_weights_are_small_and_know_the_elements_that_are_promised():
    assert sum(file.stat().st_size for file in WEIGHTS.iterdir()) < 5_000_000
    assert tuple(shipped().elements) == ELEMENTS
    assert (WEIGHTS / "MODEL_CARD.md").is_file()
