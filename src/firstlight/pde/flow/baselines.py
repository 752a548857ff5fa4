"""What a flow operator is measured against: models with the same backbone, trained and asked by the same calls."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from firstlight.errors import InvalidInput, MissingExtra
from firstlight.pde.flow.dynamics_model import CODERS, DynamicsModel
from firstlight.pde.flow.flow_operator import FlowOperator
from firstlight.pde.flow.rollout import Rollout, States, Times, query_times
from firstlight.pde.flow.trajectories import Trajectories

Target = Literal["state", "increment"]


class FrameWindows(NamedTuple):
    """Runs of neighbouring frames.

    Attributes
    ----------
    u : the frames.
    width : time from each to the next.
    """

    u: Float[Tensor, "batch frames channels *grid"]
    width: Float64[Tensor, "batch gaps"]


class WindowSampler:
    """Draws runs of so many neighbouring frames, each run in the data as likely as any other."""

    def __init__(self, trajectories: Trajectories, frames: int) -> None:
        self.u, self.t, self.frames = torch.cat(trajectories.u), torch.cat(trajectories.t), frames
        starts, begin = [], 0
        for t in trajectories.t:
            starts.append(begin + torch.arange(max(0, len(t) - frames + 1)))
            begin += len(t)
        self.starts = torch.cat(starts)
        if not len(self.starts):
            raise InvalidInput(f"no trajectory has the {frames} frames that one sample of the training takes")

    def draw(self, n: int) -> FrameWindows:
        """Runs of frames, from PyTorch's global generator of random numbers."""
        chosen = self.starts[torch.randint(len(self.starts), (n,))]
        rows = chosen[:, None] + torch.arange(self.frames)
        return FrameWindows(self.u[rows], self.t[rows].diff(dim=1))


class Autoregressive(DynamicsModel, coders=CODERS):
    """A map from one frame to the next, for frames that are equally spaced in time.

    Parameters
    ----------
    backbone, channels, grid : as in `FlowOperator`.
    target : what the backbone gives: the next ``"state"``, standardised, as in the paper's baseline; or the
        ``"increment"`` to it, in units of its own size, which is the stronger one where frames are close.
    pushforward : steps that are taken without gradient before the one that is trained, so that the model meets its own
        errors (Brandstetter, Worrall & Welling 2022).
    noise : deviation of the noise on the input in training, in standard deviations of each channel (Sanchez-Gonzalez
        et al. 2020).

    Raises
    ------
    InvalidInput
        If an option is not among those above.
    """

    def __init__(
        self,
        backbone: nn.Module,
        channels: int,
        *,
        grid: Sequence[int] | None = None,
        target: Target = "increment",
        pushforward: int = 0,
        noise: float = 0.0,
    ) -> None:
        super().__init__(backbone, channels, grid)
        if target not in ("state", "increment") or pushforward < 0 or noise < 0:
            raise InvalidInput(
                f"expected target 'state' or 'increment', and pushforward and noise of at least 0; got {target!r}, "
                f"{pushforward}, {noise}"
            )
        self.target, self.pushforward, self.noise = target, pushforward, noise

    def forward(self, u: Float[Tensor, "batch channels *grid"]) -> Float[Tensor, "batch channels *grid"]:
        """Next frame."""
        given = self.backbone(self.standardised(u))
        if self.target == "increment":
            return u + self.by_channel(self.rate_scale, u) * given
        return self.by_channel(self.u_mean, u) + self.by_channel(self.u_scale, u) * given

    def loss(self, batch: FrameWindows) -> Float[Tensor, ""]:
        """Mean squared error of the next frame, in units of what the backbone gives."""
        frames = self.in_own_precision(batch.u)
        u = frames[:, 0]
        u = u + self.noise * self.by_channel(self.u_scale, u) * torch.randn_like(u)
        with torch.no_grad():
            for _ in range(self.pushforward):
                u = self(u)
        unit = self.by_channel(self.rate_scale if self.target == "increment" else self.u_scale, u)
        return ((self(u) - frames[:, -1]) / unit).square().mean()

    def training_data(self, trajectories: Trajectories) -> WindowSampler:
        """Learn the scales of states and increments, and the time from frame to frame.

        Raises
        ------
        InvalidInput
            If the frames are not equally spaced.
        """
        step = trajectories.mean_spacing
        if any(not bool(torch.isclose(t.diff(), torch.tensor(step).double(), rtol=1e-3).all()) for t in trajectories.t):
            raise InvalidInput(
                "a map from frame to frame needs equally spaced frames, and these are not; interpolate them, or train "
                "a FlowOperator, which takes them as they are"
            )
        self.learn_states(torch.cat(trajectories.u))
        self.learn_rates(torch.cat([u.diff(dim=0) for u in trajectories.u]))
        self.spacing.fill_(step)
        return WindowSampler(trajectories, self.pushforward + 2)

    def predict(self, u0: States, t: Times) -> Rollout:
        """Follow states frame by frame; at times in between, on a straight line from frame to frame.

        Parameters
        ----------
        u0 : states (batch, channels, *grid) at ``t[0]``.
        t : increasing times.

        Raises
        ------
        InvalidInput
            If shapes do not fit, or times do not increase.
        """
        u, times = self.initial(u0), query_times(t)
        if len(times) > 1 and times[1] < times[0]:
            raise InvalidInput("a map from frame to frame cannot run backwards; give increasing times")
        positions = ((times - times[0]) / self.spacing).tolist()
        states: list[Tensor] = [u]
        n, following = 0, u
        with torch.no_grad():
            for position in positions[1:]:
                while position > n + 1e-6:
                    u, following, n = following, self(following), n + 1
                share = min(max(position - (n - 1), 0.0), 1.0)
                states.append(following if share > 1 - 1e-6 else torch.lerp(u, following, share))
        return Rollout(times, torch.stack(states), n)


