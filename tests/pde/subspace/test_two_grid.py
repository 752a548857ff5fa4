import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator, spsolve

from firstlight.errors import InvalidInput
from firstlight.pde.subspace import CoarseSpace, two_grid, two_grid_radius
from firstlight.pde.subspace.factorisations import shift_invert_eigsh
from firstlight.pde.subspace.problems import FlattopProblem
from firstlight.pde.subspace.two_grid import jacobi_radius

A = FlattopProblem(cells=16, n_vectors=1).sample(0).matrix
LAMBDA, SLOW = shift_invert_eigsh(A, 20, sp.diags_array(A.diagonal()).tocsc())


def dense_radii(omega=0.9):
    """Spectral radii of the smoother and of the two-grid cycle, from their dense matrices."""
    identity, matrix = np.eye(256), A.toarray()
    smoother = identity - omega * matrix / np.diag(matrix)[:, None]
    correction = identity - SLOW @ np.linalg.solve(SLOW.T @ matrix @ SLOW, SLOW.T @ matrix)
    return [np.abs(np.linalg.eigvals(T)).max() for T in (smoother, smoother @ correction @ smoother)]


def test_radius_is_that_of_the_dense_iteration_matrix():
    smoother, cycle = dense_radii()
    assert jacobi_radius(A, steps=1000) == pytest.approx(smoother, rel=1e-6)
    assert two_grid_radius(A, SLOW, steps=1000) == pytest.approx(cycle, rel=1e-6)


def test_every_cycle_shrinks_the_error_by_the_radius_at_least_in_the_energy_norm():
    exact = np.random.default_rng(0).normal(size=256)
    errors = []
    for cycles in (5, 6):
        x, _ = two_grid(A, A @ exact, SLOW, rtol=0.0, maxiter=cycles)
        errors.append(np.sqrt((x - exact) @ (A @ (x - exact))))
    assert errors[1] <= dense_radii()[1] * errors[0] * (1 + 1e-9)


def test_solution_is_that_of_a_direct_solver():
    b = np.random.default_rng(1).normal(size=256)
    for space in (SLOW, CoarseSpace(A, SLOW)):
        x, info = two_grid(A, b, space, rtol=1e-10)
        assert info.converged
        assert info.iterations == len(info.residuals) - 1
        np.testing.assert_allclose(x, spsolve(A.tocsc(), b), rtol=1e-7, atol=1e-9)


def test_a_larger_coarse_space_is_faster():
    radii = [two_grid_radius(A, SLOW[:, :k], steps=500) for k in (5, 10, 20)]
    assert radii[2] < radii[1] < radii[0] < jacobi_radius(A, steps=500)


def test_divergence_is_refused_with_the_mend():
    with pytest.raises(InvalidInput, match="lower it"):
        two_grid(A, np.ones(256), SLOW, omega=1.9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"A": aslinearoperator(A)}, "need the diagonal"),
        ({"A": A - 10 * sp.eye_array(256)}, "Jacobi needs a positive diagonal"),
        ({"b": np.ones(3)}, "expected b and x0"),
        ({"W": SLOW[:9]}, "more columns than rows|256 rows"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, message):
    given = {"A": A, "b": np.ones(256), "W": SLOW} | change
    with pytest.raises(InvalidInput, match=message):
        two_grid(**given)
