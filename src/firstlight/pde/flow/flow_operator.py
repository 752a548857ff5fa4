"""The continuous flow operator: a network for du/dt, trained on the velocities of paths through snapshots.

N(t, u) ≈ du/dt is regressed on points of a path s and its velocity (Hou, Huang & Perdikaris 2026). The paper calls it
flow matching: states are blurred by γ(t) z and velocities by γ'(t) z, z ~ N(0, 1), with γ = γ₀ τ³(1 − τ)³ on each
segment. At the default γ₀ = 1e-5 the blur is next to nothing, and the method is what statistics calls gradient matching
or two-stage collocation (Varah 1982; Ramsay et al. 2007): no solver is differentiated through, and snapshots may lie
anywhere in time.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from firstlight.errors import InvalidInput
from firstlight.pde.flow.dynamics_model import CODERS, DynamicsModel
from firstlight.pde.flow.integrators import Method, integrate, steps_within
from firstlight.pde.flow.reversal import Reversal, amplification, growth_rate, warn_if_ill_posed
from firstlight.pde.flow.rollout import Rollout, States, Times, query_times, relative_error
from firstlight.pde.flow.temporal_spline import Kind, Measure, PathPoints, TemporalSpline
from firstlight.pde.flow.trajectories import Trajectories

STATISTICS_POINTS = 4096


class FlowOperator(DynamicsModel, coders=CODERS):
    """Continuous-time dynamics du/dt = N(t, u), itself a function for ``torchdiffeq.odeint``.

    Parameters
    ----------
    backbone : network from states (batch, channels, *grid) to their shape, such as those of
        `firstlight.pde.flow.backbones`; with `time_features`, from ``channels + 2 * time_features`` channels.
    channels : fields of a state.
    grid : its grid, ``()`` for states without one; unless given, the model may be asked on any.
    time_features : octaves of sines and cosines of time that the backbone sees as further channels. Without, the
        dynamics are autonomous, and may be followed beyond the times of the training.
    gamma0 : size of the blur, in standard deviations of each channel.

    Raises
    ------
    InvalidInput
        If `gamma0` or `time_features` is negative.

    Examples
    --------
    >>> from firstlight.pde.flow import MLP
    >>> model = FlowOperator(MLP(3), channels=3, grid=())
    >>> model.predict(torch.ones(8, 3), t=[0.0, 0.25, 1.0]).u.shape
    torch.Size([3, 8, 3])
    """

    time_range: Float[Tensor, " 2"]

    def __init__(
        self,
        backbone: nn.Module,
        channels: int,
        *,
        grid: Sequence[int] | None = None,
        time_features: int = 0,
        gamma0: float = 1e-5,
    ) -> None:
        super().__init__(backbone, channels, grid)
        if time_features < 0 or gamma0 < 0:
            raise InvalidInput(f"time_features and gamma0 cannot be negative, got {time_features} and {gamma0}")
        self.time_features, self.gamma0 = time_features, gamma0
        self.register_buffer("time_range", torch.tensor([0.0, 1.0], dtype=torch.float64))

    def forward(
        self, t: Tensor | float, u: Float[Tensor, "batch channels *grid"]
    ) -> Float[Tensor, "batch channels *grid"]:
        """Velocity du/dt.

        Parameters
        ----------
        t : time, one for the batch or one per sample; autonomous dynamics do not look at it.
        u : states, in the units of the data.
        """
        seen = self.standardised(u)
        if self.time_features:
            seen = torch.cat([seen, self._time_channels(t, u)], dim=1)
        return self.by_channel(self.rate_scale, u) * self.backbone(seen)

    def loss(self, batch: PathPoints) -> Float[Tensor, ""]:
        """Mean squared error of the velocity, in units of `rate_scale`, at points of paths."""
        u, v = self.in_own_precision(batch.u), self.in_own_precision(batch.v)
        tau, width = (x.to(u.dtype).view(-1, *[1] * (u.ndim - 1)) for x in (batch.tau, batch.width))
        noise = torch.randn_like(u) * self.by_channel(self.u_scale, u) * self.gamma0
        u = u + (tau * (1 - tau)) ** 3 * noise
        v = v + 3 / width * (tau * (1 - tau)) ** 2 * (1 - 2 * tau) * noise
        wrong = (self(batch.t, u) - v) / self.by_channel(self.rate_scale, u)
        return wrong.square().mean()

    def training_data(
        self, trajectories: Trajectories, *, spline: Kind = "quintic", measure: Measure = "time"
    ) -> "PathSampler":
        """Lay paths through trajectories, and learn the scales of states and velocities from them.

        Parameters
        ----------
        trajectories : snapshots at any times.
        spline : kind of path.
        measure : how points are drawn from it, see `TemporalSpline.sample`.
        """
        path = TemporalSpline.fit(trajectories.t, trajectories.u, spline)
        self.learn_states(path.u)
        generator = torch.Generator().manual_seed(0)
        self.learn_rates(path.sample(STATISTICS_POINTS, generator, measure).v)
        self.spacing.fill_(trajectories.mean_spacing)
        self.time_range.copy_(torch.stack([path.t.min(), path.t.max()]))
        return PathSampler(path, measure)

    def predict(
        self,
        u0: States,
        t: Times,
        *,
        method: Method = "rk4",
        nfe: int | None = None,
    ) -> Rollout:
        """Follow states in time.

        Parameters
        ----------
        u0 : states (batch, channels, *grid) at ``t[0]``. If it requires a gradient, the states have one.
        t : times, ``t[0]`` that of u0, the others anywhere after it (or before: see `reverse`).
        method : of integration, see `firstlight.pde.flow.integrators`.
        nfe : evaluations of the network to spend at the most, for the whole batch at once, besides one for times
            within the last step; unless given, two steps per mean spacing of the frames in training.

        Raises
        ------
        InvalidInput
            If shapes do not fit, a state is not finite, times are in no order, `nfe` does not pay for a step, or the
            model depends on time and is asked beyond the times of its training.

        Warns
        -----
        IllPosedReversal
            If times decrease and errors grow tenfold or more.
        """
        state, times = self.initial(u0), self._times(t)
        if len(times) > 1 and times[1] < times[0]:
            self._warned_growth(state, times)
        return self._followed(state, times, method, nfe)

    def reverse(
        self,
        u_end: States,
        t: Times,
        *,
        method: Method = "rk4",
        nfe: int | None = None,
    ) -> Reversal:
        """Follow states back in time, and say how errors grow on the way.

        Parameters
        ----------
        u_end : states (batch, channels, *grid) at ``t[0]``.
        t : decreasing times.
        method, nfe : as in `predict`.

        Raises
        ------
        InvalidInput
            As in `predict`, and if the times do not decrease.

        Warns
        -----
        IllPosedReversal
            If errors grow tenfold or more.
        """
        state, times = self.initial(u_end), self._times(t)
        if len(times) < 2 or times[1] > times[0]:
            raise InvalidInput(f"to run backwards give decreasing times, at least two; got {times.tolist()[:4]}")
        rates = self._warned_growth(state, times)
        back = self._followed(state, times, method, nfe)
        again = self._followed(back.u[-1].detach(), times.flip(0)[[0, -1]], method, nfe).u[-1]
        missed = (again - state).double().flatten(1).norm(dim=1) / state.double().flatten(1).norm(dim=1)
        round_trip = torch.nan_to_num(missed, nan=torch.inf, posinf=torch.inf)
        return Reversal(back.t, back.u, back.evaluations, rates, amplification(rates, times), round_trip)

    def integration_error(
        self,
        u0: States,
        t: Times,
        *,
        method: Method = "rk4",
        nfe: int | None = None,
    ) -> Float64[Tensor, " batch"]:
        """Relative L² change of a rollout when its steps are halved: the integrator's error, apart from the model's.

        Parameters
        ----------
        u0, t, method, nfe : as in `predict`.
        """
        state, times = self.initial(u0), self._times(t)
        steps = self._steps(times, method, nfe)
        with torch.no_grad():
            coarse, fine = (integrate(self, state, times, steps=k * steps, method=method).u for k in (1, 2))
        return relative_error(coarse, fine)

    def _steps(self, t: Tensor, method: Method, nfe: int | None) -> int:
        if nfe is not None:
            return steps_within(nfe, method)
        return max(1, math.ceil(2 * float((t[-1] - t[0]).abs() / self.spacing) - 1e-9))

    def _followed(self, u0: Tensor, t: Tensor, method: Method, nfe: int | None) -> Rollout:
        steps = self._steps(t, method, nfe)
        with torch.set_grad_enabled(torch.is_grad_enabled() and u0.requires_grad):
            u, evaluations = integrate(self, u0, t, steps=steps, method=method)
        return Rollout(t, u, evaluations)

    def _warned_growth(self, state: Tensor, t: Tensor) -> Tensor:
        rates = growth_rate(self, t[0], state.detach())
        warn_if_ill_posed(rates, t)
        return rates

    def _times(self, t: Times) -> Tensor:
        times = query_times(t)
        low, high = self.time_range.tolist()
        slack = 1e-9 * (high - low) + 4e-16 * max(abs(low), abs(high))
        if self.time_features and bool(((times < low - slack) | (times > high + slack)).any()):
            raise InvalidInput(
                f"this model depends on time and was trained from t = {low:g} to {high:g}; asked for {times.min():g} "
                f"to {times.max():g}. Ask within, or train with time_features=0"
            )
        return times

    def _time_channels(self, t: Tensor | float, u: Tensor) -> Tensor:
        """Sines and cosines of 2π 2^l times the share of the training's time, constant in space."""
        low, high = self.time_range
        share = (torch.as_tensor(t, dtype=torch.float64, device=low.device) - low) / (high - low)
        octaves = 2.0 ** torch.arange(self.time_features, dtype=torch.float64, device=low.device)
        angle = (2 * torch.pi * share.reshape(-1, 1) * octaves).expand(len(u), -1)
        waves = torch.cat([angle.sin(), angle.cos()], dim=1).to(u.dtype)
        return waves.view(*waves.shape, *[1] * (u.ndim - 2)).expand(-1, -1, *u.shape[2:])


class PathSampler:
    """Draws the batches of a `FlowOperator`."""

    def __init__(self, path: TemporalSpline, measure: Measure) -> None:
        self.path = path
        self.measure: Measure = measure

    def draw(self, n: int) -> PathPoints:
        """Points on the paths, from PyTorch's global generator of random numbers."""
        return self.path.sample(n, measure=self.measure)
