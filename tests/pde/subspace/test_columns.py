import numpy as np
import pytest
from scipy.linalg import subspace_angles

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.columns import checked_basis, independent, orthonormal


def test_dependent_columns_are_dropped_and_the_span_is_kept():
    W = np.random.default_rng(0).normal(size=(20, 3))
    Q = independent(np.column_stack([W, W @ [1, 2, 3], 1e-9 * W[:, 0], np.zeros(20)]))
    assert Q.shape == (20, 3)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)
    assert subspace_angles(Q, W).max() < 1e-7


def test_the_scale_of_a_column_does_not_make_it_dependent():
    W = np.random.default_rng(0).normal(size=(20, 3)) * [1e-12, 1, 1e12]
    assert orthonormal(W).shape == (20, 3)


def test_the_mend_named_for_dependent_columns_works():
    W = np.ones((5, 2))
    with pytest.raises(InvalidInput, match=r"of rank 1.*independent\(W\)"):
        orthonormal(W)
    assert independent(W).shape == (5, 1)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.ones(5), r"shape \(5,\)"),
        (np.ones((5, 0)), r"shape \(5, 0\)"),
        (np.ones((2, 5)), "more columns than rows"),
        (np.array([["a"]]), "does not hold numbers"),
        ([[1.0], [np.inf]], "first in column 0"),
    ],
)
def test_what_is_no_basis_is_refused(W, message):
    with pytest.raises(InvalidInput, match=message):
        checked_basis(W)
    with pytest.raises(InvalidInput, match="all columns are zero"):
        independent(np.zeros((3, 2)))
