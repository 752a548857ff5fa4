"""Burgers' equation on the periodic unit interval, solved with a Fourier basis."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Complex128, Float64

from firstlight.pde.flow.problems.gaussian_fields import gaussian_line
from firstlight.pde.flow.problems.problem import States
from firstlight.pde.flow.problems.spectral_problem import SpectralProblem


@dataclass(frozen=True)
class Burgers(SpectralProblem):
    """u_t + u u_x = ν u_xx on [0, 1), from smooth Gaussian random fields.

    Initial states follow the data of physics-informed DeepONets (Wang, Wang and Perdikaris, Sci. Adv. 7, 2021), which
    the paper takes: modes of size √2 · 25² ((2πk)² + 5²)^(-2), as their generator writes it.

    Attributes
    ----------
    points : of the grid.
    viscosity : ν.
    frames : stored, from time 0 to 1.
    dt : largest time step of the solver.
    """

    points: int = 128
    viscosity: float = 0.01
    frames: int = 101
    dt: float = 1e-3

    name: ClassVar = "burgers"
    channels: ClassVar = ("u",)

    @property
    def times(self) -> Float64[np.ndarray, " frames"]:
        """From 0 to 1."""
        return np.linspace(0, 1, self.frames)

    @property
    def grid(self) -> Mapping[str, Float64[np.ndarray, " points"]]:
        """Without the last point, which is the first."""
        return {"x": np.arange(self.points) / self.points}

    def initial_states(self, n: int, rng: np.random.Generator) -> States:
        """Draw Gaussian random fields of mean zero."""
        return gaussian_line(n, self.points, scale=25.0**2, tau=5.0, power=4.0, rng=rng)[:, None]

    @property
    def _waves(self) -> Float64[np.ndarray, " modes"]:
        return 2 * np.pi * np.arange(self.points // 2 + 1)

    @property
    def _linear(self) -> Float64[np.ndarray, " modes"]:
        return -self.viscosity * self._waves**2

    def _advection(self, v: Complex128[np.ndarray, "n 1 modes"]) -> Complex128[np.ndarray, "n 1 modes"]:
        return square_advection(v, self._waves, self.points)


def square_advection(
    v: Complex128[np.ndarray, "n 1 modes"], waves: Float64[np.ndarray, " modes"], points: int
) -> Complex128[np.ndarray, "n 1 modes"]:
    """Fourier modes of -(u²/2)_x, without the upper third, into which the square would fold (Orszag's rule)."""
    kept = np.arange(len(waves)) <= points // 3
    u = np.fft.irfft(v * kept, points)
    return -0.5j * waves * kept * np.fft.rfft(u * u)
