import pytest

from firstlight.evidence import Budget
from firstlight.pde.flow import claims


@pytest.mark.parametrize(
    "claim",
    [
        claims.orders_are_those_of_theory,
        claims.better_paths_give_better_labels,
        claims.lorenz_beats_next_state,
        claims.quintic_beats_linear,
        claims.burgers_beats_next_state,
        claims.queries_between_frames,
        claims.lorenz_runs_backwards,
        claims.coarse_frames_fail,
    ],
    ids=lambda claim: claim.measure.__name__,
)
def test_quick_claim_holds(claim):
    assert claim(Budget()).holds
