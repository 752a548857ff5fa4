import pytest
from pyscf import dft, gto, scf
from tests.chem.scf.sources import ComputedDensity, DoubtfulDensity, water

from firstlight.chem.scf import compare_guesses, density_error, from_smiles
from firstlight.chem.scf.comparison import GUESSES, compare_on
from firstlight.chem.scf.comparison_tables import summary
from firstlight.chem.scf.mean_fields import mean_field
from firstlight.errors import InvalidInput


@pytest.fixture(scope="module")
def runs():
    return {run.guess: run for run in compare_guesses(dft.RKS(water(), xc="pbe").density_fit(), ComputedDensity())}


def test_every_guess_runs_and_ends_at_the_same_energy(runs):
    assert tuple(runs) == GUESSES
    assert all(run.converged and run.same_state for run in runs.values())
    assert max(run.energy for run in runs.values()) - min(run.energy for run in runs.values()) < 1e-8
    plain = dft.RKS(water(), xc="pbe").density_fit().run()
    assert runs["minao"].cycles == plain.cycles


def test_oracle_and_restart_bound_the_others(runs):
    assert runs["restart"].cycles <= runs["oracle"].cycles <= runs["ours"].cycles < runs["minao"].cycles
    assert abs(runs["oracle"].first_error) < 0.01 * abs(runs["atom"].first_error)


def test_effective_count_charges_the_time_of_the_guess(runs):
    assert runs["minao"].effective == pytest.approx(1)
    for run in runs.values():
        assert run.effective >= 0.9 * run.cycles / (runs["minao"].cycles + 0.5)
        assert 0 <= run.guess_seconds <= run.total_seconds


def test_pre_scf_projects_from_the_smaller_basis():
    larger = {run.guess: run for run in compare_guesses(scf.RHF(water("def2-tzvp")), guesses=("minao", "pre-scf"))}
    assert larger["pre-scf"].same_state
    assert abs(larger["pre-scf"].first_error) < abs(larger["minao"].first_error)


def test_a_fallback_shows_in_the_table():
    with pytest.warns(UserWarning, match="minao instead"):
        runs = compare_guesses(dft.RKS(water(), xc="pbe").density_fit(), DoubtfulDensity(), guesses=("ours",))
    rows = [{"molecule": "water", **vars(run)} for run in runs]
    assert {row["guess"]: row["fell back"] for row in summary(rows)} == {"minao": 0, "ours": 1}


def test_an_unknown_guess_is_refused():
    with pytest.raises(InvalidInput, match="no guess is named 'huckle'"):
        compare_guesses(dft.RKS(water()), guesses=("huckle",))


def pbe(mol: gto.Mole):
    return mean_field(mol, "pbe")


def test_many_molecules_give_one_line_per_guess():
    rows, failures = compare_on([from_smiles("O"), from_smiles("N")], pbe, guesses=("minao", "oracle"), workers=1)
    assert not failures
    table = {row["guess"]: row for row in summary(rows)}
    assert table["minao"]["of minao"] == 1
    assert table["oracle"]["molecules"] == 2
    assert table["oracle"]["of minao"] < 1
    assert table["oracle"]["gap closed"] == 1


def test_a_run_in_another_state_is_counted_and_left_out_of_the_means():
    def row(molecule, guess, cycles, **change):
        base = {"converged": True, "same_state": True, "effective": 1.0, "guess_seconds": 0.0, "total_seconds": 1.0}
        return {"molecule": molecule, "guess": guess, "cycles": cycles, "used": "density", **base, **change}

    rows = [
        *(row(m, "minao", 10, used="minao") for m in "abc"),
        row("a", "ours", 6),
        row("b", "ours", 1, same_state=False),
        row("c", "ours", 50, converged=False),
        *(row(m, "oracle", 5) for m in "abc"),
    ]
    line = next(line for line in summary(rows) if line["guess"] == "ours")
    assert (line["molecules"], line["cycles"], line["of minao"], line["gap closed"]) == (1, 6, 0.6, 0.8)
    assert (line["other state"], line["not converged"], line["fell back"]) == (1, 1, 0)


def test_density_error_is_small_for_a_computed_density():
    assert density_error(dft.RKS(water(), xc="pbe").density_fit().run(), ComputedDensity()) < 0.01
