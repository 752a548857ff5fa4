"""Pseudo-critical temperatures equal those of exact averages; the benchmark's are near the transition."""

import numpy as np
import pytest
from tests.graphs.ising.enumerated import all_states

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.temperatures import LRIM_TEMPERATURES, RESPONSES, pseudo_critical_temperature

MODEL = PowerLawIsing((3, 4), 0.6)


def exact_maximum(definition):
    """By derivatives of exact averages over all 4,096 states, on a fine grid of temperatures."""
    spins = all_states(12)
    energy, m = MODEL.energy(spins), np.abs(spins.mean(axis=1))
    temperatures = np.linspace(2, 12, 2001)
    averages = []
    for temperature in temperatures:
        weight = np.exp(-(energy - energy.min()) / temperature)
        weight /= weight.sum()
        averages.append([weight @ m, weight @ m**2, weight @ energy])
    m, square, energy = np.array(averages).T
    beta = 1 / temperatures
    response = {
        "susceptibility": (square - m**2) / temperatures,
        "specific_heat": np.gradient(energy, temperatures),
        "magnetisation_slope": np.gradient(m, beta),
        "log_magnetisation_slope": np.gradient(np.log(m), beta),
    }[definition]
    return temperatures[response.argmax()]


@pytest.mark.parametrize("definition", list(RESPONSES))
def test_the_maximum_is_that_of_exact_averages(definition):
    found = pseudo_critical_temperature(MODEL, definition, n=3000, seed=1)
    assert found.definition == definition
    assert abs(found.temperature - exact_maximum(definition)) < 4.5 * found.standard_error
    assert found.standard_error < 0.03 * found.temperature


def test_a_far_start_leads_to_the_same_place():
    near, far = (pseudo_critical_temperature(MODEL, start=start, n=2000, seed=2) for start in (None, 20.0))
    error = np.hypot(near.standard_error, far.standard_error)
    assert abs(near.temperature - far.temperature) < 4.5 * error


def test_temperatures_rise_with_the_size_towards_the_critical_one():
    for sigma in (0.6, 1.5):
        temperatures = [LRIM_TEMPERATURES[size, sigma] for size in (16, 32, 64, 128, 256)]
        assert temperatures == sorted(temperatures)


@pytest.mark.parametrize(("arguments", "complaint"), [
    ({"definition": "binder"}, "susceptibility, specific_heat, .*got 'binder'"),
    ({"n": 100}, "at least 1000 configurations, got n=100"),
])  # fmt: skip
@pytest.mark.usefixtures("unchecked_shapes")
def test_misuse_is_refused(arguments, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        pseudo_critical_temperature(MODEL, **arguments)
