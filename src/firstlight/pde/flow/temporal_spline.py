"""Smooth paths through snapshots, and their velocities: the labels of flow matching.

Between two snapshots the path is the quintic that meets their values u, first derivatives u' and second derivatives u''
(Hou, Huang & Perdikaris 2026, section 3). The kinds of path differ in where u' and u'' come from, and nowhere else:

======== ================================================= ==========================================
kind     u' and u'' at the snapshots                       path
======== ================================================= ==========================================
linear   none                                              straight lines
quintic  parabola through the three nearest snapshots      C², the paper's
hermite5 quartic through the five nearest snapshots        C²
cubic    cubic spline through all snapshots                C²
c4       quintic spline through all snapshots              C⁴
======== ================================================= ==========================================

A cubic, and each piece of the C⁴ spline, is itself the only quintic with its end values and derivatives, so one
evaluation serves all. Derivatives are computed in double precision from times counted from the first snapshot: with
1/h² in the stencils, single precision or clock time would leave nothing of them where snapshots are close.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from scipy.interpolate import make_interp_spline
from torch import Tensor

from firstlight.errors import InvalidInput
from firstlight.pde.flow.stencils import apply_stencils, stencils

Kind = Literal["linear", "quintic", "hermite5", "cubic", "c4"]
Measure = Literal["time", "segment"]
FEWEST_FRAMES: dict[str, int] = {"linear": 2, "quintic": 3, "hermite5": 5, "cubic": 4, "c4": 6}
# What each kind is compared with to estimate its error; the C⁴ spline with the best that is local.
RIVAL: dict[str, Kind] = {"linear": "quintic", "quintic": "hermite5", "hermite5": "c4", "cubic": "c4", "c4": "hermite5"}


class PathPoints(NamedTuple):
    """Points of the paths: what the velocity field is trained on.

    Attributes
    ----------
    t : times.
    u, v : states and velocities du/dt there, one row per point.
    tau : where in its segment each point lies, from 0 to 1.
    width : duration of that segment.
    """

    t: Float64[Tensor, " points"]
    u: Float[Tensor, " points *state"]
    v: Float[Tensor, " points *state"]
    tau: Float64[Tensor, " points"]
    width: Float64[Tensor, " points"]


@dataclass(frozen=True)
class TemporalSpline:
    """Paths through one or more trajectories, each with its own times.

    Attributes
    ----------
    kind : of path.
    t : times of all snapshots, trajectory after trajectory.
    u, first, second : the snapshots and their derivatives in time, in the precision of the data; a linear path has no
        derivatives.
    offsets : trajectory b owns the snapshots ``offsets[b]:offsets[b + 1]``.
    """

    kind: Kind
    t: Float64[Tensor, " frames"]
    u: Float[Tensor, " frames *state"]
    first: Float[Tensor, " frames *state"] | None
    second: Float[Tensor, " frames *state"] | None
    offsets: Int64[Tensor, " bounds"]

    @classmethod
    def fit(
        cls,
        t: Tensor | np.ndarray | Sequence,
        u: Tensor | np.ndarray | Sequence,
        kind: Kind = "quintic",
        mask: Bool[Tensor, "batch times"] | None = None,
    ) -> "TemporalSpline":
        """Lay paths through snapshots.

        Parameters
        ----------
        t : times, strictly increasing: (times,) of one trajectory, (batch, times) of several, or a list of (times_b,).
        u : states at these times: (times, *state), (batch, times, *state), or a list of (times_b, *state).
        kind : of path, see above.
        mask : (batch, times), true where a snapshot exists; where it is false, `t` and `u` may hold anything.

        Raises
        ------
        InvalidInput
            If times do not increase, a frame is not finite, shapes do not match, or there are fewer frames than `kind`
            needs.
        """
        if kind not in get_args(Kind):
            raise InvalidInput(f"no kind of spline is called {kind!r}; choose {', '.join(get_args(Kind))}")
        times, frames = _as_lists(t, u, mask)
        _check(times, frames, kind)
        derivatives = [_derivatives(t_b, u_b, kind) for t_b, u_b in zip(times, frames, strict=True)]
        first, second = (None, None) if kind == "linear" else map(torch.cat, zip(*derivatives, strict=True))
        lengths = torch.tensor([0, *map(len, times)])
        return cls(kind, torch.cat(times), torch.cat(frames), first, second, lengths.cumsum(0))

    def __len__(self) -> int:
        """Return the number of trajectories."""
        return len(self.offsets) - 1

    @cached_property
    def segments(self) -> Int64[Tensor, " segments"]:
        """Index of the snapshot at which each segment begins."""
        begins = torch.ones(len(self.t), dtype=torch.bool)
        begins[self.offsets[1:] - 1] = False
        return begins.nonzero()[:, 0]

    def sample(self, n: int, generator: torch.Generator | None = None, measure: Measure = "time") -> PathPoints:
        """Draw points on the paths.

        Parameters
        ----------
        n : number of points.
        generator : of random numbers; PyTorch's global one unless given.
        measure : ``"time"`` draws uniformly in time, ``"segment"`` first a segment, then a time in it, which gives
            snapshots that lie close more weight (what the authors' code does).
        """
        last = len(self.segments) - 1
        if measure == "time":
            drawn = torch.rand(n, generator=generator, dtype=torch.float64) * self._elapsed[-1]
            chosen = torch.searchsorted(self._elapsed, drawn, right=True).clamp(max=last)
        else:
            chosen = torch.randint(last + 1, (n,), generator=generator)
        tau = torch.rand(n, generator=generator, dtype=torch.float64)
        return self._points(self.segments[chosen], tau)

    @cached_property
    def _elapsed(self) -> Float64[Tensor, " segments"]:
        """Time covered up to the end of each segment, over all trajectories."""
        return (self.t[self.segments + 1] - self.t[self.segments]).cumsum(0)

    def value(
        self, t: Float[Tensor, " n"] | Float[np.ndarray, " n"], trajectory: int = 0
    ) -> Float[Tensor, " n *state"]:
        """States on the path of a trajectory at given times."""
        return self._at(t, trajectory).u

    def derivative(
        self, t: Float[Tensor, " n"] | Float[np.ndarray, " n"], trajectory: int = 0
    ) -> Float[Tensor, " n *state"]:
        """Velocities du/dt on the path of a trajectory at given times.

        Raises
        ------
        InvalidInput
            If a time lies outside the trajectory.
        """
        return self._at(t, trajectory).v

    def label_error_estimate(self) -> Float64[Tensor, " segments"]:
        """Estimate how wrong the velocities are in each segment, in units of u per time.

        It is the root mean square difference from the velocities of a path of another order (`RIVAL`), at the nodes of
        Gauss's three-point rule. For all but the C⁴ path the other is the more accurate one; for that one it is an
        overestimate where the solution is smooth. Where the trajectory is too short for the rival, straight lines
        (or for them nothing) stand in.
        """
        nodes = (torch.tensor([-(0.6**0.5), 0.0, 0.6**0.5], dtype=torch.float64) + 1) / 2
        weights = torch.tensor([5.0, 8.0, 5.0], dtype=torch.float64) / 18
        estimates = []
        for b in range(len(self)):
            frames = slice(int(self.offsets[b]), int(self.offsets[b + 1]))
            t, u = self.t[frames], self.u[frames]
            rival = RIVAL[self.kind] if len(t) >= FEWEST_FRAMES[RIVAL[self.kind]] else "linear"
            other = TemporalSpline.fit(t, u, rival)
            segments = torch.arange(len(t) - 1)
            square = torch.zeros(len(segments), dtype=torch.float64)
            for node, weight in zip(nodes, weights, strict=True):
                tau = node.expand(len(segments))
                difference = self._points(segments + frames.start, tau).v - other._points(segments, tau).v
                square += weight * difference.double().flatten(1).square().mean(1)
            estimates.append(square.sqrt())
        return torch.cat(estimates)

    def _at(self, t: Tensor | np.ndarray, trajectory: int) -> PathPoints:
        first, last = int(self.offsets[trajectory]), int(self.offsets[trajectory + 1]) - 1
        times = torch.as_tensor(t, dtype=torch.float64)
        knots = self.t[first : last + 1]
        if bool(((times < knots[0]) | (times > knots[-1])).any()):
            raise InvalidInput(
                f"trajectory {trajectory} has snapshots from t = {knots[0]:g} to {knots[-1]:g}; asked for "
                f"{times.min():g} to {times.max():g}: a spline does not extrapolate"
            )
        k = (torch.searchsorted(knots, times, right=True) - 1).clamp(0, len(knots) - 2)
        return self._points(k + first, (times - knots[k]) / (knots[k + 1] - knots[k]))

    def _points(self, k: Int64[Tensor, " n"], tau: Float64[Tensor, " n"]) -> PathPoints:
        """Evaluate the segments that begin at the snapshots k, in double precision."""
        h = self.t[k + 1] - self.t[k]
        by_row = (-1, *[1] * (self.u.ndim - 1))
        s, width = tau.view(by_row), h.view(by_row)
        u0, u1 = self.u[k].double(), self.u[k + 1].double()
        if self.first is None or self.second is None:
            u, v = u0 + s * (u1 - u0), (u1 - u0) / width
        else:
            # With a0, a1, a2 from the left end, the right end leaves three equations for a3, a4, a5.
            a1, a2 = width * self.first[k], width**2 * self.second[k] / 2
            value = u1 - u0 - a1 - a2
            slope = width * self.first[k + 1] - a1 - 2 * a2
            bend = width**2 * self.second[k + 1] - 2 * a2
            a3 = 10 * value - 4 * slope + bend / 2
            a4 = -15 * value + 7 * slope - bend
            a5 = 6 * value - 3 * slope + bend / 2
            u = u0 + s * (a1 + s * (a2 + s * (a3 + s * (a4 + s * a5))))
            v = (a1 + s * (2 * a2 + s * (3 * a3 + s * (4 * a4 + s * 5 * a5)))) / width
        dtype = self.u.dtype
        return PathPoints(self.t[k] + tau * h, u.to(dtype), v.to(dtype), tau, h)


def _derivatives(t: Float64[Tensor, " times"], u: Float[Tensor, " times *state"], kind: Kind) -> tuple[Tensor, Tensor]:
    """First and second derivatives at the snapshots, of the kind of path asked for."""
    times = t.numpy() - float(t[0])
    values = u.reshape(len(u), -1).numpy()
    if kind in ("cubic", "c4"):
        spline = make_interp_spline(times, values.astype(np.float64), k=3 if kind == "cubic" else 5)
        first, second = (spline.derivative(order)(times).astype(values.dtype) for order in (1, 2))
    elif kind == "linear":
        return u, u  # which nobody asks for
    else:
        first, second = apply_stencils(values, *stencils(times, 3 if kind == "quintic" else 5))
    return torch.from_numpy(first).view(u.shape), torch.from_numpy(second).view(u.shape)


def _as_lists(t: object, u: object, mask: Tensor | None) -> tuple[list[Tensor], list[Tensor]]:
    """Bring one, several or ragged trajectories into lists of times and of frames."""
    if isinstance(t, np.ndarray | Tensor) and isinstance(u, np.ndarray | Tensor):
        t, u = torch.as_tensor(t), torch.as_tensor(u)
        if t.ndim not in (1, 2) or t.shape != u.shape[: t.ndim]:
            raise InvalidInput(
                f"expected times (times,) with states (times, …), or (batch, times) with (batch, times, …); got "
                f"{tuple(t.shape)} and {tuple(u.shape)}"
            )
        if mask is not None and mask.shape != t.shape:
            raise InvalidInput(f"expected a mask of the shape of the times, {tuple(t.shape)}; got {tuple(mask.shape)}")
        t, u = ([t], [u]) if t.ndim == 1 else (list(t), list(u))
        if mask is not None:
            t = [t_b[mask_b] for t_b, mask_b in zip(t, mask, strict=True)]
            u = [u_b[mask_b] for u_b, mask_b in zip(u, mask, strict=True)]
    elif mask is not None:
        raise InvalidInput("a mask goes with arrays (batch, times); from lists leave out the frames that do not exist")
    if not isinstance(t, Sequence) or not isinstance(u, Sequence) or len(t) != len(u) or not t:
        raise InvalidInput("expected times and states of the same trajectories, at least one; lists of equal length")
    times = [torch.as_tensor(t_b).detach().cpu().double() for t_b in t]
    frames = [torch.as_tensor(u_b).detach().cpu() for u_b in u]
    wide = torch.float64 if any(u_b.dtype == torch.float64 for u_b in frames) else torch.float32
    return times, [u_b.to(wide).contiguous() for u_b in frames]


def _check(times: list[Tensor], frames: list[Tensor], kind: Kind) -> None:
    for b, (t, u) in enumerate(zip(times, frames, strict=True)):
        check_times(t, f"trajectory {b}")
        if len(t) != len(u) or u.shape[1:] != frames[0].shape[1:]:
            raise InvalidInput(
                f"trajectory {b} has {len(t)} times and frames of shape {tuple(u.shape)}; expected one frame per time, "
                f"each of shape {tuple(frames[0].shape[1:])} as in trajectory 0"
            )
        if len(t) < FEWEST_FRAMES[kind]:
            raise InvalidInput(
                f"trajectory {b} has {len(t)} frames; a {kind} path needs {FEWEST_FRAMES[kind]}: leave the trajectory "
                f"out or take kind='linear'"
            )
        check_finite(u, f"trajectory {b}")


def check_times(t: Float64[Tensor, " times"], where: str) -> None:
    """Refuse times that are not finite or do not increase, naming the frames.

    Raises
    ------
    InvalidInput
        If there are such times.
    """
    if not bool(t.isfinite().all()):
        raise InvalidInput(f"{where}: the time of frame {int((~t.isfinite()).nonzero()[0])} is not finite; mend it")
    wrong = (t.diff() <= 0).nonzero()[:, 0]
    if len(wrong) and len(wrong) == len(t) - 1 and bool((t == t[0]).all()):
        raise InvalidInput(
            f"{where}: all {len(t)} times equal {float(t[0]):.9g}; were they written in single precision, whose "
            f"spacing there is {np.spacing(np.float32(t[0])):g}? Write them in double precision, or counted from the "
            f"first frame"
        )
    if len(wrong):
        k = int(wrong[0])
        before, after = float(t[k]), float(t[k + 1])
        what = f"both have t = {before:.9g}" if before == after else f"time goes back from {before:.9g} to {after:.9g}"
        raise InvalidInput(
            f"{where}: times must increase, but at frames {k} and {k + 1} {what}; a restarted run writes a frame "
            f"twice: drop the duplicates (xarray: drop_duplicates('time')), or split the trajectory there"
        )


def check_finite(u: Float[Tensor, " times *state"], where: str) -> None:
    """Refuse frames that hold NaN or infinity, naming the first.

    Raises
    ------
    InvalidInput
        If there is such a frame.
    """
    if not bool(torch.isfinite(u.sum())):  # one pass without a mask; a sum may overflow, so look closer
        bad = (~torch.isfinite(u.flatten(1)).all(1)).nonzero()[:, 0]
        if len(bad):
            raise InvalidInput(
                f"{where}: frame {int(bad[0])} holds NaN or infinity ({len(bad)} such frames); drop them with their "
                f"times"
            )
