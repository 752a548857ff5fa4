import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg, spsolve

from firstlight.errors import InvalidInput
from firstlight.pde.subspace import CoarseSpace, DeflatedPreconditioner, SingularCoarseMatrix, deflated_cg
from firstlight.pde.subspace.problems import FlattopProblem

SAMPLE = FlattopProblem(cells=24, n_vectors=20).sample(0)
A, SLOW = SAMPLE.matrix, SAMPLE.basis()
B = np.random.default_rng(1).normal(size=A.shape[0])
JACOBI = sp.diags_array(1 / A.diagonal())


def neumann(n=12):
    """Five-point Laplacian on n × n points without any boundary value: constants are its null space."""
    step = sp.diags_array([np.ones(n - 1), -np.ones(n)], offsets=[1, 0]).tocsr()[:-1]
    line = step.T @ step
    return sp.csr_array(sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line))


def scipy_iterations(M=None):
    steps = []
    cg(A, B, rtol=1e-8, M=M, callback=lambda _: steps.append(0))
    return len(steps)


@pytest.mark.parametrize("M", [None, JACOBI, aslinearoperator(JACOBI)], ids=["plain", "jacobi", "operator"])
def test_solution_is_that_of_a_direct_solver(M):
    exact = spsolve(A.tocsc(), B)
    x, info = deflated_cg(A, B, SLOW, M=M)
    assert info.converged
    assert info.residual == pytest.approx(np.linalg.norm(B - A @ x) / np.linalg.norm(B))
    assert np.linalg.norm(x - exact) < 1e-6 * np.linalg.norm(exact)


def test_exact_slow_vectors_save_iterations_and_more_of_them_more():
    with_few, with_many = (deflated_cg(A, B, SLOW[:, :k], M=JACOBI)[1].iterations for k in (5, 20))
    assert with_many < with_few < scipy_iterations(JACOBI)


@given(st.integers(0, 10_000), st.integers(1, 30))
@settings(max_examples=20)
def test_any_subspace_gives_the_solution(seed, p):
    W = np.random.default_rng(seed).normal(size=(A.shape[0], p))
    x, info = deflated_cg(A, B, W, rtol=1e-9)
    assert info.converged
    assert np.linalg.norm(B - A @ x) <= 1e-9 * np.linalg.norm(B)


def test_the_error_never_grows_in_the_energy_norm():
    exact, energies = spsolve(A.tocsc(), B), []
    deflated_cg(A, B, SLOW, callback=lambda x: energies.append((x - exact) @ (A @ (x - exact))))
    assert (np.diff(energies) <= 1e-12 * energies[0]).all()


def test_the_basis_of_the_span_does_not_matter():
    mixed = SLOW @ np.random.default_rng(2).normal(size=(20, 20))
    counts = [deflated_cg(A, B, W)[1].iterations for W in (SLOW, mixed, 1e-6 * mixed)]
    assert max(counts) - min(counts) <= 1


def test_drift_is_found_and_the_true_residual_is_reported_after_many_iterations():
    bad = sp.diags_array(np.logspace(0, 5, 600)).tocsr()
    b = np.ones(600)
    x, info = deflated_cg(bad, b, np.eye(600)[:, :5], rtol=1e-10)
    assert info.residual == pytest.approx(np.linalg.norm(b - bad @ x) / np.linalg.norm(b))
    assert info.converged
    assert info.drift < 1e-6


def test_an_honest_answer_where_the_tolerance_cannot_be_reached():
    _, info = deflated_cg(A, B, SLOW, rtol=1e-18)
    assert not info.converged
    assert info.residual < 1e-13
    assert info.iterations < 500


def test_a_coarse_space_serves_many_right_hand_sides():
    space = CoarseSpace(A, SLOW)
    for b in np.random.default_rng(3).normal(size=(3, A.shape[0])):
        np.testing.assert_allclose(deflated_cg(A, b, space)[0], deflated_cg(A, b, SLOW)[0])


def test_the_preconditioner_takes_scipy_as_many_steps_as_deflation():
    P = DeflatedPreconditioner(A, SLOW, JACOBI)
    assert abs(scipy_iterations(P) - deflated_cg(A, B, SLOW, M=JACOBI)[1].iterations) <= 1


def test_the_preconditioner_is_symmetric_positive_definite_and_exact_on_the_span():
    P = DeflatedPreconditioner(A, SLOW, JACOBI)
    dense = P @ np.eye(A.shape[0])
    np.testing.assert_allclose(dense, dense.T, atol=1e-12)
    assert np.linalg.eigvalsh(dense).min() > 0
    np.testing.assert_allclose(P @ (A @ SLOW), SLOW, atol=1e-10)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, aslinearoperator])
