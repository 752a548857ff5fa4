"""A radial dam breaks: the shallow-water equations, after PDEBench, by a shock-capturing scheme."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float64

from firstlight.pde.flow.problems.problem import Histories, Problem, States


@dataclass(frozen=True)
class ShallowWater(Problem):
    """h_t + ∇·(h v) = 0, (h v)_t + ∇·(h v⊗v + g h²/2) = 0 on [-2.5, 2.5]², with water flowing out freely.

    The dam of PDEBench's ``2D_rdb_NA_NA`` (Takamoto et al., NeurIPS 2022): still water of depth 2 within a circle of
    random radius and of depth 1 outside, 101 frames until time 1, of which the first is not stored, as in the paper.
    PDEBench keeps the depth alone, from which the flow does not follow; here the momentum h v is kept too.

    Second order in space: slopes limited by van Leer's MC limiter, HLL fluxes with the wave speeds of Davis (1988).
    Second order in time: Heun's method, which keeps what the limiter guarantees.

    Attributes
    ----------
    points : cells in each direction; PDEBench has 128.
    gravity : g.
    radius : smallest and largest radius of the dam.
    courant : largest share of a cell that a wave may cross in a step, summed over directions.
    """

    points: int = 64
    gravity: float = 1.0
    radius: tuple[float, float] = (0.3, 0.7)
    courant: float = 0.4

    name: ClassVar = "shallow-water"
    channels: ClassVar = ("depth", "momentum_x", "momentum_y")
    boundary: ClassVar = "neumann"

    @property
    def times(self) -> Float64[np.ndarray, " frames"]:
        """Frames 1 to 100 of 100 equal steps from 0 to 1."""
        return np.linspace(0, 1, 101)[1:]

    @property
    def grid(self) -> Mapping[str, Float64[np.ndarray, " points"]]:
        """Centres of the cells."""
        centres = 2.5 * ((2 * np.arange(self.points) + 1) / self.points - 1)
        return {"x": centres, "y": centres}

    def initial_states(self, n: int, rng: np.random.Generator) -> States:
        """Draw the radius of the dam, evenly; cells on its edge are filled by their share inside it."""
        radii = rng.uniform(*self.radius, size=(n, 1, 1))
        fine = 8  # points per cell and direction that measure the share
        x = 2.5 * ((2 * np.arange(self.points * fine) + 1) / (self.points * fine) - 1)
        inside = np.hypot(x[:, None], x[None, :])[None] <= radii
        share = inside.reshape(n, self.points, fine, self.points, fine).mean(axis=(2, 4))
        u = np.zeros((n, 3, self.points, self.points))
        u[:, 0] = 1 + share
        return u

    def right_hand_side(self, u: States) -> States:
        """Sum the fluxes through the sides of every cell."""
        per_length = self.points / 5
        along_x = np.diff(self._flux(u), axis=2)
        turned = u[:, [0, 2, 1]].swapaxes(2, 3)
        along_y = np.diff(self._flux(turned), axis=2).swapaxes(2, 3)[:, [0, 2, 1]]
        return -per_length * (along_x + along_y)

    def _solve(self, u: States, times: Float64[np.ndarray, " frames"]) -> Histories:
        frames, now = [], 0.0
        for time in times:
            while now < time * (1 - 1e-12):
                dt = min(self._largest_step(u), time - now)
                dt = (time - now) / np.ceil((time - now) / dt)
                once = u + dt * self.right_hand_side(u)
                u = (u + once + dt * self.right_hand_side(once)) / 2
                now += dt
            frames.append(u)
        return np.stack(frames, axis=1)

    def _largest_step(self, u: States) -> float:
        speeds = np.abs(u[:, 1:] / u[:, :1]) + np.sqrt(self.gravity * u[:, :1])
        return float(self.courant * 5 / self.points / speeds.sum(axis=1).max())

    def _flux(self, u: Float64[np.ndarray, "n 3 x y"]) -> Float64[np.ndarray, "n 3 sides y"]:
        """Flux along the first axis of space, through all sides across it."""
        padded = np.pad(u, ((0, 0), (0, 0), (2, 2), (0, 0)), mode="edge")  # outflow
        slopes = _mc_limited(np.diff(padded, axis=2))
        left = (padded[:, :, 1:-1] + slopes / 2)[:, :, :-1]
        right = (padded[:, :, 1:-1] - slopes / 2)[:, :, 1:]
        (flux_l, v_l, c_l), (flux_r, v_r, c_r) = self._physical_flux(left), self._physical_flux(right)
        slowest = np.minimum(0, np.minimum(v_l - c_l, v_r - c_r))
        fastest = np.maximum(0, np.maximum(v_l + c_l, v_r + c_r))
        return (fastest * flux_l - slowest * flux_r + slowest * fastest * (right - left)) / (fastest - slowest)

    def _physical_flux(self, u: Float64[np.ndarray, "n 3 sides y"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Flux of a state, with its velocity and the speed of its waves."""
        h, hv, hw = u[:, 0:1], u[:, 1:2], u[:, 2:3]
        v = hv / h
        return np.concatenate([hv, hv * v + self.gravity / 2 * h**2, hw * v], axis=1), v, np.sqrt(self.gravity * h)


def _mc_limited(steps: Float64[np.ndarray, "n 3 steps y"]) -> Float64[np.ndarray, "n 3 cells y"]:
    """Slopes per cell: the smallest of twice either one-sided difference and the central one, zero at extrema."""
    back, ahead = steps[:, :, :-1], steps[:, :, 1:]
    size = np.minimum(2 * np.minimum(np.abs(back), np.abs(ahead)), np.abs(back + ahead) / 2)
    return np.where(back * ahead > 0, np.sign(back) * size, 0.0)
