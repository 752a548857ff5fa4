import numpy as np
import pytest
from pyscf import dft
from pyscf.tools import cubegen
from tests.chem.scf.sources import water

from firstlight.chem.scf import FittedDensity, density_values, dipole_moment, fit_density, write_cube
from firstlight.chem.scf.auxiliary_basis import JKFIT, auxiliary_molecule
from firstlight.errors import InvalidInput


@pytest.fixture(scope="module")
def converged():
    return dft.RKS(water(), xc="pbe").density_fit().run()


@pytest.fixture(scope="module")
def coefficients(converged):
    return fit_density(converged.mol, np.asarray(converged.make_rdm1()), JKFIT)


def test_values_and_gradient_equal_a_sum_over_all_functions(converged, coefficients):
    auxmol = auxiliary_molecule(converged.mol, JKFIT)
    points = np.random.default_rng(0).uniform(-8, 8, size=(500, 3))
    expected = dft.numint.eval_ao(auxmol, points, deriv=1) @ coefficients
    np.testing.assert_allclose(density_values(auxmol, coefficients, points, deriv=1), expected, atol=1e-8)


def test_density_is_that_of_the_orbitals(converged, coefficients):
    points = np.random.default_rng(1).uniform(-3, 3, size=(500, 3))
    orbitals = dft.numint.eval_ao(converged.mol, points)
    exact = dft.numint.eval_rho(converged.mol, orbitals, np.asarray(converged.make_rdm1()))
    ours = density_values(auxiliary_molecule(converged.mol, JKFIT), coefficients, points)[0]
    assert np.abs(ours - exact).max() < 0.01 * exact.max()


def test_dipole_moment_is_that_of_the_calculation(converged, coefficients):
    exact = converged.dip_moment(verbose=0)
    np.testing.assert_allclose(dipole_moment(converged.mol, coefficients, JKFIT), exact, atol=0.01)
    np.testing.assert_allclose(
        dipole_moment(converged.mol, coefficients, JKFIT, unit="AU") * 2.541746, exact, atol=0.01
    )


def test_cube_file_is_the_one_pyscf_writes(converged, coefficients, tmp_path):
    write_cube(tmp_path / "ours.cube", converged.mol, coefficients, JKFIT, points_per_axis=20)
    exact = cubegen.density(converged.mol, str(tmp_path / "theirs.cube"), converged.make_rdm1(), nx=20, ny=20, nz=20)
    box = cubegen.Cube(converged.mol, 20, 20, 20)
    ours = box.read(str(tmp_path / "ours.cube"))
    far_from_nuclei = exact < 1
    assert np.abs(ours - exact)[far_from_nuclei].max() < 0.02


def test_a_fitted_density_is_of_one_geometry(converged):
    known = FittedDensity(converged.mol, converged.make_rdm1())
    moved = converged.mol.set_geom_(converged.mol.atom_coords() * 1.01, unit="Bohr", inplace=False)
    with pytest.raises(InvalidInput, match="another geometry"):
        known.predict(moved)
