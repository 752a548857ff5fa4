"""A model run backwards over frames that are known, so that its error can be seen growing."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float64
from torch import Tensor

from firstlight.errors import InvalidInput
from firstlight.pde.flow.evaluation import batches
from firstlight.pde.flow.integrators import Method
from firstlight.pde.flow.reversal import Reversal
from firstlight.pde.flow.trajectories import Trajectories
from firstlight.pictures import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TIMES_WITHOUT_FRAMES = 11


@dataclass(frozen=True)
class ReversedFrames:
    """States followed back from last frames, and how far they are from the frames that stand there.

    Attributes
    ----------
    reversal : the states, with what is known of their errors without the frames.
    errors : relative L² error at each time, in the mean over the trajectories; nan before the first frame.
    """

    reversal: Reversal
    errors: Float64[Tensor, " times"]

    def rows(self) -> list[dict[str, float]]:
        """Give time gone back, amplification and error, one row per time, for a table."""
        back = self.reversal.t[0] - self.reversal.t
        columns = zip(back.tolist(), self.reversal.amplification.tolist(), self.errors.tolist(), strict=True)
        return [{"time back": b, "amplification": a, "error": e} for b, a, e in columns]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the error against the time gone back, beside the growth of the first error.

        Parameters
        ----------
        ax : matplotlib axes; new ones unless given.
        """
        ax = axes_or_new(ax)
        back = (self.reversal.t[0] - self.reversal.t).numpy()
        ax.semilogy(back[1:], self.errors[1:], "o-", label="error")
        grown = self.errors[1] * self.reversal.amplification / self.reversal.amplification[1]
        ax.semilogy(back[1:], grown[1:], "--", label="first error, grown at the predicted rate")
        ax.set(xlabel="time gone back", ylabel="relative L² error")
        ax.legend()
        return ax


def reverse_errors(
    model: Any, trajectories: Trajectories, back: float, *, method: Method = "rk4", nfe: int | None = None
) -> ReversedFrames:
    """Follow a velocity field back from the last frames, over the frames before.

    Parameters
    ----------
    model : a `FlowOperator`.
    trajectories : of these the largest group that shares its times is taken.
    back : how long to go back. Where that is before the first frame, states are given at equal steps, without errors.
    method, nfe : as in `FlowOperator.predict`.

    Raises
    ------
    InvalidInput
        If `back` is not positive, or the model has no velocity to run backwards.
    """
    if not back > 0:
        raise InvalidInput(f"expected a positive time to go back, got {back}")
    if not hasattr(model, "reverse"):
        raise InvalidInput(
            f"{type(model).__name__} steps from frame to frame and cannot run backwards; fit a flow model"
        )
    _, t, u = max(batches(trajectories), key=lambda group: len(group[0]))
    known = (t >= t[-1] - back * (1 + 1e-9)).nonzero()[:, 0].flip(0)
    if back <= float(t[-1] - t[0]) * (1 + 1e-9) and len(known) > 1:
        made = model.reverse(u[-1], t[known], method=method, nfe=nfe)
        wrong, right = ((x.double()).flatten(2).norm(dim=2) for x in (made.u.to(u) - u[known], u[known]))
        return ReversedFrames(made, torch.nan_to_num((wrong / right).mean(1), nan=torch.inf, posinf=torch.inf))
    times = torch.linspace(float(t[-1]), float(t[-1]) - back, TIMES_WITHOUT_FRAMES, dtype=torch.float64)
    made = model.reverse(u[-1], times, method=method, nfe=nfe)
    return ReversedFrames(made, torch.full_like(times, torch.nan))
