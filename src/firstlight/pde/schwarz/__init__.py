"""Local solvers, exact or learned, joined by Schwarz's method into solutions on any mesh, with certificates.

Under construction: what is here works and is tested; there are no shipped weights, commands and claims yet.
"""

from firstlight.pde.schwarz.decomposition import Decomposition
from firstlight.pde.schwarz.local_operators import ExactLocal, LocalMap, LocalOperator
from firstlight.pde.schwarz.meshes import read_mesh
from firstlight.pde.schwarz.solver import HeatSolution, SchwarzSolver, Solution

__all__ = [
    "Decomposition",
    "ExactLocal",
    "HeatSolution",
    "LocalMap",
    "LocalOperator",
    "SchwarzSolver",
    "Solution",
    "read_mesh",
]
