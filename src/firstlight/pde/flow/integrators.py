"""Integration of a velocity field with a fixed step, and its states at any times in between.

Steps know nothing of the times that are asked for: between the ends of a step stands the cubic that meets states and
velocities there (Hairer, Nørsett & Wanner 1993, section II.6), which costs no evaluation, since the next step needs
the velocity at its beginning anyway.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from firstlight.errors import InvalidInput

Method = Literal["euler", "heun", "rk4", "ab4"]
Field = Callable[[Tensor, Tensor], Tensor]
EVALUATIONS_PER_STEP = {"euler": 1, "heun": 2, "rk4": 4, "ab4": 1}
ADAMS_BASHFORTH = (55 / 24, -59 / 24, 37 / 24, -9 / 24)  # of the newest velocity, the one before, …
STARTING_STEPS = 3  # of Runge and Kutta, until there are four velocities to look back on


class Integration(NamedTuple):
    """States at the times asked for, and what they cost.

    Attributes
    ----------
    u : states.
    evaluations : of the velocity field, each for the whole batch.
    """

    u: Float[Tensor, "times batch *state"]
    evaluations: int


def steps_within(evaluations: int, method: Method) -> int:
    """Return the number of steps that a number of evaluations of the field pays for.

    Raises
    ------
    InvalidInput
        If the method is unknown, or it does not pay for one step.
    """
    if method not in get_args(Method):
        raise InvalidInput(f"no method is called {method!r}; choose {', '.join(get_args(Method))}")
    steps = evaluations // EVALUATIONS_PER_STEP[method]
    if method == "ab4":  # the starting steps cost four evaluations each
        steps = max(evaluations - 3 * STARTING_STEPS, min(evaluations // 4, STARTING_STEPS))
    if steps < 1:
        raise InvalidInput(f"{evaluations} evaluations do not pay for a step of {method}; give at least 4")
    return steps


def integrate(
    field: Field,
    u0: Float[Tensor, " batch *state"],
    t: Float64[Tensor, " times"],
    *,
    steps: int,
    method: Method = "rk4",
) -> Integration:
    """Follow du/dt = field(t, u) from u0 at the first of the times to the last.

    Parameters
    ----------
    field : gives velocities, from a time (a tensor without dimensions, in double precision) and states.
    u0 : states at ``t[0]``, which are returned as they are.
    t : times, all increasing or all decreasing.
    steps : number of equal steps from ``t[0]`` to ``t[-1]``.
    method : Euler, Heun, the classical Runge–Kutta, or four-step Adams–Bashforth, which evaluates once per step.
    """
    if len(t) == 1:
        return Integration(u0[None], 0)
    begin, h = float(t[0]), float(t[-1] - t[0]) / steps
    asked = _by_step(((t[1:] - t[0]) / h).tolist(), steps)
    states, u, past = [u0], u0, []  # past: velocities at the beginnings of this and the last steps, newest first
    velocity, evaluations = field(_time(begin), u0), 1
    for n in range(steps):
        past = [velocity, *past[: len(ADAMS_BASHFORTH) - 1]]
        following, extra = _step(field, _time(begin + n * h), u, past, h, method)
        evaluations += extra
        between = any(place < 1 for place in asked[n])
        if n < steps - 1 or between:
            velocity = field(_time(begin + (n + 1) * h), following)
            evaluations += 1
        for place in asked[n]:
            states.append(_between(u, following, past[0], velocity, h, place) if place < 1 else following)
        u = following
    return Integration(torch.stack(states), evaluations)


def _by_step(positions: list[float], steps: int) -> list[list[float]]:
    """Sort times, counted in steps from the beginning, into the step each lies in, as shares of it from 0 to 1."""
    asked: list[list[float]] = [[] for _ in range(steps)]
    for position in positions:
        n = min(max(math.ceil(position - 1e-9) - 1, 0), steps - 1)  # a hair's breadth of rounding is the step's end
        place = position - n
        asked[n].append(1.0 if place > 1 - 1e-9 else place)
    return asked


def _time(t: float) -> Tensor:
    return torch.tensor(t, dtype=torch.float64)


def _step(field: Field, t: Tensor, u: Tensor, past: list[Tensor], h: float, method: Method) -> tuple[Tensor, int]:
    """State after one step, and evaluations beyond the one at its beginning."""
    k1 = past[0]
    if method == "euler":
        return u + h * k1, 0
    if method == "heun":
        return u + h / 2 * (k1 + field(t + h, u + h * k1)), 1
    if method == "ab4" and len(past) == len(ADAMS_BASHFORTH):
        return u + h * sum(weight * k for weight, k in zip(ADAMS_BASHFORTH, past, strict=True)), 0
    k2 = field(t + h / 2, u + h / 2 * k1)
    k3 = field(t + h / 2, u + h / 2 * k2)
    k4 = field(t + h, u + h * k3)
    return u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), 3


def _between(u0: Tensor, u1: Tensor, v0: Tensor, v1: Tensor, h: float, s: float) -> Tensor:
    """Cubic through both ends of a step, at the share s of it."""
    slip = u1 - u0
    return u0 + s * (h * v0 + s * (3 * slip - h * (2 * v0 + v1) + s * (h * (v0 + v1) - 2 * slip)))
