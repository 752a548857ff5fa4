import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyscf import dft, gto, scf
from tests.chem.scf.sources import water

from firstlight.chem.scf import density_to_dm, density_to_fock, fit_density, semilocal_proxy
from firstlight.chem.scf.auxiliary_basis import JFIT, JKFIT, auxiliary_molecule
from firstlight.chem.scf.fock import coulomb_potential, exchange_correlation
from firstlight.chem.scf.guess_grid import guess_grid
from firstlight.errors import InvalidInput


@pytest.fixture(scope="module")
def converged():
    mf = dft.RKS(water(), xc="pbe").density_fit()
    mf.grids.level = 1
    return mf.run()


@pytest.mark.parametrize("xc", ["pbe", "lda,vwn"])
def test_fock_matrix_of_the_fitted_density_is_nearly_that_of_the_density(xc):
    mf = dft.RKS(water(), xc=xc).density_fit()
    mf.grids.level = 1
    mf.run()
    c = fit_density(mf.mol, np.asarray(mf.make_rdm1()), JKFIT)
    assert np.abs(density_to_fock(mf, c, JKFIT) - mf.get_fock()).max() < 1e-3


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5)
def test_tensor_of_density_fitting_and_direct_contraction_agree_for_any_density(seed):
    """With one auxiliary basis for both, the fit of a density that lies in the basis is exact."""
    mol = water()
    auxmol = auxiliary_molecule(mol, JFIT)
    c = np.random.default_rng(seed).normal(size=auxmol.nao)
    fitted, direct = dft.RKS(mol).density_fit(auxbasis=JFIT), dft.RKS(mol)
    difference = coulomb_potential(fitted, auxmol, c) - coulomb_potential(direct, auxmol, c)
    assert np.abs(difference).max() < 1e-7 * np.abs(c).sum()


@pytest.mark.parametrize("basis", ["def2-svp", "6-31g*"])
@pytest.mark.parametrize("xc", ["pbe", "lda,vwn"])
def test_exchange_correlation_is_the_derivative_of_the_energy(basis, xc):
    """Tr(V dD) against a finite difference of PySCF's own energy: the fit is made exact by densities in the basis."""
    mol = water(basis, cart=basis == "6-31g*")
    mf = dft.RKS(mol, xc=xc)
    mf.grids.level = 1
    auxmol = auxiliary_molecule(mol, JFIT)
    dm = np.asarray(mf.get_init_guess())
    c = fit_density(mol, dm)
    potential = exchange_correlation(mf, auxmol, c)
    # Another road to the same matrix: PySCF's integrator with the density replaced on the same grid.
    points, weights = guess_grid(mol)
    numint = dft.numint.NumInt()
    kind = numint._xc_type(xc)
    functions = dft.numint.eval_ao(auxmol, points, deriv=int(kind == "GGA"))
    rho = functions @ c
    rho = np.where((rho if kind == "LDA" else rho[0]) < 1e-10, 0, rho)
    kernel = numint.eval_xc_eff(xc, rho, deriv=1, xctype=kind)[1] * weights
    orbitals = dft.numint.eval_ao(mol, points, deriv=1)
    expected = np.einsum("g,gm,gn->mn", kernel[0], orbitals[0], orbitals[0], optimize=True)
    if kind == "GGA":
        for axis in (1, 2, 3):
            slope = np.einsum("g,gm,gn->mn", kernel[axis], orbitals[axis], orbitals[0], optimize=True)
            expected += slope + slope.T
    np.testing.assert_allclose(potential, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "shape"),
    [(dft.RKS, (24, 24)), (dft.UKS, (2, 24, 24)), (scf.RHF, (24, 24)), (scf.UHF, (2, 24, 24))],
)
def test_density_matrix_has_the_shape_and_the_orbitals_of_its_method(converged, make, shape):
    c = fit_density(converged.mol, np.asarray(converged.make_rdm1()))
    mf = make(converged.mol)
    dm = density_to_dm(mf, c)
    assert dm.shape == shape
    np.testing.assert_allclose(mf.make_rdm1(dm.mo_coeff, dm.mo_occ), dm)
    assert np.sum(dm * mf.get_ovlp()) == pytest.approx(10)


def test_open_shells_have_their_own_occupations():
    mol = gto.M(atom="O 0 0 0; O 0 0 1.2", spin=2, basis="def2-svp", verbose=0)
    known = dft.UKS(mol, xc="pbe").density_fit().run()
    c = fit_density(mol, np.asarray(known.make_rdm1()))
    for make in (dft.UKS, dft.ROKS):
        dm = density_to_dm(make(mol, xc="pbe"), c)
        electrons = np.einsum("smn,mn->s", dm, mol.intor("int1e_ovlp"))
        np.testing.assert_allclose(electrons, [9, 7], atol=1e-9)


@pytest.mark.parametrize(
    ("xc", "proxy"),
    [
        ("pbe", "pbe"), ("bp86", "bp86"), ("lda,vwn", "lda,vwn"), ("b97-d", "b97-d"), ("b3lyp", "blyp"),
        ("camb3lyp", "blyp"), ("pbe0", "pbe"), ("hse06", "pbe"), ("tpss", "pbe"), ("r2scan", "pbe"), ("m06-2x", "pbe"),
        ("wb97x-v", "pbe"), ("hf", "pbe"),
    ],
)  # fmt: skip
def test_functionals_that_need_more_than_the_density_begin_with_another(xc, proxy):
    assert semilocal_proxy(xc) == proxy


def test_coefficients_of_another_basis_are_refused(converged):
    with pytest.raises(InvalidInput, match="functions for this molecule"):
        density_to_fock(converged, np.zeros(7))
