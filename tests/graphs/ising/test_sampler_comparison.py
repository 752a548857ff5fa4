"""What the sampler is compared with is right itself, and a comparison can fail."""

import numpy as np
import pytest
from tests.graphs.ising.enumerated import exact_averages

from firstlight.evidence import Budget, claims_in
from firstlight.graphs.ising import claims
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.sampler_comparison import (
    TextbookWolff,
    against_textbook,
    cost_exponent,
    enumeration_deviations,
    field_errors,
    sweep_costs,
)
from firstlight.graphs.ising.swendsen_wang import SwendsenWang


def test_the_textbook_algorithm_samples_the_same_distribution():
    model = PowerLawIsing((3, 4), 0.6)
    chain = TextbookWolff(model, 6.0, SwendsenWang(model, 6.0, 0).spins, seed=0)
    squares = (chain.turn_clusters(20_000) / 12.0) ** 2
    error = squares.reshape(50, -1).mean(axis=1).std(ddof=1) / np.sqrt(50)
    assert abs(squares.mean() - exact_averages(model.couplings(), 6.0)[0]) < 4.5 * error


def test_enumeration_agrees_with_the_definition_and_finds_a_wrong_model():
    model = PowerLawIsing((3, 3), 0.6)
    rows = enumeration_deviations(model, 6.0, 5000, seed=0)
    np.testing.assert_allclose([row["exact"] for row in rows], exact_averages(model.couplings(), 6.0), rtol=1e-12)
    assert max(abs(row["deviation"]) for row in rows) < 4.5
    # Sampling stronger couplings than those that are enumerated is what a wrong sampler would do.
    wrong = PowerLawIsing((3, 3), 0.6)
    wrong.couplings = lambda: 0.9 * model.couplings()  # type: ignore[method-assign]
    assert max(abs(row["deviation"]) for row in enumeration_deviations(wrong, 6.0, 5000, seed=0)) > 6


def test_costs_of_a_known_power_have_its_exponent():
    rows = [{"spins": n, "ms per sweep": 3e-5 * n**1.25} for n in (100, 1000, 5000)]
    assert cost_exponent(rows) == pytest.approx(1.25)


def test_costs_are_measured_for_every_size():
    rows = sweep_costs((16, 32), 1.5, seconds=0.05, seed=0)
    assert [row["spins"] for row in rows] == [256, 1024]
    assert 0 < rows[0]["ms per sweep"] < rows[1]["ms per sweep"]
    row = against_textbook(16, 0.6, clusters=300, sweeps=2000, seed=0)
    assert row["times faster per sweep"] > 1
    assert row["τ in sweeps"] == pytest.approx(3.4, abs=1.5)


def test_wrong_fields_are_found():
    model = PowerLawIsing((6, 6), 0.6)
    assert field_errors([model], 0)[0]["relative error"] < 1e-13
    model.kernel[1] *= 1.001  # in direct sums; the transform of the kernel is kept from before
    assert field_errors([model], 0)[0]["relative error"] > 1e-6


@pytest.mark.parametrize("name", ["fields_equal_direct_sums", "locality_has_witnesses"])
def test_quick_claims_hold(name):
    (claim,) = [each for each in claims_in(claims) if each.measure.__name__ == name]
    assert claim(Budget()).holds
