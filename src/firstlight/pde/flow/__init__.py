"""Continuous-time dynamics from snapshots at irregular times, without differentiating through a solver.

For whoever has trajectories of a simulation or an experiment, in HDF5, netCDF or zarr, with output times that are not
equally spaced, and wants a surrogate in PyTorch that can be asked at any time, or run backwards. A smooth path is laid
through each trajectory, and a network is trained on the velocities of these paths (Hou, Huang & Perdikaris,
*CFO: Learning Continuous-Time PDE Dynamics via Flow-Matched Neural Operators*, ICLR 2026, arXiv 2512.05297). What comes
out is a function ``f(t, u)`` for ``torchdiffeq.odeint``, or for its own ``predict``.

Rotation at unit speed, from 12 frames at random times:

>>> import torch
>>> from firstlight.pde.flow import FlowOperator, TemporalSpline
>>> t = torch.cat([torch.zeros(1), torch.rand(11, generator=torch.Generator().manual_seed(0)).sort().values * 3])
>>> u = torch.stack([t.cos(), t.sin()], dim=1).double()
>>> path = TemporalSpline.fit(t, u, kind="c4")
>>> points = path.sample(500, torch.Generator().manual_seed(0))
>>> model = FlowOperator(torch.nn.Linear(2, 2, bias=False).double(), channels=2, grid=())
>>> model.backbone.weight.data = torch.linalg.lstsq(points.u, points.v).solution.T
>>> rollout = model.predict(u[:1], t=[0.0, 0.5, torch.pi], nfe=200)
>>> rollout.u[-1].round(decimals=1)
tensor([[-1.,  0.]], dtype=torch.float64)

The shipped models know Lorenz's system, Burgers' equation, diffusion–reaction and shallow water:
``FlowOperator.from_pretrained("burgers").predict(u0, t)``.
"""

from typing import TYPE_CHECKING, Any

from firstlight.pde.flow.backbones import FNO, MLP, UNO, UNet
from firstlight.pde.flow.baselines import Autoregressive, NeuralODE, Persistence
from firstlight.pde.flow.evaluation import Evaluation, evaluate
from firstlight.pde.flow.flow_operator import FlowOperator
from firstlight.pde.flow.reversal import IllPosedReversal, Reversal
from firstlight.pde.flow.rollout import Rollout, relative_error
from firstlight.pde.flow.saved_models import load_model, save_model
from firstlight.pde.flow.temporal_spline import TemporalSpline
from firstlight.pde.flow.trajectories import Trajectories

if TYPE_CHECKING:
    from firstlight.pde.flow.training import fit

__all__ = [
    "FNO",
    "MLP",
    "UNO",
    "Autoregressive",
    "Evaluation",
    "FlowOperator",
    "IllPosedReversal",
    "NeuralODE",
    "Persistence",
    "Reversal",
    "Rollout",
    "TemporalSpline",
    "Trajectories",
    "UNet",
    "evaluate",
    "fit",
    "load_model",
    "relative_error",
    "save_model",
]


def __getattr__(name: str) -> Any:
    if name != "fit":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Lightning is loaded when training is asked for: it takes seconds, and whoever only uses a model may not have it.
    from firstlight.pde.flow.training import fit

    return fit


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
