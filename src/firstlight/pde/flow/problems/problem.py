"""What every problem offers: random initial states, a right-hand side, and a reference solution."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float64

from firstlight.errors import InvalidInput

States = Float64[np.ndarray, "n channels *space"]
Histories = Float64[np.ndarray, "n frames channels *space"]


class Problem(ABC):
    r"""An autonomous system du/dt = N(u), discrete in space, with a solver that can be trusted.

    States are arrays of shape (n, channels, \*space). A problem is a frozen dataclass: its fields are its parameters.

    Attributes
    ----------
    name : as the command line and the shipped weights call it.
    channels : names of the fields.
    boundary : how a network should pad the grid, or ``"none"`` where there is no grid.
    """

    name: ClassVar[str]
    channels: ClassVar[tuple[str, ...]]
    boundary: ClassVar[Literal["periodic", "neumann", "none"]]

    @property
    @abstractmethod
    def times(self) -> Float64[np.ndarray, " frames"]:
        """Times of the frames that are stored, counted from the initial state."""

    @property
    @abstractmethod
    def grid(self) -> Mapping[str, Float64[np.ndarray, " points"]]:
        """Coordinates of the points of each axis of space, in the order of the axes."""

    @abstractmethod
    def initial_states(self, n: int, rng: np.random.Generator) -> States:
        """Draw states at time zero."""

    @abstractmethod
    def right_hand_side(self, u: States) -> States:
        """Evaluate N(u), the velocity that a learned field is held against."""

    @abstractmethod
    def _solve(self, u: States, times: Float64[np.ndarray, " frames"]) -> Histories:
        """Solve from states at time zero."""

    def solve(self, u: States, times: Float64[np.ndarray, " frames"] | None = None) -> Histories:
        """Solve from states at time zero.

        Parameters
        ----------
        u : states at time zero.
        times : when the solution is wanted, not before zero and increasing; `times` of the problem unless given.

        Raises
        ------
        InvalidInput
            If times decrease or begin before zero, or the states do not lie on the problem's grid.
        """
        times = self.times if times is None else times
        if not (len(times) and times[0] >= 0 and (np.diff(times) > 0).all()):
            raise InvalidInput(f"expected times that begin at or after 0 and increase, got {times[:4]} …")
        shape = (len(self.channels), *(len(points) for points in self.grid.values()))
        if u.shape[1:] != shape:
            raise InvalidInput(f"expected states of {self.name} of shape {shape} after the first axis, got {u.shape}")
        return self._solve(u, times)
