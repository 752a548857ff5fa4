import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from tests.pde.subspace.subspaces_of_a_path import turning_bases

from firstlight.errors import InvalidInput
from firstlight.pde.subspace import GrassmannInterpolator, SubspaceWarning, principal_angles
from firstlight.pde.subspace.grassmann import along, tangent
from firstlight.pde.subspace.inner_products import orthonormal_basis

POINTS = np.array([0.1, 1.08, 2.06, 3.04, 4.02, 5.0])
METHODS = ["nearest", "geodesic", "rbf", "gp"]


def random_mass(n):
    factor = sp.random_array((n, n), density=0.3, rng=np.random.default_rng(5))
    return (factor @ factor.T + sp.eye_array(n)).tocsr()


@given(st.integers(0, 10_000), st.booleans())
def test_logarithm_and_exponential_undo_each_other(seed, weighed):
    mass = random_mass(15) if weighed else None
    rng = np.random.default_rng(seed)
    origin, target = (orthonormal_basis(rng.normal(size=(15, 4)), mass) for _ in range(2))
    assert principal_angles(along(origin, tangent(origin, target, mass), mass), target, mass)[0] < 1e-7


def test_lengths_of_a_tangent_are_the_principal_angles():
    rng = np.random.default_rng(0)
    origin, target = (orthonormal_basis(rng.normal(size=(15, 4))) for _ in range(2))
    direction = tangent(origin, target)
    np.testing.assert_allclose(np.linalg.svd(direction, compute_uv=False), principal_angles(origin, target))
    np.testing.assert_allclose(origin.T @ direction, 0, atol=1e-14)


def test_logarithm_reaches_subspaces_at_right_angles():
    direction = tangent(np.eye(4)[:, :2], np.eye(4)[:, 1:3])
    np.testing.assert_allclose(np.linalg.svd(direction, compute_uv=False), [np.pi / 2, 0], atol=1e-15)


@pytest.mark.parametrize("neighbours", [2, 3, 6])
def test_points_on_a_geodesic_are_interpolated_exactly(neighbours):
    exact = turning_bases([2.1])[0]
    W = GrassmannInterpolator(method="geodesic", neighbours=neighbours).fit(POINTS, turning_bases(POINTS)).predict(2.1)
    np.testing.assert_allclose(W @ W.T, exact @ exact.T, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_at_least_as_near_as_the_nearest_neighbour(method):
    W = GrassmannInterpolator(method=method, neighbours=6).fit(POINTS, turning_bases(POINTS)).predict(2.1)
    error = np.sin(principal_angles(W, turning_bases([2.1])[0])[0])
    nearest = np.sin(0.25 * (2.1 - 2.06))
    assert error == pytest.approx(nearest) if method == "nearest" else error < 0.1 * nearest


@pytest.mark.parametrize("method", METHODS)
def test_known_samples_come_back(method):
    bases = turning_bases(POINTS)
    predicted = GrassmannInterpolator(method=method).fit(POINTS[:, None], bases).predict(POINTS[:, None])
    assert predicted.shape == bases.shape
    assert max(principal_angles(W, V)[0] for W, V in zip(predicted, bases, strict=True)) < 1e-3


def test_interpolation_in_a_mass_matrix_is_orthonormal_in_it():
    mass = random_mass(12)
    bases = np.stack([orthonormal_basis(one, mass) for one in turning_bases(POINTS)])
    for method in METHODS:
        W = GrassmannInterpolator(method=method, mass=mass).fit(POINTS, bases).predict(2.5)
        np.testing.assert_allclose(W.T @ (mass @ W), np.eye(3), atol=1e-12)


def test_whole_spaces_are_one_point():
    square = np.stack([np.linalg.qr(np.random.default_rng(i).normal(size=(4, 4)))[0] for i in range(5)])
    with pytest.raises(InvalidInput, match="one point"):
        GrassmannInterpolator().fit(np.arange(5.0), square)


def test_bases_that_are_not_orthonormal_are_made_so_with_a_warning():
    bases = turning_bases(POINTS) * 3
    with pytest.warns(SubspaceWarning, match="orthonormal"):
        model = GrassmannInterpolator(method="nearest").fit(POINTS, bases)
    assert principal_angles(model.predict(0.1), bases[0])[0] < 1e-7


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"method": "spline"}, "nearest, geodesic, rbf, gp"),
        ({"neighbours": 0}, "neighbours"),
        ({"dim": 4}, "dim must lie between"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(change, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        GrassmannInterpolator(**change).fit(POINTS, turning_bases(POINTS))


@pytest.mark.parametrize(
    ("fields", "spoil", "complaint"),
    [
        (POINTS[:5], lambda V: V, "one field per basis"),
        (np.where(POINTS > 4.5, np.nan, POINTS), lambda V: V, "not finite"),
        (POINTS, lambda V: V[0], "one n × k array per sample"),
        (POINTS, lambda V: V + 0j, "real bases"),
        (POINTS, lambda V: np.repeat(V[:, :, :1], 3, axis=2), "dependent"),
        (POINTS, lambda V: np.where(V > 0.5, np.nan, V), "finite"),
    ],
)
def test_samples_that_cannot_be_used_are_refused(fields, spoil, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        GrassmannInterpolator().fit(fields, spoil(turning_bases(POINTS)))


def test_a_field_of_another_shape_is_refused():
    model = GrassmannInterpolator().fit(POINTS[:, None], turning_bases(POINTS))
    with pytest.raises(InvalidInput, match=r"shape \(1,\)"):
        model.predict([0.1, 0.2])


def test_it_clones_as_estimators_do():
    assert clone(GrassmannInterpolator(2, "rbf", 7)).get_params() == GrassmannInterpolator(2, "rbf", 7).get_params()
