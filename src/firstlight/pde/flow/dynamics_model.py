"""What is the same in all models of dynamics: standardised states, refused shapes, the saved configuration."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from firstlight.errors import InvalidInput
from firstlight.pde.flow.backbones import Unknown, describe, rebuild, without_metadata
from firstlight.pretrained import Pretrained

CODERS = {nn.Module: (describe, rebuild)}  # a backbone goes into config.json as its class and arguments


class DynamicsModel(Pretrained, coders=CODERS):
    """A backbone that sees standardised states.

    Attributes
    ----------
    u_mean, u_scale : mean and standard deviation of each channel in training.
    rate_scale : what one unit of the backbone's output means, per channel.
    spacing : mean time between frames in training.
    """

    u_mean: Float[Tensor, " channels"]
    u_scale: Float[Tensor, " channels"]
    rate_scale: Float[Tensor, " channels"]
    spacing: Float[Tensor, ""]

    def __init__(self, backbone: nn.Module, channels: int, grid: Sequence[int] | None) -> None:
        super().__init__()
        if isinstance(backbone, Unknown):
            raise InvalidInput(
                f"it was saved with a backbone of the class {backbone.kind}, which is not ours to rebuild; "
                f"pass one: from_pretrained(folder, backbone=…)"
            )
        self.register_state_dict_post_hook(without_metadata)
        self.backbone, self.channels = backbone, channels
        self.grid = None if grid is None else tuple(grid)
        for name in ("u_scale", "rate_scale"):
            self.register_buffer(name, torch.ones(channels))
        self.register_buffer("u_mean", torch.zeros(channels))
        self.register_buffer("spacing", torch.ones((), dtype=torch.float64))

    def learn_states(self, frames: Float[Tensor, "frames channels *grid"]) -> None:
        """Take mean and deviation of each channel from frames; a channel that never changes counts as of size 1."""
        self.check_state(frames)
        by_channel = frames.double().transpose(0, 1).flatten(1)
        self.u_mean.copy_(by_channel.mean(1))
        self.u_scale.copy_(_positive(by_channel.std(1, correction=0)))

    def learn_rates(self, rates: Float[Tensor, "points channels *grid"]) -> None:
        """Take the root mean square of each channel as the unit of the backbone's output."""
        self.rate_scale.copy_(_positive(rates.double().transpose(0, 1).flatten(1).square().mean(1).sqrt()))

    def standardised(self, u: Float[Tensor, "batch channels *grid"]) -> Float[Tensor, "batch channels *grid"]:
        """States with mean 0 and deviation 1 in each channel."""
        return (u - self.by_channel(self.u_mean, u)) / self.by_channel(self.u_scale, u)

    def by_channel(self, values: Float[Tensor, " channels"], u: Tensor) -> Tensor:
        """Values of the channels in the shape and precision that goes with states."""
        return values.to(u.dtype).view(-1, *[1] * (u.ndim - 2))

    def initial(self, u0: Tensor | np.ndarray) -> Float[Tensor, "batch channels *grid"]:
        """Bring initial states into the precision and onto the device of the weights.

        Raises
        ------
        InvalidInput
            If shapes do not fit the model, or a state is not finite.
        """
        state = self.in_own_precision(torch.as_tensor(u0))
        self.check_state(state)
        if not bool(state.isfinite().all()):
            raise InvalidInput("the initial state holds NaN or infinity")
        return state

    def in_own_precision(self, u: Tensor) -> Tensor:
        """Bring states into the precision and onto the device of the weights, of which some may be complex."""
        real = (weights for weights in self.backbone.parameters() if weights.is_floating_point())
        return u.to(next(real, self.u_mean))

    def check_state(self, u: Tensor) -> None:
        """Refuse states whose channels or grid are not the model's.

        Raises
        ------
        InvalidInput
            If they are not.
        """
        grid = "any grid" if self.grid is None else f"the grid {self.grid}"
        wrong_grid = self.grid is not None and tuple(u.shape[2:]) != self.grid
        if u.ndim < 2 or u.shape[1] != self.channels or wrong_grid:
            raise InvalidInput(
                f"expected states (batch, {self.channels} channels, …) on {grid}, got shape {tuple(u.shape)}; add the "
                f"batch with u[None], and move channels that are last to the second place"
            )


def _positive(scale: Tensor) -> Tensor:
    return torch.where(scale > 0, scale, torch.ones_like(scale))
