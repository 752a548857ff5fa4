"""FitzHugh and Nagumo's activator and inhibitor in two dimensions, after PDEBench."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float64
from scipy.integrate import solve_ivp

from firstlight.pde.flow.problems.problem import Histories, Problem, States


@dataclass(frozen=True)
class DiffusionReaction(Problem):
    """u_t = D_u Δu + u - u³ - k - v, v_t = D_v Δv + u - v on [-1, 1]² without flux through the boundary.

    Parameters, initial states and frames of PDEBench's ``2D_diff-react_NA_NA`` (Takamoto et al., NeurIPS 2022): white
    noise at time 0, 101 frames until time 5, finite volumes. The noise itself, frame 0, is not stored, as in the paper.

    Attributes
    ----------
    points : cells in each direction; PDEBench has 128.
    diffusion : D_u and D_v.
    k : the constant of the reaction.
    rtol : relative and absolute tolerance of the solver, SciPy's RK45; at 1e-3, as in PDEBench, it is 2e-3 off.
    """

    points: int = 32
    diffusion: tuple[float, float] = (1e-3, 5e-3)
    k: float = 5e-3
    rtol: float = 1e-6

    name: ClassVar = "diffusion-reaction"
    channels: ClassVar = ("activator", "inhibitor")
    boundary: ClassVar = "neumann"

    @property
    def times(self) -> Float64[np.ndarray, " frames"]:
        """Frames 1 to 100 of 100 equal steps from 0 to 5."""
        return np.linspace(0, 5, 101)[1:]

    @property
    def grid(self) -> Mapping[str, Float64[np.ndarray, " points"]]:
        """Centres of the cells."""
        centres = (2 * np.arange(self.points) + 1) / self.points - 1
        return {"x": centres, "y": centres}

    def initial_states(self, n: int, rng: np.random.Generator) -> States:
        """Draw a standard Gaussian number for every cell and channel."""
        return rng.standard_normal((n, 2, self.points, self.points))

    def right_hand_side(self, u: States) -> States:
        """Evaluate reaction and fluxes between cells."""
        activator, inhibitor = u[:, 0], u[:, 1]
        reaction = np.stack([activator - activator**3 - self.k - inhibitor, activator - inhibitor], axis=1)
        diffusion = np.array(self.diffusion).reshape(2, 1, 1) * (self.points / 2) ** 2
        for axis in (2, 3):
            edge = [(0, 0)] * 4
            edge[axis] = (1, 1)
            flux = np.pad(np.diff(u, axis=axis), edge)  # none through the boundary
            reaction += diffusion * np.diff(flux, axis=axis)
        return reaction

    def _solve(self, u: States, times: Float64[np.ndarray, " frames"]) -> Histories:
        """One trajectory after another, so that the steps of none depend on the others."""
        histories = np.empty((len(u), len(times), *u.shape[1:]))
        for start, history in zip(u, histories, strict=True):
            solution = solve_ivp(
                lambda _, flat: self.right_hand_side(flat.reshape(1, *u.shape[1:])).ravel(),
                (0.0, times[-1]),
                start.ravel(),
                t_eval=times,
                rtol=self.rtol,
                atol=self.rtol,
            )
            history[:] = solution.y.T.reshape(history.shape)
        return histories
