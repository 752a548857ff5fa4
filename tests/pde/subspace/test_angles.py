import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.angles import plot_angles, principal_angles, projection_error

SCIPY = 1e-7  # where subspaces meet, its angles of zero come out as the root of rounding

shapes = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(8, 20), st.integers(0, 2**32 - 1))


def random_mass(n, rng):
    factor = sp.random_array((n, n), density=0.3, rng=rng)
    return (factor @ factor.T + sp.eye_array(n)).tocsr()


@given(shapes)
def test_angles_agree_with_scipy(shape):
    p, k, n, seed = shape
    rng = np.random.default_rng(seed)
    W, V = rng.normal(size=(n, p)), rng.normal(size=(n, k))
    np.testing.assert_allclose(principal_angles(W, V), scipy.linalg.subspace_angles(W, V), atol=SCIPY)


@given(shapes)
def test_angles_in_a_mass_matrix_are_those_after_a_change_of_variables(shape):
    p, k, n, seed = shape
    rng = np.random.default_rng(seed)
    W, V, mass = rng.normal(size=(n, p)), rng.normal(size=(n, k)), random_mass(n, rng)
    root = np.linalg.cholesky(mass.toarray()).T  # M = rootᵀ root
    expected = scipy.linalg.subspace_angles(root @ W, root @ V)
    np.testing.assert_allclose(principal_angles(W, V, mass), expected, atol=SCIPY)


def test_tiny_angles_are_not_lost_to_rounding():
    rng = np.random.default_rng(0)
    W = np.linalg.qr(rng.normal(size=(50, 4)))[0]
    away = rng.normal(size=50)
    away -= W @ (W.T @ away)
    V = W.copy()
    V[:, 0] += 1e-11 * away / np.linalg.norm(away)
    assert principal_angles(W, V)[0] == pytest.approx(1e-11, rel=1e-4)
    assert principal_angles(W, V, np.ones(50))[0] == pytest.approx(1e-11, rel=1e-4)


def test_a_lumped_mass_matrix_may_be_given_as_its_diagonal():
    rng = np.random.default_rng(1)
    W, V, diagonal = rng.normal(size=(12, 3)), rng.normal(size=(12, 2)), rng.uniform(1, 5, 12)
    np.testing.assert_allclose(principal_angles(W, V, diagonal), principal_angles(W, V, sp.diags_array(diagonal)))


def test_error_is_zero_inside_and_one_at_right_angles():
    axes = np.eye(6)
    assert projection_error(axes[:, :3], axes[:, :2]) == 0
    assert projection_error(axes[:, :3], axes[:, 4:]) == 1


def test_error_is_the_distance_that_least_squares_leave():
    rng = np.random.default_rng(2)
    W, V = rng.normal(size=(15, 4)), rng.normal(size=(15, 3))
    rest = V - W @ np.linalg.lstsq(W, V)[0]
    expected = (np.linalg.norm(rest, axis=0) / np.linalg.norm(V, axis=0)).mean()
    assert projection_error(W, V) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("W", "complaint"),
    [
        (np.ones((5, 2)), "dependent"),
        (np.full((5, 1), np.nan), "finite"),
        (np.ones((5, 1)) * 1j, "complex"),
        (np.ones((4, 1)), "one mesh"),
    ],
)
def test_what_is_no_basis_is_refused(W, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        principal_angles(W, np.eye(5)[:, :1])


@pytest.mark.parametrize("mass", [np.eye(4), -np.ones(5), -np.eye(5)])
def test_a_mass_matrix_that_cannot_be_one_is_refused(mass):
    with pytest.raises(InvalidInput, match="mass matrix"):
        principal_angles(np.eye(5)[:, :2], np.eye(5)[:, 2:4], mass)


def test_an_indefinite_mass_matrix_with_a_positive_diagonal_is_refused():
    mass = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(InvalidInput, match="positive definite"):
        principal_angles(np.eye(3)[:, :2], np.eye(3)[:, 1:], mass)


def test_picture_shows_every_prediction_in_degrees():
    ax = plot_angles({"one": np.array([0.5, 0.1]), "two": np.array([1.0])})
    assert [line.get_label() for line in ax.lines] == ["one", "two"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.degrees([0.1, 0.5]))
