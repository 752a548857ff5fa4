import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyscf import df, dft
from tests.chem.scf.sources import water

from firstlight.chem.scf import fit_density, relative_coulomb_error
from firstlight.chem.scf.auxiliary_basis import JFIT, JKFIT, auxiliary_molecule, function_integrals
from firstlight.chem.scf.density_fit import coulomb_matrix
from firstlight.chem.scf.three_centre import contract_auxiliary, contract_orbitals
from firstlight.errors import InvalidInput


@pytest.fixture(scope="module")
def converged():
    return dft.RKS(water(), xc="pbe").density_fit().run()


@pytest.mark.parametrize("metric", ["coulomb", "overlap"])
@pytest.mark.parametrize("auxbasis", [JFIT, JKFIT])
def test_the_number_of_electrons_is_held(converged, auxbasis, metric):
    c = fit_density(converged.mol, np.asarray(converged.make_rdm1()), auxbasis, metric)
    assert function_integrals(auxiliary_molecule(converged.mol, auxbasis)) @ c == pytest.approx(10, abs=1e-10)


@pytest.mark.parametrize("auxbasis", [JFIT, JKFIT])
def test_coulomb_matrix_of_the_fit_is_that_of_pyscf_density_fitting(converged, auxbasis):
    mol, dm = converged.mol, np.asarray(converged.make_rdm1())
    c = fit_density(mol, dm, auxbasis, charge=False)
    ours = contract_auxiliary(mol, auxiliary_molecule(mol, auxbasis), c)
    theirs = dft.RKS(mol).density_fit(auxbasis=auxbasis).get_j(dm=dm)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_no_other_coefficients_have_a_smaller_coulomb_error(converged):
    """½(ρ−ρ̃|ρ−ρ̃) = ½ cJc − cb + const rises in every direction from the unconstrained fit."""
    mol, dm = converged.mol, np.asarray(converged.make_rdm1())
    auxmol = auxiliary_molecule(mol, JFIT)
    matrix, b = coulomb_matrix(auxmol), contract_orbitals(mol, auxmol, dm)
    c = fit_density(mol, dm, charge=False)

    def error(coefficients):
        return 0.5 * coefficients @ matrix @ coefficients - coefficients @ b

    @settings(max_examples=20)
    @given(st.integers(0, 2**32 - 1))
    def rises(seed):
        step = 1e-2 * np.random.default_rng(seed).normal(size=c.size)
        assert error(c + step) > error(c)

    rises()


def test_two_spins_are_added(converged):
    dm = np.asarray(converged.make_rdm1())
    both = np.stack([0.7 * dm, 0.3 * dm])
    np.testing.assert_allclose(fit_density(converged.mol, both), fit_density(converged.mol, dm), atol=1e-8)


def test_cartesian_orbitals_give_the_same_density_as_spherical_ones():
    """A basis without d functions is the same in both kinds, so the fits must be."""
    fits = []
    for cart in (False, True):
        mol = water("6-31g", cart=cart)
        fits.append(fit_density(mol, np.asarray(dft.RKS(mol).get_init_guess())))
    np.testing.assert_allclose(*fits, atol=1e-9)


def test_contractions_equal_those_of_the_dense_tensor(monkeypatch):
    monkeypatch.setattr("firstlight.chem.scf.three_centre.BLOCK_BYTES", 20_000)  # several blocks
    mol = water("6-31g**")
    auxmol = auxiliary_molecule(mol, JFIT)
    tensor = df.incore.aux_e2(mol, auxmol)
    rng = np.random.default_rng(0)
    dm, c = rng.normal(size=(mol.nao, mol.nao)), rng.normal(size=auxmol.nao)
    dm = dm + dm.T
    np.testing.assert_allclose(contract_orbitals(mol, auxmol, dm), np.einsum("mnp,mn->p", tensor, dm), atol=1e-9)
    np.testing.assert_allclose(contract_auxiliary(mol, auxmol, c), tensor @ c, atol=1e-8)


def test_relative_error_is_one_for_superposed_atoms_and_zero_for_the_fit(converged):
    mol = converged.mol
    exact, atoms = (
        fit_density(mol, np.asarray(dm)) for dm in (converged.make_rdm1(), converged.get_init_guess(key="atom"))
    )
    matrix = coulomb_matrix(auxiliary_molecule(mol, JFIT))
    assert relative_coulomb_error(atoms, exact, atoms, matrix) == pytest.approx(1)
    assert relative_coulomb_error(exact, exact, atoms, matrix) == 0
    assert relative_coulomb_error((atoms + exact) / 2, exact, atoms, matrix) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("change", "said"), [({"metric": "kinetic"}, "'kinetic'"), ({"dm": np.zeros((3, 3))}, "24 × 24 orbitals")]
)
def test_bad_input_is_refused(change, said):
    with pytest.raises(InvalidInput, match=said):
        fit_density(**{"mol": water(), "dm": np.eye(24), **change})
