"""
Start a solver from a predicted subspace
========================================

Who solves one equation for many coefficients knows a good deal about the next solution before it is computed. Here a
network has learned which space the lowest eigenvectors span; an eigensolver starts there, and its answer is checked.
"""

import numpy as np
import pyamg
from matplotlib import pyplot as plt
from scipy.sparse.linalg import cg

from firstlight.pde.subspace import (
    BlockMultigrid,
    GlobalPOD,
    GrassmannInterpolator,
    SubspaceRegressor,
    deflated_cg,
    on_grid,
    plot_angles,
    principal_angles,
    warm_eigsh,
)
from firstlight.pde.subspace.problems import FlattopProblem, generate

# %%
# The family: -div(a grad u) = λ u on the unit square, where a jumps between plateaus of 1 and 50 at random places. The
# first 100 samples are for the predictors that need no training; the one numbered 1,000,000 is new to all.

problem = FlattopProblem(cells=32, n_vectors=10)
known = generate(problem, 100)
new = problem.sample(1_000_000)

# %%
# Three predictors with the same interface. The network ships with the package; the first 10, the first 20 and all 40 of
# its columns are each made to hold the 10 wanted vectors.

model = SubspaceRegressor.from_pretrained("flattop")
W = model.predict(new.field)
predictions = {
    "nearest neighbour, 10 columns": GrassmannInterpolator(method="nearest").fit(known.fields, known.bases),
    "one basis for all, 20 columns": GlobalPOD(out_dim=20).fit(known.fields, known.bases),
}
spaces = {name: predictor.predict(new.field) for name, predictor in predictions.items()}
spaces |= {f"network, {p} columns": W[:, :p] for p in (10, 20, 40)}
for name, space in spaces.items():
    print(f"{name:30} largest angle {np.degrees(principal_angles(space, new.basis())[0]):5.1f}°")

# %%
# The same coefficient on a grid four times as fine in each direction, which the network has never seen. Its prediction
# is carried over by splines. LOBPCG with algebraic multigrid takes it from there; inertia proves that nothing lower was
# missed.

fine = FlattopProblem(cells=128, n_vectors=10).sample(1_000_000)
multigrid = BlockMultigrid(pyamg.smoothed_aggregation_solver(fine.matrix))
rng = np.random.default_rng(0)
starts = {"random": rng.normal(size=(128**2, 20)), "predicted": on_grid(W[:, :20], (32, 32), (128, 128))}
for name, start in starts.items():
    values, vectors, info = warm_eigsh(fine.matrix, 10, start, M=multigrid, certify=True)
    print(f"{name:10} {info.iterations} steps, error bound {info.errors.max():.0e}, lowest: {info.lowest}")

# %%
# Conjugate gradients can be kept out of the space of slow modes, predicted or exact. Where algebraic multigrid works,
# as it does here, it needs no such help.


def iterations(preconditioner=None):
    """Count what SciPy's conjugate gradients take to a residual of 1e-8."""
    steps = []
    cg(A, b, rtol=1e-8, M=preconditioner, callback=steps.append)
    return len(steps)


A, b = new.matrix, rng.normal(size=32**2)
print(f"plain: {iterations()} iterations")
for name, space in (("40 predicted columns", W), ("10 exact eigenvectors", new.basis())):
    x, info = deflated_cg(A, b, space)
    print(f"deflated by {name}: {info.iterations} iterations, true residual {info.residual:.0e}")
print(f"multigrid: {iterations(pyamg.smoothed_aggregation_solver(A).aspreconditioner())} iterations")

# %%
# The angles in one picture. Redundant columns are what brings them down.

ax = plt.figure(figsize=(6.4, 4.4), layout="constrained").subplots()
plot_angles({name: principal_angles(space, new.basis()) for name, space in spaces.items()}, ax)
plt.show()
