"""Two-dimensional flow of a viscous fluid that is driven by a sine: Kolmogorov's flow, in vorticity."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float64

from firstlight.pde.flow.problems.gaussian_fields import gaussian_square
from firstlight.pde.flow.problems.problem import States
from firstlight.pde.flow.problems.spectral_problem import Modes, SpectralProblem


@dataclass(frozen=True)
class Kolmogorov(SpectralProblem):
    """ω_t + u · ∇ω = Δω / Re - k cos(k y) on the periodic square [0, 2π)².

    The forcing of velocity is sin(k y) in the direction of x, as by Chandler and Kerswell (J. Fluid Mech. 722, 2013),
    who find sustained turbulence at Re = 40 and k = 4.

    Attributes
    ----------
    points : of the grid, in each direction.
    reynolds : Re.
    forcing : k, the number of waves of the forcing.
    frame_spacing, duration : of what is stored.
    spin_up : time from random vorticity to the initial states.
    dt : largest time step of the solver.
    """

    points: int = 64
    reynolds: float = 40.0
    forcing: int = 4
    frame_spacing: float = 0.1
    duration: float = 5.0
    spin_up: float = 20.0
    dt: float = 0.01

    name: ClassVar = "kolmogorov"
    channels: ClassVar = ("vorticity",)

    @property
    def times(self) -> Float64[np.ndarray, " frames"]:
        """From zero to the duration."""
        return self.frame_spacing * np.arange(round(self.duration / self.frame_spacing) + 1)

    @property
    def grid(self) -> Mapping[str, Float64[np.ndarray, " points"]]:
        """Without the last point of each axis, which is the first."""
        points = 2 * np.pi / self.points * np.arange(self.points)
        return {"x": points, "y": points}

    def initial_states(self, n: int, rng: np.random.Generator) -> States:
        """Draw smooth random vorticity of mean zero and let it develop during the spin-up."""
        drawn = gaussian_square(n, self.points, scale=7.0**1.5, tau=7.0, power=2.5, rng=rng)[:, None]
        return self._solve(drawn, np.array([self.spin_up]))[:, 0]

    def velocity(self, u: States) -> Float64[np.ndarray, "n 2 x y"]:
        """Velocity of a vorticity, of mean zero."""
        kx, ky = self._waves
        stream = np.fft.rfft2(u) * self._inverse_laplacian
        return np.fft.irfft2(np.concatenate([1j * ky * stream, -1j * kx * stream], axis=1), s=u.shape[-2:])

    @property
    def _waves(self) -> tuple[Float64[np.ndarray, "modes_x 1"], Float64[np.ndarray, "1 modes_y"]]:
        return np.fft.fftfreq(self.points, 1 / self.points)[:, None], np.arange(self.points // 2 + 1.0)[None]

    @property
    def _linear(self) -> Float64[np.ndarray, "modes_x modes_y"]:
        kx, ky = self._waves
        return -(kx**2 + ky**2) / self.reynolds

    @property
    def _inverse_laplacian(self) -> Float64[np.ndarray, "modes_x modes_y"]:
        """Of -ψ: with Δψ = -ω the velocity is (∂ψ/∂y, -∂ψ/∂x)."""
        kx, ky = self._waves
        square = kx**2 + ky**2
        return 1 / np.where(square == 0, np.inf, square)  # a mean has no stream function

    def _advection(self, v: Modes) -> Modes:
        kx, ky = self._waves
        kept = (np.abs(kx) <= self.points // 3) & (ky <= self.points // 3)
        v = v * kept
        stream = v * self._inverse_laplacian
        shape = (self.points, self.points)
        u_x, u_y = np.fft.irfft2(1j * ky * stream, s=shape), np.fft.irfft2(-1j * kx * stream, s=shape)
        slope_x, slope_y = np.fft.irfft2(1j * kx * v, s=shape), np.fft.irfft2(1j * ky * v, s=shape)
        modes = -np.fft.rfft2(u_x * slope_x + u_y * slope_y) * kept
        modes[..., 0, self.forcing] -= self.forcing * self.points**2 / 2  # the mode of -k cos(k y)
        return modes
