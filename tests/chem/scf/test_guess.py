import warnings

import numpy as np
import pytest
from pyscf import dft, gto, scf
from pyscf.x2c import x2c
from tests.chem.scf.sources import METHANOL, WATER, ComputedDensity, DoubtfulDensity, water

from firstlight.chem.scf import FittedDensity, GuessFallback, apply, undo
from firstlight.chem.scf.guess import is_applied
from firstlight.errors import FirstlightError, InvalidInput

METHODS = {
    "RKS, fitted": lambda mol: dft.RKS(mol, xc="pbe").density_fit(),
    "RKS": lambda mol: dft.RKS(mol, xc="pbe"),
    "UKS": lambda mol: dft.UKS(mol, xc="pbe"),
    "RHF": scf.RHF,
    "UHF, fitted": lambda mol: scf.UHF(mol).density_fit(),
    "hybrid": lambda mol: dft.RKS(mol, xc="b3lyp").density_fit(),
    "meta-GGA": lambda mol: dft.RKS(mol, xc="r2scan").density_fit(),
}


def first_error(mf) -> float:
    """Run, and return how far the energy after the first cycle is from the last."""
    energies = []
    mf.callback = lambda state: energies.append(state["e_tot"])
    mf.kernel()
    return abs(energies[0] - mf.e_tot)


@pytest.mark.parametrize("make", METHODS.values(), ids=METHODS.keys())
def test_energy_is_that_of_pyscf_in_fewer_cycles(make):
    plain, ours = make(water()), apply(make(water()), ComputedDensity())
    error, our_error = first_error(plain), first_error(ours)
    assert ours.converged
    assert ours.e_tot == pytest.approx(plain.e_tot, abs=1e-8)
    assert ours.cycles < plain.cycles
    # That it is really the predicted density which ran shows in the first cycle: minao is tenths of a hartree away.
    assert our_error < 0.1 * error
    assert (ours.guess.used, ours.guess.reason) == ("density", "")


def test_second_order_scf_takes_the_guess():
    ours = apply(dft.RKS(water(), xc="pbe").newton(), ComputedDensity()).run()
    assert ours.guess.used == "density"
    assert ours.e_tot == pytest.approx(dft.RKS(water(), xc="pbe").run().e_tot, abs=1e-8)


def test_the_given_object_is_left_as_it_was():
    plain = dft.RKS(water(), xc="pbe")
    before = dict(vars(plain))
    applied = apply(apply(plain, ComputedDensity()), ComputedDensity(), polish=True)
    assert vars(plain) == before
    assert not is_applied(plain)
    assert type(undo(applied)) is type(plain)
    assert vars(undo(applied)).keys() == before.keys()


def test_a_doubtful_density_is_not_used_and_that_is_said():
    mf = apply(dft.RKS(water(), xc="pbe").density_fit(), DoubtfulDensity())
    with pytest.warns(GuessFallback, match=r"unlike anything.*minao instead"):
        mf.kernel()
    assert mf.guess.used == "minao"
    assert "unlike anything" in mf.guess.reason
    assert mf.cycles == dft.RKS(water(), xc="pbe").density_fit().run().cycles


def test_another_guess_set_later_is_obeyed_and_recorded():
    mf = apply(dft.RKS(water(), xc="pbe"), ComputedDensity())
    mf.init_guess = "atom"
    np.testing.assert_allclose(mf.get_init_guess(), dft.RKS(water()).get_init_guess(key="atom"))
    assert mf.guess.used == "atom"
    given = np.eye(24)
    mf.init_guess = given
    assert mf.get_init_guess() is given


def test_a_guess_that_pyscf_does_not_have_is_refused():
    mf = apply(dft.RKS(water(), xc="pbe"), ComputedDensity())
    mf.init_guess = "ml"  # PySCF would run minao
    with pytest.raises(InvalidInput, match="no guess 'ml'; expected one of minao"):
        mf.kernel()


def test_a_calculation_that_has_run_begins_anew():
    plain = dft.RKS(water(), xc="pbe").density_fit().run()
    ours = apply(plain, ComputedDensity()).run()
    assert ours.guess.used == "density"
    assert ours.e_tot == pytest.approx(plain.e_tot, abs=1e-8)
    assert plain.mo_coeff is not None


def test_conversion_to_spinors_is_refused_when_the_guess_is_made():
    with pytest.raises(InvalidInput, match="GKS is not supported"):
        apply(dft.RKS(water(), xc="pbe"), ComputedDensity()).to_gks().kernel()


def test_guess_is_tagged_so_that_no_program_diagonalises_again():
    dm = apply(dft.UKS(water(), xc="pbe"), ComputedDensity()).get_init_guess()
    assert dm.shape == (2, 24, 24)
    np.testing.assert_allclose(np.einsum("smi,si,sni->smn", dm.mo_coeff, dm.mo_occ, dm.mo_coeff), dm, atol=1e-12)


def test_without_cycles_an_unrestricted_singlet_is_one():
    mf = apply(dft.UKS(water(), xc="b3lyp"), ComputedDensity())
    mf.max_cycle = 0
    mf.kernel()
    assert np.isfinite(mf.mo_energy).all()
    np.testing.assert_allclose(mf.mo_energy[0], mf.mo_energy[1])
    assert mf.spin_square()[0] == pytest.approx(0, abs=1e-6)


def test_every_point_of_a_scan_has_its_own_prediction():
    scanner = apply(dft.RKS(water(), xc="pbe").density_fit(), ComputedDensity()).as_scanner()
    stretched = WATER.replace("0.587", "0.65")
    there, back = [scanner(stretched), scanner(WATER)], [scanner(WATER), scanner(stretched)]
    assert scanner.guess.used == "density"
    np.testing.assert_allclose(there, back[::-1], atol=1e-9)
    assert there[1] == pytest.approx(dft.RKS(water(), xc="pbe").density_fit().run().e_tot, abs=1e-8)


