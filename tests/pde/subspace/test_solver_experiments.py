import numpy as np

from firstlight.pde.subspace.reduction_experiments import control_errors
from firstlight.pde.subspace.solver_experiments import eigensolvers_in_space, multigrid_candidates


def by(rows, column):
    return {row[column]: row for row in rows}


def test_all_solvers_end_at_the_same_eigenvalues():
    rows = by(eigensolvers_in_space(10, 5, 1), "solver")
    assert max(row["largest error"] for row in rows.values()) < 1e-7
    assert rows["warm_eigsh, random"]["largest error"] < 1e-8
    assert all(row["seconds"] > 0 for row in rows.values())
    assert np.isnan(rows["scipy eigsh(sigma=0)"]["steps"])


def test_candidates_that_know_the_composite_save_steps():
    rows = by(multigrid_candidates(10, 2, count=5), "candidates")
    assert rows["5 slow modes"]["steps"] < rows["rigid bodies"]["steps"] < rows["ones"]["steps"]


def test_peers_stand_beside_the_prediction():
    rows = by(control_errors(20, 3, 2), "basis")
    error = {name: row["error of the state"] for name, row in rows.items()}
    assert error["exact, 10"] < min(error["predicted, 10"], error["global POD, 10"], error["nearest neighbour, 10"])
    assert error["global POD, 20"] < error["global POD, 10"]
