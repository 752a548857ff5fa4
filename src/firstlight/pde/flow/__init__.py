"""Continuous-time dynamics from snapshots at irregular times, without differentiating through a solver."""

from firstlight.pde.flow.backbones import FNO, MLP, UNO, UNet
from firstlight.pde.flow.baselines import Autoregressive, NeuralODE, Persistence
from firstlight.pde.flow.flow_operator import FlowOperator
from firstlight.pde.flow.reversal import IllPosedReversal, Reversal
from firstlight.pde.flow.rollout import Rollout, relative_error
from firstlight.pde.flow.temporal_spline import TemporalSpline
from firstlight.pde.flow.training import fit
from firstlight.pde.flow.trajectories import Trajectories

__all__ = [
    "FNO",
    "MLP",
    "UNO",
    "Autoregressive",
    "FlowOperator",
    "IllPosedReversal",
    "NeuralODE",
    "Persistence",
    "Reversal",
    "Rollout",
    "TemporalSpline",
    "Trajectories",
    "UNet",
    "fit",
    "relative_error",
]
