import warnings

import numpy as np
import pyamg
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh, subspace_angles
from scipy.sparse.linalg import LinearOperator

from firstlight.errors import InvalidInput
from firstlight.pde.subspace import BlockMultigrid, warm_eigsh
from firstlight.pde.subspace.factorisations import eigenvalues_below, shift_invert_eigsh
from firstlight.pde.subspace.problems import FlattopProblem, LShapeProblem

SAMPLE = FlattopProblem(cells=24, n_vectors=12).sample(0)
A, EXACT, V = SAMPLE.matrix, *SAMPLE.eigenpairs
M = BlockMultigrid(pyamg.smoothed_aggregation_solver(A))


def guess(columns, size, seed=0):
    """The exact vectors, wrong by `size` in other directions."""
    noise = np.random.default_rng(seed).normal(size=(A.shape[0], columns))
    return V[:, :columns] + size * noise / np.linalg.norm(noise, axis=0)


def mirrored(n=24):
    """A Laplacian on the square that commutes with the mirror of one axis, and a start of even vectors only."""
    shape = FlattopProblem(cells=n, n_vectors=8).sample(1)
    faces = [face + np.flip(face, axis=0) for face in shape.faces]
    matrix = type(shape)(shape.field, faces, 8).matrix
    values, vectors = eigh(matrix.toarray())
    even = [v for v in vectors.T if np.allclose(v.reshape(n, n), np.flip(v.reshape(n, n), axis=0), atol=1e-8)]
    return matrix, values, np.column_stack(even[:4])


@given(seed=st.integers(0, 1000), size=st.sampled_from([1e-6, 0.1, 0.5, 10.0]), columns=st.sampled_from([4, 6, 12]))
@settings(max_examples=15)
def test_eigenvalues_are_those_of_a_dense_solver_from_any_start(seed, size, columns):
    values, vectors, info = warm_eigsh(A, 4, guess(columns, size, seed), M=M, seed=seed)
    assert info.converged
    np.testing.assert_allclose(values, EXACT[:4], rtol=1e-8)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-12)
    assert subspace_angles(vectors, V[:, :4]).max() < 1e-3


def test_bounds_and_estimates_hold():
    values, vectors, info = warm_eigsh(A, 6, guess(8, 0.3), M=M, tol=1e-4)
    wrong = np.abs(values - EXACT[:6])
    np.testing.assert_allclose(info.residuals, np.linalg.norm(A @ vectors - vectors * values, axis=0), rtol=1e-6)
    assert (wrong <= info.bounds).all()
    assert (wrong <= info.errors).all()
    assert (info.errors <= 1e-4 * EXACT[:6] * 1.01).all()


def test_a_good_start_saves_iterations():
    counts = [warm_eigsh(A, 6, X, M=M)[2].iterations for X in (guess(8, 0.05), guess(8, 100.0))]
    assert counts[0] < 0.7 * counts[1]


def test_vectors_missed_by_a_symmetric_start_are_found():
    matrix, values, even = mirrored()
    assert not np.allclose(np.sort(np.diag(even.T @ matrix @ even)), values[:4], rtol=1e-3)
    for preconditioner in (None, BlockMultigrid(pyamg.smoothed_aggregation_solver(matrix))):
        found, _, info = warm_eigsh(matrix, 4, even, M=preconditioner, certify=True)
        np.testing.assert_allclose(found, values[:4], rtol=1e-8)
        assert info.lowest == "proved"


def test_inertia_counts_eigenvalues():
    for count in (0, 3, 11):
        shift = 0.5 * (EXACT[count] + (EXACT[count - 1] if count else 0.0))
        assert eigenvalues_below(A, shift) == count
        assert eigenvalues_below(2 * A, shift, 2 * sp.eye_array(A.shape[0])) == count


def test_with_a_mass_matrix_as_shift_invert_lanczos():
    sample = LShapeProblem(refinements=4, n_vectors=6).sample(0)
    wanted, U = shift_invert_eigsh(sample.matrix, 6, sample.mass)
    start = U + 0.1 * np.random.default_rng(0).normal(size=U.shape) * np.abs(U).max()
    preconditioner = BlockMultigrid(pyamg.smoothed_aggregation_solver(sample.matrix))
    values, vectors, info = warm_eigsh(sample.matrix, 6, start, B=sample.mass, M=preconditioner, certify=True)
    np.testing.assert_allclose(values, wanted, rtol=1e-8)
    np.testing.assert_allclose(vectors.T @ (sample.mass @ vectors), np.eye(6), atol=1e-10)
    assert info.lowest == "proved"
    assert (np.abs(values - wanted) <= info.errors).all()


