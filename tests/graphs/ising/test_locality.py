"""Curves of local predictors equal their definitions, and the published oracle's."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.certificate import locality_certificate, task_range
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.locality import local_lmmse_curve, oracle_curve, structure_factor
from firstlight.graphs.ising.sampling import sample

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "12" / "lrim_oracle_published.csv"
LATTICES = [
    PowerLawIsing((6, 6), 0.6),
    PowerLawIsing((5, 5), 1.5),
    PowerLawIsing((4, 6), 0.6),
    PowerLawIsing((9,), 0.6),
    PowerLawIsing((3, 4, 3), 0.6),
    PowerLawIsing((5, 5), 0.6, lattice="triangular"),
]


def critical_spins(model, n, seed=0):
    temperature = 0.8 * model.coupling_row(0).sum()
    return sample(model, temperature, n, seed=seed, thermalize=50, thin=4)


@pytest.mark.parametrize("model", [
    *LATTICES,
    PowerLawIsing((5, 5), 0.6, boundary="open"),
    PowerLawIsing((5, 5), 0.6, occupied=np.arange(25).reshape(5, 5) % 6 > 0),
], ids=repr)  # fmt: skip
def test_the_oracle_is_the_sum_within_the_radius(model):
    spins = 2 * np.random.default_rng(0).integers(0, 2, (7, model.n_sites)) - 1
    curve = oracle_curve(model, spins)
    hops = np.stack([model.hop_distances(site) for site in range(model.n_sites)])
    errors = np.empty((7, len(curve.radii)))
    for column, radius in enumerate(curve.radii):
        predicted = -spins * (spins @ np.where(hops <= radius, model.couplings(), 0))
        errors[:, column] = ((predicted - model.target(spins)) ** 2).mean(axis=1)
    np.testing.assert_allclose(curve.mse, errors.mean(axis=0), rtol=1e-9, atol=1e-24)
    np.testing.assert_allclose(curve.standard_error, errors.std(axis=0, ddof=1) / np.sqrt(7), rtol=1e-9, atol=1e-16)
    assert curve.radii[-1] == hops.max()
    assert curve.mse[-1] < 1e-24


@pytest.mark.parametrize(("sigma", "exponent"), [(0.6, -5.4788), (1.5, -7.3752)])
def test_at_the_last_radius_but_one_only_the_opposite_site_is_missing(sigma, exponent):
    """Known to four decimals from the published table; J = (8 √2)^-(2+σ), and no sum over images would give it."""
    model = PowerLawIsing((16, 16), sigma)
    spins = 2 * np.random.default_rng(0).integers(0, 2, (3, 256)) - 1
    curve = oracle_curve(model, spins, [15])
    assert curve.logmse[0] == pytest.approx(exponent, abs=1e-4)
    assert curve.mse[0] == pytest.approx((8 * np.sqrt(2)) ** (-2 * (2 + sigma)), rel=1e-9)


@pytest.mark.parametrize("model", LATTICES, ids=repr)
def test_the_best_local_predictor_is_least_squares_over_all_sites(model):
    """Against numpy's least squares on the spins around every site, one weight for displacements that are alike."""
    drawn = critical_spins(model, 400)
    spins = drawn[:].astype(float)
    radius = 2
    curve = local_lmmse_curve(model, drawn, [radius])
    hops = model.hop_distances()
    alike = {}
    for cell in np.flatnonzero(hops <= radius):
        steps = np.array(np.unravel_index(cell, model.shape))
        steps = np.minimum(steps, model.shape - steps)
        kind = model.kernel[cell] if len(set(model.shape)) == 1 else tuple(steps)
        alike.setdefault(kind, []).append(cell)
    kinds = list(alike.values())
    grid = spins.reshape(400, *model.shape)
    axes = tuple(range(1, grid.ndim))
    features = np.stack([
        sum(np.roll(grid, [-int(step) for step in np.unravel_index(cell, model.shape)], axes) for cell in kind)
        for kind in kinds
    ], axis=-1).reshape(400, model.n_sites, len(kinds))  # fmt: skip
    field = model.local_field(spins)
    weights = np.linalg.lstsq(features[:200].reshape(-1, len(kinds)), field[:200].ravel(), rcond=None)[0]
    errors = ((features[200:] @ weights - field[200:]) ** 2).mean()
    if model.lattice == "triangular":  # where we use less of the symmetry, and fit more weights
        assert curve.mse[0] == pytest.approx(errors, rel=0.02)
    else:
        assert curve.mse[0] == pytest.approx(errors, rel=1e-9)


def test_the_best_local_predictor_lies_below_the_oracle_and_ends_at_nothing():
    model = PowerLawIsing((8, 8), 0.6)
    drawn = critical_spins(model, 2000)
    oracle, best = (curve(model, drawn) for curve in (oracle_curve, local_lmmse_curve))
    assert (best.logmse[:5] < oracle.logmse[:5] - 0.3).all()
    assert best.mse[-1] < 1e-20
    assert (np.diff(best.mse) < 0).all()
    assert oracle.radius_of(float(best.logmse[2])) > 3
    assert best.radius_of(float(best.logmse[2])) == 3
    assert oracle_curve(model, drawn, [1, 2]).radius_of(-40) == 3


