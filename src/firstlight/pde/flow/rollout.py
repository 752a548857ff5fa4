"""What following a model in time gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from firstlight.errors import InvalidInput
from firstlight.pictures import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

States = Tensor | np.ndarray
Times = Tensor | np.ndarray | Sequence[float | int]


@dataclass(frozen=True)
class Rollout:
    """States at the times asked for, in the units of the data.

    Attributes
    ----------
    t : the times.
    u : the states, in the order of ``torchdiffeq.odeint``.
    evaluations : of the network, each for the whole batch.
    """

    t: Float64[Tensor, " times"]
    u: Float[Tensor, "times batch channels *grid"]
    evaluations: int

    def plot(self, ax: "Axes | None" = None, *, sample: int = 0, channel: int = 0) -> "Axes":
        """Draw one channel of one sample: lines without a grid, space against time in 1-D, the last field in 2-D.

        Parameters
        ----------
        ax : matplotlib axes; new ones unless given.
        sample, channel : which.
        """
        ax = axes_or_new(ax)
        u = self.u[:, sample].detach().cpu()
        if u.ndim == 2:
            ax.plot(self.t.numpy(), u.numpy())
            ax.set(xlabel="time", ylabel="state")
        elif u.ndim == 3:
            edges = (0, u.shape[2], float(self.t[0]), float(self.t[-1]))
            image = ax.imshow(
                u[:, channel].numpy(), aspect="auto", origin="lower", extent=edges, interpolation="nearest"
            )
            ax.set(xlabel="grid point", ylabel="time")
            ax.figure.colorbar(image, ax=ax)
        else:
            image = ax.imshow(u[-1, channel].T.numpy(), origin="lower", interpolation="nearest")
            ax.set(xlabel="grid point along x", ylabel=f"along y, at t = {float(self.t[-1]):.4g}")
            ax.figure.colorbar(image, ax=ax)
        return ax


def relative_error(
    predicted: Float[Tensor, "times batch channels *grid"],
    truth: Float[Tensor, "times batch channels *grid"],
) -> Float64[Tensor, " batch"]:
    """Relative L² error of each trajectory, over times, channels and space, without the first frame.

    The first frame is given, not predicted; counting it in would only flatter. A state that is not finite makes the
    error infinite.

    Raises
    ------
    InvalidInput
        If shapes differ.
    """
    if predicted.shape != truth.shape:
        raise InvalidInput(f"prediction {tuple(predicted.shape)} and truth {tuple(truth.shape)} differ in shape")
    wrong, right = (x[1:].double().transpose(0, 1).flatten(1).norm(dim=1) for x in (predicted - truth, truth))
    return torch.nan_to_num(wrong / right, nan=torch.inf, posinf=torch.inf)


def query_times(t: Times) -> Float64[Tensor, " times"]:
    """Bring the times a model is asked for into double precision.

    Raises
    ------
    InvalidInput
        If there are none, or they neither all increase nor all decrease.
    """
    times = torch.as_tensor(t, dtype=torch.float64).cpu()
    if times.ndim != 1 or not len(times) or not bool(times.isfinite().all()):
        raise InvalidInput(f"expected a list of finite times that begins with the time of u0, got shape {times.shape}")
    steps = times.diff()
    if not bool((steps > 0).all() or (steps < 0).all()):
        raise InvalidInput("the times asked for must all increase, or all decrease; sort them and drop duplicates")
    return times
