import pytest

from firstlight.evidence import Budget
from firstlight.transport import claims


@pytest.mark.parametrize(
    "claim",
    [
        claims.order_one_is_exact_transport,
        claims.dual_functions_attain_the_distance,
        claims.chains_are_exact,
        claims.error_falls_as_the_root,
    ],
    ids=lambda claim: claim.measure.__name__,
)
def test_quick_claim_holds(claim):
    assert claim(Budget()).holds
