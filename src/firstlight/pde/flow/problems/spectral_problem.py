"""Problems on a periodic box that are solved in Fourier modes, all by the same steps."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from jaxtyping import Complex128, Float64

from firstlight.pde.flow.problems.exponential_integrator import exponential_solution
from firstlight.pde.flow.problems.problem import Histories, Problem, States

Modes = Complex128[np.ndarray, "n 1 *modes"]


class SpectralProblem(Problem):
    """One field with dv/dt = L v + N(v) in its Fourier modes, L diagonal.

    Attributes
    ----------
    points : of the grid, in each direction.
    dt : largest time step of the solver.
    """

    points: int
    dt: float

    boundary: ClassVar = "periodic"

    @property
    @abstractmethod
    def _linear(self) -> Float64[np.ndarray, "*modes"]:
        """L, the eigenvalue of each mode."""

    @abstractmethod
    def _advection(self, v: Modes) -> Modes:
        """N(v), without the modes into which products would fold."""

    def right_hand_side(self, u: States) -> States:
        """Differentiate by Fourier transform, with the solver's cut-off of the quadratic term."""
        v = self._modes(u)
        return self._field(self._linear * v + self._advection(v))

    def _solve(self, u: States, times: Float64[np.ndarray, " frames"]) -> Histories:
        frames = exponential_solution(self._linear, self._advection, self._modes(u), times, self.dt)
        return np.stack([self._field(v) for v in frames], axis=1)

    def _modes(self, u: States) -> Modes:
        return np.fft.rfftn(u, axes=range(2, u.ndim))

    def _field(self, v: Complex128[np.ndarray, "n channels *modes"]) -> States:
        return np.fft.irfftn(v, s=[self.points] * (v.ndim - 2), axes=range(2, v.ndim))
