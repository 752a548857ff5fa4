import pytest
from pyscf import dft, gto, scf
from tests.chem.scf.sources import ComputedDensity, DoubtfulDensity, water

from firstlight.chem.scf import FittedDensity, apply, certify
from firstlight.errors import InvalidInput


def square_of_hydrogens():
    """Four hydrogens on a square of 4.64 bohr: two stationary points of RHF, 53 mEh apart."""
    x = 1.2288228644
    corners = [(x, x, 0), (x, -x, 0), (-x, -x, 0), (-x, x, 0)]
    return gto.M(atom=[("H", corner) for corner in corners], basis="dzp", verbose=0)


def test_the_same_energy_is_certified():
    certificate = certify(apply(dft.RKS(water(), xc="pbe").density_fit(), ComputedDensity()).run())
    assert certificate.holds
    assert certificate.cycles < certificate.peer_cycles
    assert "same energy" in certificate.verdict
    assert certificate.peer_energy == pytest.approx(dft.RKS(water(), xc="pbe").density_fit().run().e_tot, abs=1e-10)


def test_another_state_is_told_and_not_counted_as_a_saving():
    mol = square_of_hydrogens()
    excited = scf.RHF(mol)
    excited.init_guess = "huckel"
    excited.kernel()
    assert excited.e_tot == pytest.approx(-1.675328910, abs=1e-8)
    certificate = certify(apply(scf.RHF(mol), FittedDensity(mol, excited.make_rdm1())).run())
    assert not certificate.holds
    assert certificate.peer_energy == pytest.approx(-1.728535431, abs=1e-8)
    assert "another state: 5.321e-02 hartree higher" in certificate.verdict


def test_a_calculation_that_did_not_end_certifies_nothing():
    mf = apply(dft.RKS(water(), xc="pbe").density_fit(), ComputedDensity())
    mf.max_cycle = 1
    certificate = certify(mf.run())
    assert not certificate.holds
    assert certificate.verdict == "not converged from this guess"


@pytest.mark.filterwarnings("ignore::firstlight.chem.scf.GuessFallback")
def test_a_guess_that_was_not_used_is_not_said_to_agree():
    mf = apply(dft.RKS(water(), xc="pbe").density_fit(), DoubtfulDensity()).run()
    assert certify(mf).verdict == "PySCF's own guess ran in both; there is nothing to compare"


@pytest.mark.parametrize("run", [False, True])
def test_only_finished_calculations_of_apply_can_be_certified(run):
    mf = dft.RKS(water(), xc="pbe").run() if run else apply(dft.RKS(water(), xc="pbe"), ComputedDensity())
    with pytest.raises(InvalidInput, match="after its kernel"):
        certify(mf)