class NeuralODE(FlowOperator, coders=CODERS):
    """The same velocity field, trained through a solver (Chen et al. 2018): frames are met, not velocities.

    Parameters
    ----------
    backbone, channels, grid : as in `FlowOperator`.
    window : segments between frames that are integrated in one piece.
    steps : of Runge and Kutta in each segment.
    """

    def __init__(
        self, backbone: nn.Module, channels: int, *, grid: Sequence[int] | None = None, window: int = 1, steps: int = 1
    ) -> None:
        super().__init__(backbone, channels, grid=grid)
        self.window, self.steps = window, steps

    def loss(self, batch: FrameWindows) -> Float[Tensor, ""]:  # type: ignore[override] - it is fed other batches
        """Mean squared error of the frames that follow the first, in units of the mean change from frame to frame.

        The samples of a batch have times of their own; on s with dt = width ds they share the integers.

        Raises
        ------
        MissingExtra
            If torchdiffeq is not installed.
        """
        try:
            from torchdiffeq import odeint
        except ModuleNotFoundError as error:
            raise MissingExtra("torchdiffeq", "pde") from error
        frames = self.in_own_precision(batch.u)
        u, states = frames[:, 0], []
        for gap in batch.width.T:
            width = gap.to(u.dtype).view(-1, *[1] * (u.ndim - 1))
            ends = torch.tensor([0.0, 1.0], dtype=u.dtype, device=u.device)
            options = {"step_size": 1 / self.steps}
            path: Any = odeint(lambda _, state, w=width: w * self(0.0, state), u, ends, method="rk4", options=options)
            u = path[-1]
            states.append(u)
        unit = self.by_channel(self.rate_scale, u) * self.spacing.to(u.dtype)
        return ((torch.stack(states, dim=1) - frames[:, 1:]) / unit).square().mean()

    def training_data(self, trajectories: Trajectories) -> WindowSampler:  # type: ignore[override]
        """Learn the scales of states and velocities, these from differences of frames."""
        rates = [
            u.diff(dim=0) / t.diff().to(u.dtype).view(-1, *[1] * (u.ndim - 1))
            for t, u in zip(trajectories.t, trajectories.u, strict=True)
        ]
        self.learn_states(torch.cat(trajectories.u))
        self.learn_rates(torch.cat(rates))
        self.spacing.fill_(trajectories.mean_spacing)
        return WindowSampler(trajectories, self.window + 1)


class Persistence:
    """Nothing ever changes: the error that any model must beat."""

    def predict(self, u0: States, t: Times) -> Rollout:
        """Repeat the first state at all times."""
        u, times = torch.as_tensor(u0), query_times(t)
        return Rollout(times, u.expand(len(times), *u.shape), 0)
