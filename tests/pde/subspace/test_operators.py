import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.operators import SymmetricOperator

RANDOM = np.random.default_rng(0).normal(size=(30, 30))


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, sp.coo_matrix, aslinearoperator])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_symmetric_matrices_are_taken_in_every_form(wrap, dtype):
    matrix = (RANDOM + RANDOM.T).astype(dtype)
    v = np.arange(30.0)
    np.testing.assert_allclose(SymmetricOperator(wrap(matrix)).product(v), matrix @ v, rtol=1e-5)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, aslinearoperator])
def test_the_smallest_asymmetry_beyond_rounding_is_seen(wrap):
    matrix = RANDOM + RANDOM.T
    matrix[3, 5] += 1e-6
    with pytest.raises(InvalidInput, match="A is not symmetric"):
        SymmetricOperator(wrap(matrix))
    matrix[3, 5] += 1e-15 - 1e-6
    SymmetricOperator(wrap(matrix))


def test_where_it_is_not_symmetric_is_said():
    matrix = np.eye(5)
    matrix[1, 4] = 2.0
    with pytest.raises(InvalidInput, match=r"by up to 2, first at \(1, 4\)"):
        SymmetricOperator(sp.csr_array(matrix))


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.eye(3) * 1j, "complex"),
        (np.full((3, 3), np.nan), "not finite"),
        (np.ones((3, 2)), "square"),
        (np.zeros((0, 0)), "square"),
        ([[1.0]], "got list"),
        (LinearOperator((3, 3), matvec=lambda x: x * np.nan, dtype=float), "not finite"),
    ],
)
def test_what_cannot_be_used_is_refused(A, message):
    with pytest.raises(InvalidInput, match=message):
        SymmetricOperator(A)
