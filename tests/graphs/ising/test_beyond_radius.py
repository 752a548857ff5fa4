"""A model passes the radii that its errors are below, and chance passes none."""

import numpy as np
import pytest
from scipy import stats

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.beyond_radius import BeyondRadius, beyond_radius
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.locality import local_lmmse_curve, oracle_curve
from firstlight.graphs.ising.sampling import sample

MODEL = PowerLawIsing((10, 10), 0.6)
SPINS = sample(MODEL, 8.0, 600, seed=0, thermalize=50, thin=10)


def truncated(radius):
    """The benchmark's oracle, which sees so many hops and not one more."""
    hops = np.stack([MODEL.hop_distances(site) for site in range(100)])
    return -SPINS[:] * (SPINS[:] @ np.where(hops <= radius, MODEL.couplings(), 0))


def test_who_knows_the_label_is_seen_to_go_beyond_every_radius():
    evidence = beyond_radius(MODEL, SPINS, MODEL.target(SPINS[:]))
    assert evidence.radius() == 9
    assert (evidence.p_values < 1e-6).all()


@pytest.mark.parametrize("radius", [3, 5, 7])
def test_who_sees_some_hops_is_not_seen_to_go_beyond_them(radius):
    found = beyond_radius(MODEL, SPINS, truncated(radius)).radius()
    best, oracle = local_lmmse_curve(MODEL, SPINS), oracle_curve(MODEL, SPINS[300:])
    crossing = best.radius_of(float(oracle.logmse[radius - 1]))  # where the best linear predictor is no worse
    assert found in (crossing - 1, crossing - 2)  # a small lead may not be certain
    assert 0 < found < radius


def test_p_values_are_those_of_a_paired_t_test():
    rng = np.random.default_rng(0)
    labels = MODEL.target(SPINS[:])
    predicted = labels + rng.normal(0, 0.6, labels.shape)
    evidence = beyond_radius(MODEL, SPINS, predicted, [2])
    hops = MODEL.hop_distances()
    # The predictor of two hops by least squares, on the lattice's eightfold sums of spins.
    grid = SPINS[:].reshape(600, 10, 10).astype(float)
    kinds = [
        np.flatnonzero(np.isclose(MODEL.kernel, value) & (hops <= 2)) for value in np.unique(MODEL.kernel[hops <= 2])
    ]
    sums = np.stack([sum(np.roll(grid, (-(c // 10), -(c % 10)), (1, 2)) for c in kind) for kind in kinds], axis=-1)
    sums, field = sums.reshape(600, 100, -1), MODEL.local_field(SPINS[:])
    weights = np.linalg.lstsq(sums[:300].reshape(-1, len(kinds)), field[:300].ravel(), rcond=None)[0]
    linear = ((sums[300:] @ weights - field[300:]) ** 2).mean(axis=1)
    own = ((predicted - labels)[300:] ** 2).mean(axis=1)
    assert evidence.p_values[0] == pytest.approx(stats.ttest_rel(linear, own, alternative="greater").pvalue, rel=1e-6)


def test_radii_count_up_to_the_first_that_fails():
    evidence = BeyondRadius(np.array([3, 4, 5, 6]), np.array([1e-5, 1e-3, 0.2, 1e-9]))
    assert evidence.radius() == 4
    assert evidence.radius(1e-4) == 3
    assert evidence.radius(1e-6) == 2


@pytest.mark.usefixtures("unchecked_shapes")
def test_misuse_is_refused():
    predicted = np.zeros((600, 100))
    with pytest.raises(InvalidInput, match=r"shape \(600, 100\), got \(599, 100\)"):
        beyond_radius(MODEL, SPINS, predicted[1:])
    with pytest.raises(InvalidInput, match="neighbouring and ascending"):
        beyond_radius(MODEL, SPINS, predicted, [1, 3])
    with pytest.raises(InvalidInput, match="periodic lattices"):
        beyond_radius(PowerLawIsing((10, 10), 0.6, boundary="open"), SPINS, predicted)
