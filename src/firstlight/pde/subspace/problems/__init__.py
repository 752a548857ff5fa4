"""Families of problems, each solved many times: where the subspaces to be learned come from.

A family draws samples; a sample has the ``field`` that a network sees, the ``basis()`` of the wanted subspace from a
real solver, and what is needed to put a predicted subspace to use (``matrix``, ``system``, …).
"""

from firstlight.pde.subspace.problems.burgers import BurgersProblem, ConvectionProblem, EvolutionSample
from firstlight.pde.subspace.problems.elliptic import EllipticSample, FlattopProblem, diffusion_matrix
from firstlight.pde.subspace.problems.heat_control import HeatControlProblem, HeatControlSample
from firstlight.pde.subspace.problems.meshes import CompositeProblem, LShapeProblem, MeshSample
from firstlight.pde.subspace.problems.random_series import RandomSeries
from firstlight.pde.subspace.problems.samples import SubspaceData, generate, sample_seed
from firstlight.pde.subspace.problems.schrodinger import MorseProblem, MorseSample

__all__ = [
    "BurgersProblem",
    "CompositeProblem",
    "ConvectionProblem",
    "EllipticSample",
    "EvolutionSample",
    "FlattopProblem",
    "HeatControlProblem",
    "HeatControlSample",
    "LShapeProblem",
    "MeshSample",
    "MorseProblem",
    "MorseSample",
    "RandomSeries",
    "SubspaceData",
    "diffusion_matrix",
    "generate",
    "sample_seed",
]
