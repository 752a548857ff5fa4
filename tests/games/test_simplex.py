import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from firstlight.games.simplex import project, project_simplex

SIZES = st.sampled_from([1, 2, 3, 4, 7, 30, 300])
ENTRIES = st.floats(-100.0, 100.0, allow_subnormal=False)


def points():
    return SIZES.flatmap(lambda n: arrays(np.float64, n, elements=ENTRIES))


def projected(point, radius, kernel=project):
    image = np.full_like(point, np.nan)
    total = kernel(point, 0, len(point), radius, image)
    return image, total


def level_by_bisection(point, radius):
    low, high = point.min() - radius, point.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(point - middle, 0.0).sum() > radius else (low, middle)
    return (low + high) / 2


@given(point=points(), radius=st.floats(0.0, 1000.0))
def test_no_point_of_the_domain_is_nearer(point, radius):
    # p is the projection of v onto a convex set iff ⟨v − p, q − p⟩ ≤ 0 for all q in it; for D_R it is enough to look
    # at its corners R·eₖ and along its rays eₖ.
    image, _ = projected(point, radius)
    scale = 1.0 + radius + np.abs(point).max()
    assert image.min() >= 0.0
    assert image.sum() >= radius - 1e-13 * len(point) * scale
    residual = point - image
    assert residual.max() <= 1e-13 * scale
    assert (radius * residual - residual @ image).max() <= 1e-12 * len(point) * scale**2


@given(point=points(), radius=st.floats(1e-3, 1000.0))
def test_simplex_projection_agrees_with_bisection(point, radius):
    image, total = projected(point, radius, project_simplex)
    expected = np.maximum(point - level_by_bisection(point, radius), 0.0)
    np.testing.assert_allclose(image, expected, atol=1e-11 * (radius + np.abs(point).max()))
    assert total == pytest.approx(radius, abs=2e-16 * len(point) ** 2 * (radius + np.abs(point).max()))
    assert total == pytest.approx(image.sum(), rel=1e-12)


@given(point=points())
def test_points_of_enough_weight_only_lose_their_negative_entries(point):
    image, total = projected(point, 0.5 * np.maximum(point, 0.0).sum())
    np.testing.assert_array_equal(image, np.maximum(point, 0.0))
    assert total == pytest.approx(image.sum(), rel=1e-14)


def test_the_floor_is_on_the_sum_and_not_on_each_entry():
    image, total = projected(np.array([0.5, -3.0, -3.0]), 1.0)
    np.testing.assert_array_equal(image, [1.0, 0.0, 0.0])
    assert total == 1.0


@given(point=points(), radius=st.floats(0.0, 1000.0))
def test_may_overwrite_its_argument(point, radius):
    image, total = projected(point, radius)
    assert project(point, 0, len(point), radius, point) == total
    np.testing.assert_array_equal(point, image)


def test_works_on_a_slice_and_leaves_the_rest_alone():
    point = np.array([9.0, 0.2, 0.4, 9.0])
    image = np.full(4, -1.0)
    assert project(point, 1, 3, 1.0, image) == pytest.approx(1.0)
    np.testing.assert_allclose(image, [-1.0, 0.4, 0.6, -1.0])


@given(
    size=st.integers(2, 40),
    radius=st.floats(1e-3, 1e3),
    noise=st.lists(st.integers(-2, 2), min_size=40, max_size=40),
)
def test_ends_when_entries_lie_at_the_level_to_rounding(size, radius, noise):
    # Entries a few units in the last place around R below the largest drop out of the active set and come back.
    point = np.full(size, -radius) * (1.0 + np.array(noise[:size]) * 2.0**-52)
    point[0] = 0.0
    image, total = projected(point, radius)
    assert total == pytest.approx(radius, rel=1e-12)
    assert image[0] == pytest.approx(radius, rel=1e-12)


@pytest.mark.parametrize("shift", [-1e19, -1e150, 1e19])
def test_keeps_its_sum_where_the_radius_is_lost_beside_the_entries(shift):
    image, total = projected(np.array([shift, 2 * shift, shift]), 1.0, project_simplex)
    assert np.isfinite(image).all()
    assert total == pytest.approx(1.0)


def test_nothing_is_projected_to_nothing():
    image, total = projected(np.array([0.0, -1.0]), 0.0)
    np.testing.assert_array_equal(image, [0.0, 0.0])
    assert total == 0.0
