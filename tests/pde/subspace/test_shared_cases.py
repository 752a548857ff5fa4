"""Situations met in public with today's tools; the same are rebuilt in the tests beside this one."""

import json
from pathlib import Path

import numpy as np
import pyamg
import pytest
import scipy.sparse as sp
from scipy.io import mmread
from scipy.sparse.linalg import LinearOperator, cg

from firstlight.errors import InvalidInput
from firstlight.pde.subspace import (
    BlockMultigrid,
    DeflatedPreconditioner,
    SingularCoarseMatrix,
    amg_candidates,
    deflated_cg,
    warm_eigsh,
)

CASES = Path(__file__).parents[4] / "shared" / "cases" / "19"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here")


def truth(case):
    return json.loads((CASES / "truth.json").read_text())[case]


@pytest.mark.parametrize("multigrid", [False, True])
def test_19_01_a_start_without_two_of_the_wanted_vectors(multigrid):
    A = mmread(CASES / "19-01-A.mtx").tocsr()
    M = BlockMultigrid(pyamg.smoothed_aggregation_solver(A)) if multigrid else None
    values, _, info = warm_eigsh(A, 4, np.load(CASES / "19-01-X0.npy"), M=M)
    np.testing.assert_allclose(values, truth("19-01")["lowest"], rtol=1e-8)
    assert info.lowest == "probed"


def test_19_03_more_values_than_rank():
    factor = np.load(CASES / "19-03-gram-factor.npz")["B"]
    gram = LinearOperator((200, 200), matvec=lambda x: factor @ (factor.T @ x), dtype=float)
    values, _, _ = warm_eigsh(gram, 12, np.random.default_rng(0).normal(size=(200, 12)), largest=True)
    np.testing.assert_allclose(values, truth("19-03")["largest"], atol=1e-9 * values[0])


def test_19_07_pure_neumann():
    A, given = mmread(CASES / "19-07-neumann.mtx").tocsr(), np.load(CASES / "19-07-vectors.npz")
    W = np.delete(given["W"], 0, axis=1)
    x, info = deflated_cg(A, given["b_compatible"], W)
    assert info.converged
    assert np.linalg.norm(x) == pytest.approx(truth("19-07")["norm_x"], rel=1e-6)
    assert abs(x.mean()) < 1e-12
    with pytest.raises(InvalidInput, match=r"mean is 0\.1335"):
        deflated_cg(A, given["b_incompatible"], W)
    with pytest.raises(SingularCoarseMatrix, match="drop column 0"):
        deflated_cg(A, given["b_compatible"], given["W"])


def test_19_09_candidates_of_a_clamped_body():
    full, given = mmread(CASES / "19-09-elastic.mtx").tocsr(), np.load(CASES / "19-09-candidates.npz")
    free = given["free"]
    A, B = full[free][:, free], given["B"]
    for wrong in (B, B[free].T):
        with pytest.raises(InvalidInput, match="364"):
            amg_candidates(A, wrong)
    with pytest.raises(InvalidInput, match="392 rows"):
        DeflatedPreconditioner(full, B[free])
    steps = []
    solver = pyamg.smoothed_aggregation_solver(A, B=amg_candidates(A, B[free]))
    cg(A, given["b"], rtol=1e-8, M=solver.aspreconditioner(), callback=lambda _: steps.append(0))
    assert len(steps) <= truth("19-09")["amg_cg_iterations_1e-8"]["rigid"]


def test_19_13_a_tiny_pencil_in_single_precision():
    given = np.load(CASES / "19-13-tiny.npz")
    values, _, _ = warm_eigsh(given["A"], 4, given["X"], B=given["M"])
    np.testing.assert_allclose(values, truth("19-13")["lowest_4"], rtol=1e-6)
    with pytest.raises(InvalidInput, match="turned"):
        warm_eigsh(given["A"], 4, given["X_transposed"], B=given["M"])


def test_19_15_an_exact_inverse_as_preconditioner():
    d = np.load(CASES / "19-15-diagonal.npy")
    A, X = sp.diags_array(d).tocsr(), np.random.default_rng(0).normal(size=(len(d), 5))
    np.testing.assert_allclose(warm_eigsh(A, 5, X, M=sp.diags_array(1 / d))[0], truth("19-15")["lowest_5"], rtol=1e-8)
    with pytest.raises(InvalidInput, match="leave it out"):
        warm_eigsh(A, 5, X, M=sp.diags_array(1 / d), largest=True)
    np.testing.assert_allclose(warm_eigsh(A, 5, X, largest=True)[0], truth("19-15")["largest_5"], rtol=1e-8)
    with pytest.warns(RuntimeWarning, match="no convergence"):
        _, _, info = warm_eigsh(A.astype(np.float32), 5, X.astype(np.float32), maxiter=100)
    assert info.residuals.min() > 1e-3
