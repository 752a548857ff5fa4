"""The Kuramoto-Sivashinsky equation: chaos in one dimension of space."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Complex128, Float64

from firstlight.pde.flow.problems.burgers import square_advection
from firstlight.pde.flow.problems.gaussian_fields import gaussian_line
from firstlight.pde.flow.problems.problem import States
from firstlight.pde.flow.problems.spectral_problem import SpectralProblem


@dataclass(frozen=True)
class KuramotoSivashinsky(SpectralProblem):
    """u_t + u u_x + u_xx + u_xxxx = 0 on a periodic interval, from states on the attractor.

    At a length of 22 the largest Lyapunov exponent is 0.043 to 0.048 (Cvitanović, Davidchack and Siminos, SIAM J. Appl.
    Dyn. Syst. 9, 2010).

    Attributes
    ----------
    points : of the grid.
    length : of the interval.
    frame_spacing, duration : of what is stored.
    dt : largest time step of the solver.
    """

    points: int = 64
    length: float = 22.0
    frame_spacing: float = 0.5
    duration: float = 50.0
    dt: float = 0.05

    name: ClassVar = "kuramoto-sivashinsky"
    channels: ClassVar = ("u",)

    @property
    def times(self) -> Float64[np.ndarray, " frames"]:
        """From zero to the duration."""
        return self.frame_spacing * np.arange(round(self.duration / self.frame_spacing) + 1)

    @property
    def grid(self) -> Mapping[str, Float64[np.ndarray, " points"]]:
        """Without the last point, which is the first."""
        return {"x": self.length / self.points * np.arange(self.points)}

    def initial_states(self, n: int, rng: np.random.Generator) -> States:
        """Draw smooth random fields of mean zero and let 150 units of time carry them to the attractor."""
        drawn = gaussian_line(n, self.points, scale=25.0**2, tau=5.0, power=4.0, rng=rng)[:, None]
        return self._solve(drawn, np.array([150.0]))[:, 0]

    @property
    def _waves(self) -> Float64[np.ndarray, " modes"]:
        return 2 * np.pi / self.length * np.arange(self.points // 2 + 1)

    @property
    def _linear(self) -> Float64[np.ndarray, " modes"]:
        return self._waves**2 - self._waves**4

    def _advection(self, v: Complex128[np.ndarray, "n 1 modes"]) -> Complex128[np.ndarray, "n 1 modes"]:
        return square_advection(v, self._waves, self.points)
