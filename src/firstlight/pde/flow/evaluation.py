"""Models held against trajectories they have not seen: error, cost, and what should be conserved."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from firstlight.errors import InvalidInput
from firstlight.pde.flow.rollout import relative_error
from firstlight.pde.flow.trajectories import Trajectories


@dataclass(frozen=True)
class Evaluation:
    """How a model does on trajectories, followed from their first frames over all their times.

    Attributes
    ----------
    errors : relative L² error of each trajectory, the first frame not counted.
    mean_drift : largest change of a channel's mean over the grid, less the truth's own change, in units of the root
        mean square of the truth; what is conserved should have none.
    evaluations : of the network per frame.
    seconds : by the clock, per trajectory.
    """

    errors: Float64[np.ndarray, " trajectories"]
    mean_drift: float
    evaluations: float
    seconds: float


def evaluate(model: Any, trajectories: Trajectories, **options: Any) -> Evaluation:
    """Follow a model from the first frame of each trajectory over all its times.

    Parameters
    ----------
    model : anything with ``predict(u0, t)``.
    trajectories : those with the same times are followed together.
    **options : passed to ``predict``: for a `FlowOperator` ``method`` and ``nfe``.
    """
    errors = np.empty(len(trajectories))
    evaluations = seconds = drift = 0.0
    for rows, t, u in batches(trajectories):
        began = time.perf_counter()
        rollout = model.predict(u[0], t, **options)
        seconds += time.perf_counter() - began
        evaluations += len(rows) * rollout.evaluations / max(1, len(t) - 1)
        errors[rows] = relative_error(rollout.u.to(u), u).numpy()
        drift = max(drift, _mean_drift(rollout.u.to(u), u))
    return Evaluation(errors, drift, evaluations / len(trajectories), seconds / len(trajectories))


def batches(trajectories: Trajectories) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Trajectories that share their times, as indices, times, and frames (times, batch, channels, *grid).

    Raises
    ------
    InvalidInput
        If a trajectory has one frame only.
    """
    groups: dict[bytes, list[int]] = {}
    for b, t in enumerate(trajectories.t):
        if len(t) < 2:
            raise InvalidInput(f"trajectory {trajectories.names[b]} has one frame; there is nothing to predict")
        groups.setdefault(t.numpy().tobytes(), []).append(b)
    for rows in groups.values():
        yield rows, trajectories.t[rows[0]], torch.stack([trajectories.u[b] for b in rows], dim=1)


def _mean_drift(predicted: Tensor, truth: Tensor) -> float:
    if truth.ndim < 4:
        return 0.0  # states without a grid have no mean over it
    means = (predicted - truth).double().flatten(3).mean(3)
    size = truth.double().square().transpose(0, 2).flatten(1).mean(1).sqrt()
    return float(torch.nan_to_num((means.abs() / size.clamp_min(1e-300)).max(), nan=torch.inf))
