"""Configurations repeat by seed, whoever draws them, and are as independent as their report says."""

import numpy as np
import pytest

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.autocorrelation import autocorrelation, integrated_time
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.data import load_samples, save_samples
from firstlight.graphs.ising.sampling import sample

MODEL = PowerLawIsing((6, 6), 0.6)
QUICK = {"thermalize": 20, "thin": 2}


def test_configurations_depend_on_neither_their_number_nor_that_of_processes(tmp_path):
    many = sample(MODEL, 7.0, 250, seed=5, **QUICK)
    few = sample(MODEL, 7.0, 120, seed=5, **QUICK)
    again = sample(MODEL, 7.0, 250, seed=5, **QUICK, n_jobs=2, folder=tmp_path)
    np.testing.assert_array_equal(many.packed, again.packed)
    np.testing.assert_array_equal(many.packed[:120], few.packed)
    np.testing.assert_array_equal(many.report.energies[:120], few.report.energies)
    assert many.report.tau_energy == again.report.tau_energy


def test_every_configuration_can_be_drawn_again_alone():
    drawn = sample(MODEL, 7.0, 205, seed=1, **QUICK)
    for index in (0, 1, 99, 100, 204, -1):
        np.testing.assert_array_equal(drawn.regenerate(index), drawn[index])
    with pytest.raises(IndexError):
        drawn.regenerate(205)


def test_no_two_configurations_are_equal_and_seeds_differ():
    one, other = (sample(PowerLawIsing((8, 8), 0.6), 8.0, 300, seed=seed, **QUICK) for seed in (0, 1))
    assert len(np.unique(np.concatenate([one.packed, other.packed]), axis=0)) == 600


def test_without_a_seed_every_run_differs_and_tells_its_seed():
    one, other = (sample(MODEL, 7.0, 20, **QUICK) for _ in range(2))
    assert not np.array_equal(one.packed, other.packed)
    np.testing.assert_array_equal(sample(MODEL, 7.0, 20, seed=one.report.seed, **QUICK).packed, one.packed)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (5, 5)])  # 9, 8 and 25 spins: whole bytes and not
def test_packed_spins_unpack_to_what_was_reported(shape):
    drawn = sample(PowerLawIsing(shape, 0.6), 6.0, 30, seed=0, **QUICK)
    assert drawn.packed.nbytes == 30 * -(-np.prod(shape) // 8)
    spins = drawn[:]
    assert spins.shape == (30, np.prod(shape))
    assert set(np.unique(spins)) == {-1, 1}
    np.testing.assert_allclose(drawn.report.magnetisations, spins.mean(axis=1))
    np.testing.assert_allclose(drawn.report.energies, drawn.model.energy(spins))
    np.testing.assert_array_equal(drawn[[3, 1]], spins[[3, 1]])
    assert len(drawn) == drawn.report.n == 30


def test_automatic_thinning_makes_configurations_independent():
    report = sample(PowerLawIsing((8, 8), 0.6), 7.7, 3000, seed=0).report
    assert report.thin >= 4 * report.tau_magnetisation
    assert report.effective_size > 0.8 * 3000  # it is known to a few per cent
    assert abs(report.rho_magnetisation) < 0.1
    assert abs(report.start_deviation) < 4


def test_chains_that_were_not_thinned_and_start_cold_are_told():
    """At a temperature where random spins are far from equilibrium, neighbours correlate and first draws stand out."""
    report = sample(PowerLawIsing((16, 16), 0.6), 7.0, 2000, seed=0, thermalize=0, thin=1).report
    assert report.rho_magnetisation > 0.1
    assert report.effective_size < 0.8 * 2000
    assert report.start_deviation < -5


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_integrated_time_of_an_autoregression_is_its_exact_one(memory):
    """x' = a x + noise has ρ(t) = a^t and τ = ½ + a / (1 - a)."""
    rng = np.random.default_rng(0)
    series = np.empty((50, 10_000))
    series[:, 0] = rng.standard_normal(50) / np.sqrt(1 - memory**2)
    for t in range(1, 10_000):
        series[:, t] = memory * series[:, t - 1] + rng.standard_normal(50)
    assert integrated_time(series) == pytest.approx(0.5 + memory / (1 - memory), rel=0.07)
    np.testing.assert_allclose(autocorrelation(series)[:5], memory ** np.arange(5), atol=0.02)


def test_a_quantity_that_never_changes_has_no_memory():
    assert integrated_time(np.full((2, 50), 0.1)) == 0.5


def test_the_histogram_shows_all_configurations():
    ax = sample(MODEL, 7.0, 50, seed=0, **QUICK).report.plot()
    assert ax.get_xlabel() == "magnetisation per spin"
    assert sum(np.diff(ax.patches[0].get_xy()[:, 0])) == pytest.approx(0)


@pytest.mark.parametrize(("arguments", "complaint"), [
    ({"n": 0}, "n ≥ 1.*got n=0"),
    ({"n_jobs": 0}, "n_jobs=0"),
    ({"thin": 0}, "thin must be 'auto' or a number of sweeps from 1 on, got 0"),
    ({"thermalize": -1}, "thermalize must be"),
    ({"thin": np.int64(-2)}, "thin must be .* got"),
    ({"thin": "fast"}, "thin must be .* got 'fast'"),
    ({"n": 1e2}, r"whole numbers n ≥ 1.*got n=100\.0"),
    ({"seed": 1.5}, "whole number from 0 on, got 1.5"),
    ({"seed": -3}, "seed must be a whole number from 0 on, got -3"),
    ({"temperature": 0.0}, "temperature must be positive"),
])  # fmt: skip
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_cannot_be_drawn_is_refused(arguments, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        sample(**{"model": MODEL, "temperature": 7.0, "n": 3, "seed": 0} | arguments)


@pytest.mark.usefixtures("unchecked_shapes")
def test_numbers_of_numpy_are_numbers_and_reports_of_them_can_be_saved(tmp_path):
    drawn = sample(MODEL, 7.0, np.int64(3), thermalize=np.int64(5), thin=np.int32(2), seed=np.uint64(4))
    plain = sample(MODEL, 7.0, 3, thermalize=5, thin=2, seed=4)
    assert drawn.packed.tolist() == plain.packed.tolist()
    save_samples(tmp_path / "drawn.npz", drawn)
    assert load_samples(tmp_path / "drawn.npz").report.seed == 4
