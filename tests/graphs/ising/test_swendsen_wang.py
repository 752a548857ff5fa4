"""The sampler draws from exp(-H/T): averages over its chains equal those over all states."""

from pathlib import Path

import numpy as np
import pytest
from tests.graphs.ising.enumerated import all_states, averaged, deviations, exact_averages

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.bond_sampler import alias_table
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.random_stream import next_uniform, next_word, random_stream
from firstlight.graphs.ising.sampling import sample
from firstlight.graphs.ising.swendsen_wang import SwendsenWang

CASES = Path(__file__).parents[4] / "shared" / "cases" / "12"
HOLES = np.array([[1, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 1]], bool)


def chain_averages(model, temperature, n, seed=0):
    drawn = sample(model, temperature, n, seed=seed, thermalize=50, thin=3)
    return averaged(drawn[:], drawn.report.energies)


@pytest.mark.parametrize(("model", "temperature"), [
    (PowerLawIsing((4, 4), 0.6), 8.8787),
    (PowerLawIsing((4, 4), 1.5), 5.422),
    (PowerLawIsing((3, 4), 0.6, boundary="open"), 4.0),
    (PowerLawIsing((3, 3), 0.6, lattice="triangular"), 8.0),
    (PowerLawIsing((3, 4), 0.6, lattice="triangular", boundary="open"), 5.0),
    (PowerLawIsing((3, 4), 0.6, occupied=HOLES), 4.0),
    (PowerLawIsing((3, 4), 0.6, occupied=HOLES, boundary="open"), 3.0),
    (PowerLawIsing((2, 2, 3), 0.6), 8.0),
    (PowerLawIsing((11,), 0.3), 2.0),
    (PowerLawIsing.from_positions(np.random.default_rng(0).random((10, 2)) * 4, 0.6, radius=2), 5.0),
], ids=lambda value: repr(value) if isinstance(value, PowerLawIsing) else "")  # fmt: skip
def test_averages_equal_those_over_all_states(model, temperature):
    averages = chain_averages(model, temperature, 5_000)
    assert deviations(averages, exact_averages(model.couplings(), temperature)).max() < 4.5


@pytest.mark.parametrize(("temperature", "energy", "square"), [
    (1.0, -25.97855601, 0.1877317921), (3.0, -13.07964624, 0.0801273377), (8.8787, -4.309854111, 0.0628955378),
])  # fmt: skip
def test_couplings_of_both_signs_are_sampled_right(temperature, energy, square):
    if not CASES.is_dir():
        pytest.skip("the shared cases are not here")
    couplings = PowerLawIsing((4, 4), 0.6).couplings() * np.load(CASES / "i05_signs.npy")
    exact = exact_averages(couplings, temperature)
    assert exact[[0, 2]] == pytest.approx([square, energy], rel=1e-8)
    averages = chain_averages(PowerLawIsing((4, 4), 0.6, couplings=couplings), temperature, 5_000)
    assert deviations(averages, exact).max() < 4.5


def test_random_signs_and_antiferromagnets_are_sampled_right():
    rng = np.random.default_rng(0)
    signs = np.triu(rng.choice([-1, 1], (12, 12)), 1)
    power = PowerLawIsing((3, 4), 0.6).couplings()
    for couplings in (power * (signs + signs.T), -power):
        averages = chain_averages(PowerLawIsing((3, 4), 0.6, couplings=couplings), 3.0, 5_000)
        assert deviations(averages, exact_averages(couplings, 3.0)).max() < 4.5


def test_a_lattice_and_the_matrix_of_its_couplings_give_the_same_distribution():
    lattice = PowerLawIsing((3, 4), 1.5)
    matrix = PowerLawIsing((3, 4), 1.5, couplings=lattice.couplings())
    one, other = (chain_averages(model, 5.0, 5_000) for model in (lattice, matrix))
    assert deviations(one - other.mean(axis=0), np.zeros(one.shape[1])).max() < 6.5  # two errors, √2 of one


def test_one_sweep_keeps_the_exact_distribution_from_every_state():
    """Detailed: states drawn exactly, one sweep each, are distributed exactly again."""
    model, temperature = PowerLawIsing((2, 3), 0.6), 4.0
    states = all_states(6)
    weight = np.exp(-model.energy(states) / temperature)
    weight /= weight.sum()
    drawn = np.random.default_rng(1).choice(64, 8_000, p=weight)
    chain = SwendsenWang(model, temperature, 2)
    after = np.empty(len(drawn), int)
    for k, state in enumerate(drawn):
        chain._cells[:] = states[state]
        chain.sweep()
        after[k] = (chain.spins > 0) @ (1 << np.arange(6))
    expected = 8_000 * weight
    chi_squared = ((np.bincount(after, minlength=64) - expected) ** 2 / expected).sum()
    assert chi_squared < 63 + 5 * np.sqrt(2 * 63)


def test_hot_spins_are_independent_and_cold_ones_agree():
    model = PowerLawIsing((8, 8), 0.6)
    hot, cold = (SwendsenWang(model, temperature, 0) for temperature in (1e6, 0.05))
    hot_sums, cold_sums = hot.sweep(4000), cold.sweep(60)[10:]
    assert (hot_sums**2).mean() == pytest.approx(64, rel=0.15)
    assert (np.abs(cold_sums) == 64).all()


def test_sums_that_a_sweep_returns_are_those_of_the_spins():
    chain = SwendsenWang(PowerLawIsing((5, 7), 0.6, occupied=np.arange(35).reshape(5, 7) % 3 > 0), 6.0, 3)
    for _ in range(20):
        assert chain.sweep()[0] == chain.spins.sum()
        assert set(np.unique(chain.spins)) <= {-1, 1}


def test_the_alias_table_gives_back_its_distribution():
    weight = np.random.default_rng(0).exponential(size=500) ** 6
    threshold, alias = alias_table(weight)
    assert ((threshold >= 0) & (threshold <= 1)).all()
    given = threshold + np.bincount(alias, 1 - threshold, minlength=500)
    np.testing.assert_allclose(given / 500, weight / weight.sum(), atol=1e-15)


def test_random_words_are_the_published_ones():
    """The first outputs of xoshiro256++ from the state 1, 2, 3, 4, as its reference implementation gives them."""
    state = np.arange(1, 5).astype(np.uint64)
    assert [next_word(state) for _ in range(5)] == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
    ]


def test_uniform_numbers_are_even():
    state = random_stream(0)
    numbers = np.array([next_uniform(state) for _ in range(8_000)])
    counts = np.histogram(numbers, 20, (0, 1))[0]
    assert ((counts - 400) ** 2 / 400).sum() < 19 + 5 * np.sqrt(2 * 19)


@pytest.mark.parametrize(("temperature", "complaint"), [
    (0.0, "must be positive and finite, got 0.0"),
    (-1.0, "must be positive"),
    (float("nan"), "must be positive"),
    (1e-9, "raise the temperature to at least"),
])  # fmt: skip
def test_temperatures_at_which_nothing_moves_are_refused(temperature, complaint):
    for couplings in (None, np.ones((4, 4)) - np.eye(4)):
        with pytest.raises(InvalidInput, match=complaint):
            SwendsenWang(PowerLawIsing((2, 2), 0.6, couplings=couplings), temperature, 0)


def test_spins_without_couplings_are_refused():
    with pytest.raises(InvalidInput, match="nothing to sample"):
        SwendsenWang(PowerLawIsing((2, 2), 0.6, couplings=np.zeros((4, 4))), 1.0, 0)