def test_a_triangular_matrix_is_refused_however_it_comes(wrap):
    with pytest.raises(InvalidInput, match="A is not symmetric"):
        deflated_cg(wrap(np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 1]])), np.ones(3), np.eye(3)[:, :1])


def test_a_neumann_problem_has_the_solution_without_mean():
    L = neumann()
    wanted = np.random.default_rng(4).normal(size=144)
    wanted -= wanted.mean()
    x, info = deflated_cg(L, L @ wanted, np.random.default_rng(5).normal(size=(144, 3)), rtol=1e-12)
    assert info.converged
    np.testing.assert_allclose(x, wanted, atol=1e-9)


def test_a_neumann_problem_with_sources_that_do_not_balance_is_refused_with_their_mean():
    with pytest.raises(InvalidInput, match=r"its mean is 0\.25"):
        deflated_cg(neumann(), np.full(144, 0.25), np.eye(144)[:, :2])


def test_the_column_in_the_null_space_is_named():
    W = np.column_stack([np.random.default_rng(6).normal(size=144), np.ones(144)])
    with pytest.raises(SingularCoarseMatrix, match="drop column 1") as refused:
        deflated_cg(neumann(), np.zeros(144), W)
    assert isinstance(refused.value, np.linalg.LinAlgError)


def test_a_null_space_of_several_dimensions_can_be_given():
    twice = sp.block_diag([neumann(6), neumann(6)], format="csr")
    kernel = np.kron(np.eye(2), np.ones((36, 1)))
    wanted = np.random.default_rng(7).normal(size=72)
    wanted -= kernel @ (kernel.T @ wanted) / 36
    W = np.random.default_rng(8).normal(size=(72, 2))
    x, info = deflated_cg(twice, twice @ wanted, W, nullspace=kernel, rtol=1e-12)
    assert info.converged
    np.testing.assert_allclose(x, wanted, atol=1e-9)
    with pytest.raises(InvalidInput, match="does not vanish"):
        deflated_cg(twice, np.zeros(72), W, nullspace=np.eye(72)[:, :1])


def test_an_indefinite_matrix_is_refused_inside_and_outside_the_span():
    saddle = sp.diags_array([-1.0, *range(1, 60)]).tocsr()
    with pytest.raises(SingularCoarseMatrix, match="along column 0"):
        deflated_cg(saddle, np.ones(60), np.eye(60)[:, :1])
    with pytest.raises(InvalidInput, match="not positive definite: pᵀA p"):
        deflated_cg(saddle, np.ones(60), np.eye(60)[:, 5:7])


def test_a_preconditioner_that_is_not_positive_definite_is_refused():
    with pytest.raises(InvalidInput, match="M is not positive definite"):
        deflated_cg(A, B, SLOW, M=-JACOBI)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"W": SLOW.T}, "turned"),
        ({"W": SLOW[:100]}, "576 rows"),
        ({"W": np.column_stack([SLOW, SLOW[:, 0]])}, "linearly dependent, of rank 20"),
        ({"W": np.full((576, 1), np.nan)}, "not finite"),
        ({"W": SLOW.astype(complex)}, "complex"),
        ({"b": B[:5]}, "expected b as 576"),
        ({"b": np.full(576, np.inf)}, "b holds 576 values"),
        ({"M": sp.eye_array(5)}, "expected M of shape"),
        ({"A": A[:, :5]}, "square"),
        ({"A": "a matrix"}, "got str"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, message):
    given = {"A": A, "b": B, "W": SLOW} | change
    with pytest.raises(InvalidInput, match=message):
        deflated_cg(given.pop("A"), given.pop("b"), given.pop("W"), **given)


def test_operators_count_one_product_per_iteration():
    calls = []
    counted = LinearOperator(A.shape, matvec=lambda x: (calls.append(0), A @ x)[1], dtype=float)
    space = CoarseSpace(counted, SLOW)
    calls.clear()
    _, info = deflated_cg(counted, B, space)
    assert info.iterations <= len(calls) <= info.iterations + 4


def test_a_coarse_space_of_another_matrix_is_refused():
    A = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(50, 50)).tocsr()
    space = CoarseSpace(A, np.eye(50)[:, :3])
    _, info = deflated_cg(A.copy(), np.ones(50), space)
    assert info.converged
    with pytest.raises(InvalidInput, match="another matrix"):
        deflated_cg(2 * A, np.ones(50), space)
    with pytest.raises(InvalidInput, match="another matrix"):
        DeflatedPreconditioner(2 * A, space)
