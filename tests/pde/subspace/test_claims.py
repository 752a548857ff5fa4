import pytest

from firstlight.evidence import Budget, claims_in
from firstlight.pde.subspace import claims

FAST = [
    claims.fixed_space_serves_all_anisotropies,
    claims.taylor_bases_converge_at_their_order,
    claims.loss_is_invariant,
    claims.stochastic_loss_is_unbiased,
    claims.deflation_solves_the_same_system,
    claims.missed_vectors_are_found,
    claims.slow_modes_serve_multigrid,
]


@pytest.mark.parametrize("claim", FAST, ids=lambda claim: claim.measure.__name__)
def test_quick_claim_holds(claim):
    assert claim(Budget()).holds


def test_every_claim_says_how_it_is_measured():
    assert len(claims_in(claims)) == 19
    assert all(claim.protocol for claim in claims_in(claims))
