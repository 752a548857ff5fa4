"""ETDRK4: fourth-order time steps for stiff spectral equations dv/dt = L v + N(v) with L diagonal.

Cox and Matthews (J. Comput. Phys. 176, 2002), with the coefficients of Kassam and Trefethen (SIAM J. Sci. Comput. 26,
2005), who take them as means over a circle: the formulas themselves cancel near L = 0.
"""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Complex128, Float64

Modes = Complex128[np.ndarray, "*batch_and_modes"]


class ExponentialSteps:
    """Steps of one size.

    Parameters
    ----------
    linear : eigenvalue of L of each mode, real.
    nonlinear : N, on arrays of modes with any axes in front.
    dt : size of the step.
    """

    def __init__(
        self, linear: Float64[np.ndarray, "*modes"], nonlinear: Callable[[Modes], Modes], dt: float | np.floating
    ) -> None:
        self.nonlinear, self.dt = nonlinear, float(dt)
        z = dt * linear
        circle = z[..., None] + np.exp(1j * np.pi * (np.arange(1, 33) - 0.5) / 32)  # its upper half: L is real
        e = np.exp(circle)
        self.whole, self.half = np.exp(z), np.exp(z / 2)
        self.to_half = dt * _mean((np.exp(circle / 2) - 1) / circle)
        self.first = dt * _mean((-4 - circle + e * (4 - 3 * circle + circle**2)) / circle**3)
        self.middle = dt * _mean(2 * (2 + circle + e * (circle - 2)) / circle**3)
        self.last = dt * _mean((-4 - 3 * circle - circle**2 + e * (4 - circle)) / circle**3)

    def step(self, v: Modes) -> Modes:
        """Take one step."""
        at_start = self.nonlinear(v)
        a = self.half * v + self.to_half * at_start
        at_a = self.nonlinear(a)
        b = self.half * v + self.to_half * at_a
        at_b = self.nonlinear(b)
        c = self.half * a + self.to_half * (2 * at_b - at_start)
        return self.whole * v + self.first * at_start + self.middle * (at_a + at_b) + self.last * self.nonlinear(c)


def exponential_solution(
    linear: Float64[np.ndarray, "*modes"],
    nonlinear: Callable[[Modes], Modes],
    v: Modes,
    times: Float64[np.ndarray, " frames"],
    dt: float,
) -> Iterator[Modes]:
    """Yield the modes at increasing times, from `v` at time zero, by steps of at most `dt` that end on the times."""
    steps, now = None, 0.0
    for time in times:
        count = int(np.ceil((time - now) / dt - 1e-9))
        if count:
            size = (time - now) / count
            if steps is None or abs(steps.dt / size - 1) > 1e-10:  # the coefficients cost more than a step
                steps = ExponentialSteps(linear, nonlinear, size)
            for _ in range(count):
                v = steps.step(v)
        now = time
        yield v


def _mean(values: Complex128[np.ndarray, "*modes points"]) -> Float64[np.ndarray, "*modes"]:
    return values.mean(axis=-1).real
