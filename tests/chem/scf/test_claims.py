import pytest
from tests.chem.scf.sources import ComputedDensity

from firstlight.chem.scf import claims, from_smiles
from firstlight.chem.scf.experiments import oracle_cycles
from firstlight.evidence import Budget, claims_in


def test_quick_claim_about_metrics_holds():
    assert claims.coulomb_fit_starts_better(Budget()).holds


@pytest.mark.parametrize("claim", [claims.density_is_covariant], ids=lambda claim: claim.measure.__name__)
def test_claims_hold_for_a_computed_density(claim, monkeypatch):
    monkeypatch.setattr(claims, "shipped_predictor", ComputedDensity)
    monkeypatch.setattr(claims, "SMALL", ("water",))
    monkeypatch.setitem(claims.QUICK, "water", "O")
    measured = claim(Budget())
    assert measured.value < 1e-4  # of a fit, not of a network: SCF is converged to so much


def test_a_run_that_fell_back_misses_its_claim():
    def row(guess, **change):
        base = {"converged": True, "same_state": True, "effective": 1.0, "guess_seconds": 0.0, "total_seconds": 1.0}
        return {"molecule": "a", "guess": guess, "used": "density", "cycles": 5, **base, **change}

    minao = row("minao", cycles=10, used="minao")
    assert claims._ratio([minao, row("ours")], bar=0.75).holds
    assert not claims._ratio([minao, row("ours", used="minao")], bar=0.75).holds
    assert not claims._ratio([minao, row("ours", converged=False)], bar=0.75).holds


def test_every_claim_says_how_it_is_measured():
    assert len(claims_in(claims)) == 12
    assert all(claim.protocol for claim in claims_in(claims))


def test_only_the_starts_that_are_asked_for_are_run():
    counts = oracle_cycles(from_smiles("O"), grid_level=0, starts=("minao", "restart"))
    assert list(counts) == ["minao", "restart"]
    assert counts["restart"] < counts["minao"]
