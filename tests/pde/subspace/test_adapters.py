import numpy as np
import pyamg
import pytest
import scipy.sparse as sp
from pymor.models.basic import StationaryModel
from pymor.operators.numpy import NumpyMatrixOperator
from scipy.linalg import subspace_angles
from scipy.sparse.linalg import LinearOperator, cg, gcrotmk

from firstlight.errors import InvalidInput
from firstlight.pde.subspace import (
    BlockMultigrid,
    amg_candidates,
    galerkin_solve,
    gcrotmk_vectors,
    petsc_arrays,
    pymor_reductor,
)
from firstlight.pde.subspace.problems import CompositeProblem, FlattopProblem

SAMPLE = FlattopProblem(cells=32, n_vectors=10).sample(0)
A, V = SAMPLE.matrix, SAMPLE.basis()
B = np.random.default_rng(0).normal(size=A.shape[0])


def amg_steps(matrix, candidates):
    solver = pyamg.smoothed_aggregation_solver(matrix, B=candidates)
    steps = []
    b = np.random.default_rng(0).normal(size=matrix.shape[0])
    cg(matrix, b, rtol=1e-8, M=solver.aspreconditioner(), callback=lambda _: steps.append(0))
    return len(steps)


def test_gcrot_with_recycled_vectors_needs_fewer_products():
    def products(**recycled):
        calls = []
        counted = LinearOperator(A.shape, matvec=lambda x: (calls.append(0), A @ x)[1], dtype=float)
        _, failed = gcrotmk(counted, B, rtol=1e-8, maxiter=200, **recycled)
        assert failed == 0
        return len(calls)

    assert products(CU=gcrotmk_vectors(V), k=10) < 0.8 * products()


def test_candidates_span_what_was_predicted_in_the_order_of_their_energies():
    candidates = amg_candidates(A, V @ np.random.default_rng(1).normal(size=(10, 10)))
    assert subspace_angles(candidates, V).max() < 1e-7
    energies = np.einsum("ij,ij->j", candidates, A @ candidates)
    assert (np.diff(energies) > 0).all()
    np.testing.assert_allclose(np.einsum("ij,ij->j", candidates, A.diagonal()[:, None] * candidates), 1)
    assert subspace_angles(amg_candidates(A, V, 3), V)[0] < 1e-7


def test_slow_modes_of_a_composite_halve_the_steps_that_rigid_bodies_take():
    problem = CompositeProblem(cells=12, n_vectors=6)
    sample = problem.sample(0)
    steps = {
        name: amg_steps(sample.matrix, candidates)
        for name, candidates in {
            "ones": np.ones((sample.matrix.shape[0], 1)),
            "rigid": problem.rigid_body_modes(),
            "modes": amg_candidates(sample.matrix, sample.basis()),
        }.items()
    }
    assert steps["modes"] <= 0.6 * steps["rigid"] < 0.6 * steps["ones"]


def test_a_clamped_body_wants_candidates_on_its_free_unknowns():
    elastic, rigid = pyamg.gallery.linear_elasticity((14, 14))
    free = np.ones(len(rigid), bool)
    free[:28] = False
    clamped = sp.csr_matrix(elastic)[free][:, free]
    assert amg_steps(clamped, amg_candidates(clamped, rigid[free])) < amg_steps(clamped, np.ones((364, 1)))
    with pytest.raises(InvalidInput, match=r"392 rows and the matrix 364.*W\[free\]"):
        amg_candidates(clamped, rigid)
    with pytest.raises(InvalidInput, match="turned: pass its transpose"):
        amg_candidates(clamped, rigid[free].T)
    with pytest.raises(InvalidInput, match=r"A\[free\]"):
        amg_candidates(elastic, rigid[free])


def test_multigrid_on_blocks_is_a_symmetric_definite_preconditioner_half_as_good_as_pyamgs():
    hierarchy = pyamg.smoothed_aggregation_solver(A)
    M = BlockMultigrid(hierarchy)
    dense = M @ np.eye(A.shape[0])
    np.testing.assert_allclose(dense, dense.T, atol=1e-12)
    assert np.linalg.eigvalsh(dense).min() > 0
    np.testing.assert_allclose(M @ B, dense @ B)
    steps = {}
    for name, preconditioner in {"ours": M, "pyamg": hierarchy.aspreconditioner()}.items():
        count = []
        cg(A, B, rtol=1e-8, M=preconditioner, callback=lambda _, count=count: count.append(0))
        steps[name] = len(count)
    assert steps["ours"] <= 2 * steps["pyamg"]


def test_multigrid_takes_hierarchies_only():
    with pytest.raises(InvalidInput, match="got csr_array"):
        BlockMultigrid(A)


def test_a_pymor_model_reduced_to_a_prediction_is_the_galerkin_solution():
    fom = StationaryModel(NumpyMatrixOperator(A.tocsc()), NumpyMatrixOperator(B[:, None]))
    reductor = pymor_reductor(fom, V)
    solution = reductor.reconstruct(reductor.reduce().solve())
    np.testing.assert_allclose(solution.to_numpy().ravel(), galerkin_solve(A, B, V)[0], atol=1e-10)
    with pytest.raises(InvalidInput, match="the matrix 1024"):
        pymor_reductor(fom, V[:50])


def test_a_pymor_basis_is_orthonormal_in_the_product_given():
    fom = StationaryModel(NumpyMatrixOperator(A.tocsc()), NumpyMatrixOperator(B[:, None]))
    reductor = pymor_reductor(fom, V + 0.01 * np.random.default_rng(3).normal(size=V.shape), product=fom.operator)
    np.testing.assert_allclose(reductor.bases["RB"].gramian(fom.operator), np.eye(10), atol=1e-10)


def test_petsc_rows_make_an_orthonormal_basis_of_the_span():
    pointers, columns, values = petsc_arrays(3 * V)
    assert pointers.dtype == columns.dtype == np.int32
    basis = sp.csr_array((values, columns, pointers), shape=V.shape).toarray()
    np.testing.assert_allclose(basis.T @ basis, np.eye(10), atol=1e-12)
    assert subspace_angles(basis, V).max() < 1e-7