def test_gradients_and_a_new_molecule_keep_the_guess():
    mf = apply(dft.RKS(water(), xc="pbe").density_fit(), ComputedDensity())
    energy, gradient = mf.nuc_grad_method().as_scanner()(water())
    exact = dft.RKS(water(), xc="pbe").density_fit().run()
    assert energy == pytest.approx(exact.e_tot, abs=1e-8)
    np.testing.assert_allclose(gradient, exact.nuc_grad_method().kernel(), atol=1e-5)
    mf.reset(gto.M(atom=METHANOL, basis="def2-svp", verbose=0)).kernel()
    assert (mf.guess.used, mf.mol.natm) == ("density", 6)


def test_conversion_to_unrestricted_keeps_the_guess():
    mf = apply(dft.RKS(water(), xc="pbe").density_fit(), ComputedDensity()).to_uks()
    assert mf.get_init_guess().shape == (2, 24, 24)
    assert mf.guess.used == "density"


@pytest.mark.parametrize("make", [dft.UKS, dft.ROKS])
def test_symmetry_and_open_shells(make):
    mol = gto.M(atom="O 0.5825 0 0; N -0.5825 0 0", spin=1, symmetry=True, basis="def2-svp", verbose=0)
    mf = apply(make(mol, xc="pbe"), ComputedDensity())
    dm = mf.get_init_guess()
    electrons = np.einsum("smn,mn->s", dm, mol.intor("int1e_ovlp"))
    np.testing.assert_allclose(electrons, [8, 7], atol=1e-9)
    assert mf.guess.used == "density"


def test_polish_spends_cheap_cycles_to_save_dear_ones():
    make = METHODS["hybrid"]
    plain, ours = make(water()).run(), apply(make(water()), ComputedDensity(), polish=True).run()
    assert ours.e_tot == pytest.approx(plain.e_tot, abs=1e-8)
    assert ours.guess.polish_cycles > 0
    assert ours.cycles < apply(make(water()), ComputedDensity()).run().cycles


def test_ghosts_carry_orbitals_and_no_electrons():
    mol = gto.M(atom=f"{WATER}; ghost-N 0 0 4", basis="def2-svp", verbose=0)
    plain = dft.RKS(mol, xc="pbe").density_fit().run()
    ours = apply(dft.RKS(mol, xc="pbe").density_fit(), ComputedDensity()).run()
    assert ours.guess.used == "density"
    assert ours.e_tot == pytest.approx(plain.e_tot, abs=1e-8)
    assert np.sum(ours.get_init_guess() * ours.get_ovlp()) == pytest.approx(10, abs=1e-9)
    assert ours.cycles < plain.cycles


def test_a_density_of_too_many_electrons_stops_the_guess():
    class Doubled(ComputedDensity):
        def predict(self, mol):
            density = super().predict(mol)
            return type(density)(2 * density.coefficients, density.auxbasis)

    with pytest.raises(FirstlightError, match=r"holds 20\.0.* the molecule has 10"):
        apply(dft.RKS(water(), xc="pbe"), Doubled()).get_init_guess()


def refused(name):
    if name == "ecp":
        mol = gto.M(atom="I 0 0 0; H 0 0 1.6", basis="def2-svp", ecp="def2-svp", verbose=0)
        return dft.RKS(mol)
    if name == "element":
        return dft.RKS(gto.M(atom="Ne 0 0 0", basis="def2-svp", verbose=0))
    if name == "odd":
        mol = gto.M(atom="O 0 0 0; H 0 0 1", spin=1, basis="def2-svp", verbose=0)
        return dft.rks.RKS(mol)
    if name == "nan":
        mol = water()
        mol._env[mol._atm[1, gto.PTR_COORD]] = np.nan
        return dft.RKS(mol)
    if name == "occupations":
        return scf.addons.frac_occ(dft.RKS(water()))
    return {"spinors": scf.GHF(water()), "relativistic": x2c.UHF(water()), "no object": "water.xyz"}[name]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ecp", "I; supported are H C N O; their core potentials"),
        ("element", "no density is known for Ne"),
        ("odd", "9 electrons do not make a closed shell"),
        ("nan", r"atom 2 \(H\)"),
        ("occupations", "occupations were set by hand"),
        ("spinors", "GHF is not supported"),
        ("relativistic", "UHF is not supported"),
        ("no object", "expected a molecular mean-field object"),
    ],
)
def test_what_cannot_be_guessed_is_refused_at_once(name, said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mf = refused(name)
    with pytest.raises(InvalidInput, match=said):
        apply(mf, ComputedDensity())


def test_periodic_cells_are_refused():
    from pyscf.pbc import gto as pbc_gto
    from pyscf.pbc import scf as pbc_scf

    cell = pbc_gto.M(atom="He 0 0 0", a=np.eye(3) * 4, basis="sto-3g", verbose=0)
    with pytest.raises(InvalidInput, match="molecular"):
        apply(pbc_scf.RHF(cell), ComputedDensity())


def test_restart_of_the_converged_density_is_a_bound_no_guess_beats():
    plain = dft.RKS(water(), xc="pbe").density_fit().run()
    oracle = apply(dft.RKS(water(), xc="pbe").density_fit(), FittedDensity(water(), plain.make_rdm1())).run()
    restart = dft.RKS(water(), xc="pbe").density_fit()
    restart.kernel(dm0=plain.make_rdm1())
    assert restart.cycles <= oracle.cycles < plain.cycles