def test_more_pairs_than_the_rank_of_the_operator():
    factor = np.random.default_rng(0).normal(size=(500, 10)) * np.arange(1, 11)
    gram = LinearOperator((500, 500), matvec=lambda x: factor @ (factor.T @ x), dtype=float)
    values, vectors, _ = warm_eigsh(gram, 12, np.random.default_rng(1).normal(size=(500, 12)), largest=True)
    singular = np.linalg.svd(factor, compute_uv=False)
    np.testing.assert_allclose(values[:10], singular**2, rtol=1e-8)
    assert (np.abs(values[10:]) < 1e-9 * values[0]).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(12), atol=1e-10)


def test_a_tiny_pencil_in_single_precision_is_solved_densely():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(2, 10, 10)).astype(np.float32)
    stiff, mass = (f @ f.T + 10 * np.eye(10, dtype=np.float32) for f in factors)
    X = rng.normal(size=(10, 4)).astype(np.float32)
    values, _, info = warm_eigsh(stiff, 4, X, B=mass)
    exact = eigh(stiff.astype(float), mass.astype(float), eigvals_only=True)
    np.testing.assert_allclose(values, exact[:4], rtol=1e-12)
    assert info.lowest == "proved"
    with pytest.raises(InvalidInput, match=r"pass X\.T"):
        warm_eigsh(stiff, 4, X.T, B=mass)


def test_a_spread_spectrum():
    d = np.logspace(0, 6, 500)
    diagonal, start = sp.diags_array(d).tocsr(), np.random.default_rng(0).normal(size=(500, 5))
    inverse = sp.diags_array(1 / d)
    np.testing.assert_allclose(warm_eigsh(diagonal, 5, start, M=inverse)[0], d[:5], rtol=1e-8)
    np.testing.assert_allclose(warm_eigsh(diagonal, 5, start, largest=True)[0], d[:-6:-1], rtol=1e-8)
    with pytest.raises(InvalidInput, match="leave it out for the largest"):
        warm_eigsh(diagonal, 5, start, M=inverse, largest=True)


def test_failure_is_said_and_shows_in_the_residual():
    diagonal = sp.diags_array(np.logspace(0, 6, 500).astype(np.float32)).tocsr()
    start = np.random.default_rng(0).normal(size=(500, 5))
    with pytest.warns(RuntimeWarning, match="no convergence within 20 steps"):
        _, _, info = warm_eigsh(diagonal, 5, start, maxiter=20)
    assert not info.converged
    assert info.lowest == "unknown"
    assert info.residuals.min() > 1e-3


def test_a_space_cut_through_a_double_eigenvalue_is_warned_of():
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(24, 24))
    square = sp.csr_array(sp.kron(line, sp.eye_array(24)) + sp.kron(sp.eye_array(24), line))
    start = np.random.default_rng(0).normal(size=(576, 4))
    with pytest.warns(RuntimeWarning, match="the wanted space is not defined"):
        warm_eigsh(square, 2, start)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warm_eigsh(square, 3, start)


def test_reference_solver_agrees_with_a_dense_one():
    np.testing.assert_allclose(EXACT, np.linalg.eigvalsh(A.toarray())[:12], rtol=1e-11)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": V[:, :3]}, "3 columns for 4"),
        ({"X": np.column_stack([V[:, :3], V[:, 0]])}, "span only 3 dimensions"),
        ({"X": V[:100]}, "576 rows"),
        ({"X": V * np.nan}, "not finite"),
        ({"k": 0}, "k between 1 and"),
        ({"A": sp.triu(A)}, "not symmetric"),
        ({"B": sp.eye_array(5)}, "expected B of shape"),
        ({"M": sp.eye_array(5)}, "expected M of shape"),
        ({"A": LinearOperator(A.shape, matvec=A.dot, dtype=float), "certify": True}, "certify needs A as a matrix"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, message):
    given = {"A": A, "k": 4, "X": V} | change
    with pytest.raises(InvalidInput, match=message):
        warm_eigsh(given.pop("A"), given.pop("k"), given.pop("X"), **given)


def test_an_eigenvalue_close_below_the_last_wanted_one_is_not_certified_away():
    values = np.concatenate([[1.0, 2.0, 3.0, 4.0, 4.0004], np.linspace(10.0, 400.0, 495)])
    start = np.eye(500)[:, [0, 1, 2, 4]] + 1e-5 * np.random.default_rng(0).normal(size=(500, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, _, info = warm_eigsh(sp.diags_array(values).tocsr(), 4, start, certify=True)
    assert info.lowest != "proved" or abs(found[3] - 4.0) < 1e-6
