"""Problems with solvers that can be trusted: where training data and the truth about a rollout come from.

>>> from firstlight.pde.flow.problems import Burgers, simulate
>>> simulation = simulate(Burgers(points=64), n=3, seed=0)
>>> simulation.states.shape  # trajectories, frames, channels, points
(3, 101, 1, 64)
"""

from collections.abc import Mapping

from firstlight.pde.flow.problems.burgers import Burgers
from firstlight.pde.flow.problems.diffusion_reaction import DiffusionReaction
from firstlight.pde.flow.problems.kolmogorov import Kolmogorov
from firstlight.pde.flow.problems.kuramoto_sivashinsky import KuramotoSivashinsky
from firstlight.pde.flow.problems.lorenz import Lorenz
from firstlight.pde.flow.problems.problem import Problem
from firstlight.pde.flow.problems.shallow_water import ShallowWater
from firstlight.pde.flow.problems.simulation import Simulation, simulate

__all__ = [
    "PROBLEMS",
    "Burgers",
    "DiffusionReaction",
    "Kolmogorov",
    "KuramotoSivashinsky",
    "Lorenz",
    "Problem",
    "ShallowWater",
    "Simulation",
    "simulate",
]

# By name, as the command line and the shipped weights call them.
PROBLEMS: Mapping[str, type[Problem]] = {
    kind.name: kind for kind in (Lorenz, Burgers, DiffusionReaction, ShallowWater, KuramotoSivashinsky, Kolmogorov)
}