def test_free_spins_know_nothing_of_far_ones():
    """Of independent spins the best local predictor is the truncated sum itself, and S(q) = 1."""
    model = PowerLawIsing((6, 6), 0.6)
    spins = 2 * np.random.default_rng(0).integers(0, 2, (20_000, 36)) - 1
    oracle, best = (curve(model, spins, [1, 2, 3]) for curve in (oracle_curve, local_lmmse_curve))
    np.testing.assert_allclose(best.mse, oracle.mse, rtol=0.01)
    np.testing.assert_allclose(structure_factor(model, spins), 1, atol=0.06)


def test_the_published_oracle_is_ours():
    if not PUBLISHED.is_file():
        pytest.skip("the published table is not here")
    with PUBLISHED.open() as file:
        table = {
            (row["dataset.name"], int(row["gnn.layers_mp"])): [
                float(row[f"best/{part}_logmse"]) for part in ("train", "val", "test")
            ]
            for row in csv.DictReader(file)
        }
    model = PowerLawIsing((16, 16), 0.6)
    radii = np.arange(1, 16)
    published = [np.log10([0.8, 0.1, 0.1] @ 10 ** np.array(table["lrim_16_0.6_10k", radius])) for radius in radii]
    curve = oracle_curve(model, sample(model, 8.8787, 4000, seed=0, thermalize=100, thin=15), radii.tolist())
    errors = curve.standard_error / curve.mse / np.log(10)
    np.testing.assert_allclose(curve.logmse, published, atol=4 * errors.max())
    assert errors.max() < 0.006


@settings(max_examples=25)
@given(which=st.integers(0, len(LATTICES)), radius=st.integers(0, 6), site=st.integers(0, 8))
def test_witnesses_agree_nearby_and_their_labels_differ_by_the_gap(which, radius, site):
    glass = PowerLawIsing((3, 4), 0.6).couplings() * np.where(np.add.outer(range(12), range(12)) % 3, 1, -1)
    model = [*LATTICES, PowerLawIsing((3, 4), 0.6, couplings=glass)][which]
    certificate = locality_certificate(model, radius, site)
    one, other = certificate.witnesses
    near = model.hop_distances(site) <= radius
    np.testing.assert_array_equal(one[near], other[near])
    gap = abs(model.target(one)[site] - model.target(other)[site])
    assert gap == pytest.approx(certificate.gap, abs=1e-12)
    assert certificate.error_bound == pytest.approx(np.abs(model.couplings()[site, ~near]).sum())
    assert certificate.verify()


def test_no_pair_of_configurations_that_agree_nearby_has_a_larger_gap():
    model = PowerLawIsing((3, 3), 0.6)
    near = model.hop_distances() <= 1
    states = 2 * (np.arange(512)[:, None] >> np.arange(9) & 1) - 1
    labels = model.target(states)[:, 0]
    patterns = (states[:, near] > 0) @ (1 << np.arange(near.sum()))
    widest = max(np.ptp(labels[patterns == pattern]) for pattern in np.unique(patterns))
    assert locality_certificate(model, 1).gap == pytest.approx(widest)


def test_a_forged_certificate_does_not_verify():
    certificate = locality_certificate(PowerLawIsing((6, 6), 0.6), 2)
    _, other = certificate.witnesses
    other[1] *= -1  # a neighbour
    assert not certificate.verify()


def test_the_range_of_the_task_is_known():
    """Measured once, and published in the notes on the benchmark, to two decimals."""
    models = [PowerLawIsing((size, size), sigma) for sigma in (0.6, 1.5) for size in (16, 32, 64)]
    found = [round(task_range(model, normalised=True), 2) for model in models]
    assert found == [2.93, 4.05, 5.54, 1.91, 2.10, 2.25]


def test_the_range_is_the_sum_of_couplings_times_hops_on_any_graph():
    model = PowerLawIsing((4, 5), 0.6, boundary="open")
    hops = np.stack([model.hop_distances(site) for site in range(20)])
    assert task_range(model) == pytest.approx((model.couplings() * hops).sum() / 20)
    torus = PowerLawIsing((4, 5), 0.6)
    matrix = PowerLawIsing((4, 5), 0.6, couplings=torus.couplings())
    assert task_range(torus) == pytest.approx(task_range(matrix))


@pytest.mark.usefixtures("unchecked_shapes")
def test_misuse_is_refused():
    torus, open_lattice = PowerLawIsing((4, 4), 0.6), PowerLawIsing((4, 4), 0.6, boundary="open")
    spins = np.ones((3, 16))
    with pytest.raises(InvalidInput, match=r"between 0 and 4, the greatest distance in hops, got \[5\]"):
        oracle_curve(torus, spins, [5])
    with pytest.raises(InvalidInput, match="between 0 and 4"):
        local_lmmse_curve(torus, spins, [])
    with pytest.raises(InvalidInput, match="periodic lattices"):
        local_lmmse_curve(open_lattice, spins)
    with pytest.raises(InvalidInput, match="at least two configurations"):
        local_lmmse_curve(torus, spins[:1])
    with pytest.raises(InvalidInput, match="too few or too alike"):
        local_lmmse_curve(torus, spins)
    with pytest.raises(InvalidInput, match="at most 4,096 sites"):
        oracle_curve(PowerLawIsing((65, 65), 0.6, boundary="open"), np.ones((1, 65 * 65)))
    with pytest.raises(InvalidInput, match="radius of 0 or more and a site from 0 to 15, got -1 and 0"):
        locality_certificate(torus, -1)
    with pytest.raises(InvalidInput, match="several pieces"):
        task_range(PowerLawIsing((3, 3), 0.6, occupied=np.eye(3) > 0))
