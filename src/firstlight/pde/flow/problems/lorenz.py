"""The Lorenz system of 1963: three numbers, chaos, and a Lyapunov exponent of 0.906."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float64

from firstlight.pde.flow.problems.problem import Histories, Problem, States


@dataclass(frozen=True)
class Lorenz(Problem):
    """x' = σ (y - x), y' = x (ρ - z) - y, z' = x y - β z, from states on the attractor.

    Attributes
    ----------
    sigma, rho, beta : the parameters.
    frame_spacing : time between stored frames; that of the paper is 0.005.
    duration : time of the last frame.
    spin_up : time from random states to the initial ones, which are on the attractor by then.
    """

    sigma: float = 10.0
    rho: float = 28.0
    beta: float = 8 / 3
    frame_spacing: float = 0.005
    duration: float = 2.0
    spin_up: float = 10.0

    name: ClassVar = "lorenz"
    channels: ClassVar = ("x", "y", "z")
    boundary: ClassVar = "none"

    @property
    def times(self) -> Float64[np.ndarray, " frames"]:
        """From zero to the duration."""
        return self.frame_spacing * np.arange(round(self.duration / self.frame_spacing) + 1)

    @property
    def grid(self) -> Mapping[str, Float64[np.ndarray, " points"]]:
        """There is no space."""
        return {}

    def initial_states(self, n: int, rng: np.random.Generator) -> States:
        """Draw from a wide Gaussian and let the flow carry it to the attractor."""
        drawn = np.array([0.0, 0.0, 25.0]) + rng.normal(size=(n, 3)) * [8.0, 8.0, 8.0]
        return self._solve(drawn, np.array([self.spin_up]))[:, 0]

    def right_hand_side(self, u: States) -> States:
        """Evaluate the three equations."""
        x, y, z = u.T
        return np.stack([self.sigma * (y - x), x * (self.rho - z) - y, x * y - self.beta * z], axis=1)

    def _solve(self, u: States, times: Float64[np.ndarray, " frames"]) -> Histories:
        """Classical Runge-Kutta steps of at most 0.00125, whose error after 2 units of time is below 1e-7."""
        frames, now = [], 0.0
        for time in times:
            count = int(np.ceil((time - now) / 0.00125 - 1e-9))
            for _ in range(count):
                u = self._step(u, (time - now) / count)
            frames.append(u)
            now = time
        return np.stack(frames, axis=1)

    def _step(self, u: States, dt: float | np.floating) -> States:
        k1 = self.right_hand_side(u)
        k2 = self.right_hand_side(u + dt / 2 * k1)
        k3 = self.right_hand_side(u + dt / 2 * k2)
        k4 = self.right_hand_side(u + dt * k3)
        return u + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
