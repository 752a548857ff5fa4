"""Predicted subspaces for solvers that meet one family of operators many times.

For whoever solves the same partial differential equation with ever new coefficients, in SciPy, PyAMG, pyMOR or PETSc:
uncertainty quantification, design, structural modes. A regressor learns from solved problems which few directions
matter (lowest eigenvectors, POD modes of a solution, slow modes of a smoother) and predicts them for a new coefficient,
p columns for k wanted ones, p ≥ k (Fanaskov, Trifonov, Rudikov, Muravleva, Oseledets: *Deep learning for subspace
regression*, ICLR 2026). The solver that takes them (`warm_eigsh`, `deflated_cg`, `two_grid`, `galerkin_solve`) is exact
whatever was predicted, and says what it proved. Classical predictors with the same interface stand beside the network:
one constant basis (`GlobalPOD`) and interpolation between subspaces (`GrassmannInterpolator`).

>>> import numpy as np
>>> from firstlight.pde.subspace import GlobalPOD, principal_angles, warm_eigsh
>>> from firstlight.pde.subspace.problems import FlattopProblem, generate
>>> problem = FlattopProblem(cells=16, n_vectors=4)
>>> solved = generate(problem, 40)
>>> model = GlobalPOD(out_dim=12).fit(solved.fields, solved.bases)
>>> new = problem.sample(1000)
>>> W = model.predict(new.field)
>>> W.shape, bool(np.degrees(principal_angles(W, new.basis())).max() < 60)
((256, 12), True)
>>> values, vectors, info = warm_eigsh(new.matrix, 4, W, certify=True)
>>> info.converged, info.lowest, bool(np.allclose(values, new.eigenpairs[0]))
(True, 'proved', True)

`SubspaceRegressor` in place of `GlobalPOD` trains a network, and ``SubspaceRegressor.from_pretrained("flattop")`` is
one for these coefficients on 32 × 32 points.
"""

from firstlight.pde.subspace.adapters import (
    BlockMultigrid,
    amg_candidates,
    gcrotmk_vectors,
    petsc_arrays,
    pymor_reductor,
)
from firstlight.pde.subspace.angles import plot_angles, principal_angles, projection_error
from firstlight.pde.subspace.coarse_space import CoarseSpace, SingularCoarseMatrix
from firstlight.pde.subspace.columns import independent
from firstlight.pde.subspace.deflation import DeflatedPreconditioner, DeflationInfo, deflated_cg
from firstlight.pde.subspace.eigensolvers import EigenInfo, warm_eigsh
from firstlight.pde.subspace.estimators import SubspaceWarning
from firstlight.pde.subspace.galerkin import GalerkinInfo, galerkin_solve
from firstlight.pde.subspace.global_pod import GlobalPOD
from firstlight.pde.subspace.grassmann import GrassmannInterpolator
from firstlight.pde.subspace.grids import on_grid
from firstlight.pde.subspace.losses import stochastic_loss, subspace_loss
from firstlight.pde.subspace.regressor import SubspaceRegressor
from firstlight.pde.subspace.two_grid import TwoGridInfo, two_grid, two_grid_radius

__all__ = [
    "BlockMultigrid",
    "CoarseSpace",
    "DeflatedPreconditioner",
    "DeflationInfo",
    "EigenInfo",
    "GalerkinInfo",
    "GlobalPOD",
    "GrassmannInterpolator",
    "SingularCoarseMatrix",
    "SubspaceRegressor",
    "SubspaceWarning",
    "TwoGridInfo",
    "amg_candidates",
    "deflated_cg",
    "galerkin_solve",
    "gcrotmk_vectors",
    "independent",
    "on_grid",
    "petsc_arrays",
    "plot_angles",
    "principal_angles",
    "projection_error",
    "pymor_reductor",
    "stochastic_loss",
    "subspace_loss",
    "two_grid",
    "two_grid_radius",
    "warm_eigsh",
]
