import numpy as np
import pytest
from scipy.stats import kstest, norm
from tests.transport.explicit_trees import two_clouds

from firstlight.errors import InvalidInput
from firstlight.transport import sample_spherical_trees, sample_tree_system, tree_sliced_sobolev
from firstlight.transport.balanced_draws import shifted_lattice

SAMPLINGS = ["balanced", "independent"]


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
def test_each_tree_alone_has_normal_roots_and_uniform_directions(sampling, d):
    """One tree of each of many systems: coupling trees of one system must not change what a tree alone looks like."""
    center = np.arange(d) * 1.0
    alone = [sample_tree_system(center, 5, 3, spread=0.5, sampling=sampling, seed=seed) for seed in range(800)]
    roots = np.stack([(trees.roots[2] - center) / 0.5 for trees in alone])
    directions = np.stack([trees.directions[3] for trees in alone])
    assert kstest(roots[:, 0], norm.cdf).pvalue > 1e-3
    if d > 1:
        # ⟨θ, e⟩² of a uniform θ has mean 1/d, and lines of a tree are independent.
        square = directions[:, :, 0] ** 2
        assert square.mean() == pytest.approx(1 / d, abs=0.04)
        assert abs(np.corrcoef(square[:, 0], square[:, 1])[0, 1]) < 0.12


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("d", [2, 3, 6])
def test_each_spherical_tree_alone_is_uniform(sampling, d):
    alone = [sample_spherical_trees(d, 5, 2, sampling=sampling, seed=seed) for seed in range(800)]
    roots = np.stack([trees.roots[4] for trees in alone])
    edges = np.stack([trees.edges[4] for trees in alone])
    np.testing.assert_allclose(roots.mean(axis=0), 0, atol=0.13)
    np.testing.assert_allclose(np.einsum("ti,tj->ij", roots, roots) / 800, np.eye(d) / d, atol=0.08)
    np.testing.assert_allclose(edges.mean(axis=0), 0, atol=0.13)


@pytest.mark.parametrize(("d", "at_least"), [(2, 3.0), (3, 1.2), (10, 1.3)])
def test_balanced_trees_make_the_distance_more_exact(d, at_least):
    X, Y, a, b = two_clouds(60, 50, d)

    def spread(sampling):
        distances = [
            tree_sliced_sobolev(
                X, Y, a, b, trees=sample_tree_system(Y.mean(axis=0), 60, 3, sampling=sampling, seed=seed), p=1.5
            )
            for seed in range(40)
        ]
        return np.std(distances)

    assert spread("independent") / spread("balanced") > at_least


@pytest.mark.parametrize("n", [1, 2, 6, 24, 25, 100])
def test_lattice_fills_every_coordinate_evenly(n):
    points = shifted_lattice(n, 4, np.random.default_rng(0))
    assert points.shape == (n, 4)
    gaps = np.diff(np.sort(points, axis=0), axis=0)
    assert n == 1 or gaps.max() <= 8 / n


def test_orthogonal_lines_are_perpendicular():
    for sampling in SAMPLINGS:
        trees = sample_tree_system(np.zeros(7), 20, 3, orthogonal=True, sampling=sampling, seed=0)
        gram = trees.directions @ trees.directions.transpose(0, 2, 1)
        np.testing.assert_allclose(gram, np.broadcast_to(np.eye(3), (20, 3, 3)), atol=1e-12)


def test_edges_of_spherical_trees_lie_on_the_equator():
    for d in (2, 3, 50):
        trees = sample_spherical_trees(d, 30, 4, seed=0)
        assert np.abs(np.einsum("td,tkd->tk", trees.roots, trees.edges)).max() < 1e-15


@pytest.mark.parametrize("structure", ["concurrent", "chain"])
def test_same_seed_same_trees(structure):
    one, two, other = (
        sample_tree_system(np.zeros(3), 30, 4, structure=structure, seed=seed)
        for seed in (0, 0, np.random.default_rng(1))
    )
    assert np.array_equal(one.roots, two.roots)
    assert np.array_equal(one.directions, two.directions)
    assert not np.array_equal(one.directions, other.directions)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"center": np.zeros((2, 2))}, "one finite point"),
        ({"center": np.array([0, np.nan])}, "one finite point"),
        ({"center": np.zeros(0)}, "one finite point"),
        ({"n_trees": 0}, "whole number of at least 1"),
        ({"n_lines": 0}, "whole number of at least 1"),
        ({"orthogonal": True, "n_lines": 4}, "4 orthogonal lines"),
        ({"spread": -1.0}, "spread must be"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        sample_tree_system(**{"center": np.zeros(3), **options})


def test_bad_words_and_spheres_are_refused():
    with pytest.raises(InvalidInput, match="at least 2 coordinates"):
        sample_spherical_trees(1)
    with pytest.raises(InvalidInput, match="whole number of at least 1"):
        sample_spherical_trees(3, 0)
