from math import factorial, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.redundancy import (
    box_eigenvectors,
    convergence_orders,
    fixed_dimension,
    hyperbolic_modes,
    lowest_modes,
    taylor_basis,
    taylor_dimension,
)


def second_difference(size):
    return 2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)


@given(ratio=st.floats(0.05, 20), k=st.integers(1, 9))
def test_fixed_space_holds_the_lowest_eigenvectors_of_any_anisotropy(ratio, k):
    grid = (9, 10)
    A = ratio * np.kron(second_difference(9), np.eye(10)) + np.kron(np.eye(9), second_difference(10))
    V = np.linalg.eigh(A)[1][:, :k]
    Q = box_eigenvectors(grid, hyperbolic_modes(k))
    assert np.linalg.norm(V - Q @ (Q.T @ V), axis=0).max() < 1e-11


def test_dimension_is_the_sum_over_columns_of_a_hyperbola():
    assert [fixed_dimension(k) for k in (5, 10, 20, 40)] == [
        sum(k // j for j in range(1, k + 1)) for k in (5, 10, 20, 40)
    ]


def test_dimension_grows_like_k_times_a_power_of_its_logarithm():
    for dim in (2, 3):
        small, large = (fixed_dimension(k, dim) / (k * log(k) ** (dim - 1) / factorial(dim - 1)) for k in (200, 2000))
        assert abs(large - 1) < abs(small - 1) < 1


def test_lowest_modes_are_those_of_the_matrix():
    A = 3.7 * np.kron(second_difference(6), np.eye(7)) + np.kron(np.eye(6), second_difference(7))
    modes = lowest_modes((3.7, 1.0), (6, 7), 8)
    V = box_eigenvectors((6, 7), modes)
    np.testing.assert_allclose(np.diag(V.T @ A @ V), np.linalg.eigvalsh(A)[:8], rtol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(8), atol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_error_falls_with_one_order_more_than_derivatives(order):
    rng = np.random.default_rng(0)
    first = rng.normal(size=(20, 20))

    def vectors(t):
        return np.linalg.eigh(np.diag(np.arange(20.0)) + t * (first + first.T) / 8)[1][:, :2]

    assert taylor_basis(vectors, order).shape == (20, taylor_dimension(2, order))
    np.testing.assert_allclose(convergence_orders(vectors, order, (0.08, 0.04, 0.02)), order + 1, atol=0.15)


def test_columns_for_several_parameters_are_counted_by_monomials():
    monomials = [(a, b) for a in range(4) for b in range(4) if a + b <= 3]
    assert taylor_dimension(5, 3, parameters=2) == 5 * len(monomials)


@pytest.mark.parametrize(("k", "dim"), [(0, 2), (3, 0)])
def test_no_modes_are_refused(k, dim):
    with pytest.raises(InvalidInput, match="at least 1"):
        hyperbolic_modes(k, dim)
