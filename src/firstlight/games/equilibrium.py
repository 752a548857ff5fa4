"""The result of solving a game: strategies, their certificate, and how the solver got there."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64, Int64

from firstlight.errors import InvalidInput
from firstlight.games.certificate import Certificate, certify
from firstlight.games.profile import Profile
from firstlight.pictures import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Certificate", "Equilibrium", "Profile", "certify"]

# Okabe and Ito's blue and vermilion, told apart under every colour blindness.
BLUE, VERMILION = "#0072B2", "#D55E00"


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An approximate equilibrium with the proof of how good it is.

    Solvers build it as ``Equilibrium(profile, certify(game, profile), method=…, iterations=…, seconds=…)`` and add
    what they recorded on the way.

    Attributes
    ----------
    profile : the strategies of both players.
    certificate : exact best responses against them; its figures are also here as `value`, `value_bounds`,
        `nash_conv` and `exploitability`.
    method : the solver, for example ``"mi-spcfr+"``.
    iterations : how many iterations it ran.
    seconds : wall-clock time of the solve, certificate included.
    checked_at : iterations at which exploitability was measured, increasing.
    exploitabilities : what was measured there, of the average profile.
    radii : of the methods with a radius R, R at those iterations; None for the others.
    """

    profile: Profile
    certificate: Certificate
    method: str
    iterations: int
    seconds: float
    checked_at: Int64[np.ndarray, " checks"] = field(default_factory=lambda: np.empty(0, np.int64))
    exploitabilities: Float64[np.ndarray, " checks"] = field(default_factory=lambda: np.empty(0))
    radii: Float64[np.ndarray, " checks"] | None = None

    @property
    def value(self) -> float:
        """What player 1 expects under the profile."""
        return self.certificate.value

    @property
    def value_bounds(self) -> tuple[float, float]:
        """Lowest and highest possible value of the game for player 1."""
        return self.certificate.value_bounds

    @property
    def nash_conv(self) -> float:
        """Sum of what both players would gain by best responses."""
        return self.certificate.nash_conv

    @property
    def exploitability(self) -> float:
        """Half of NashConv, the convention of OpenSpiel."""
        return self.certificate.exploitability

    @property
    def slope(self) -> float:
        """Exponent of convergence: least-squares slope of log exploitability over log iterations.

        Fitted to the measurements past the square root of the last iteration count, so that the start does not
        count; NaN when fewer than two of them are positive.
        """
        times, exploitabilities = self._late()
        if len(times) < 2:
            return float("nan")
        return float(np.polyfit(np.log(times), np.log(exploitabilities), 1)[0])

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw exploitability over iterations on double logarithmic axes, with the fitted slope.

        Parameters
        ----------
        ax : where to draw; a new figure unless given.

        Returns
        -------
        The axes.

        Raises
        ------
        InvalidInput
            If nothing was measured on the way, as after `lp_solve`.
        """
        if not len(self.checked_at):
            raise InvalidInput(f"{self.method} recorded no exploitability on the way, so there is no curve to draw")
        ax = axes_or_new(ax)
        ax.loglog(self.checked_at, self.exploitabilities, "o-", color=BLUE, markersize=3, label=self.method)
        times, exploitabilities = self._late()
        if len(times) > 1:
            # The least-squares line goes through the means.
            centre, height = np.log(times).mean(), np.log(exploitabilities).mean()
            fitted = np.exp(height + self.slope * (np.log(times) - centre))
            ax.loglog(times, fitted, "--", color=VERMILION, label=f"slope {self.slope:.2f}")
        ax.set_xlabel("iterations")
        ax.set_ylabel("exploitability (payoff units)")
        ax.legend(frameon=False)
        return ax

    def _late(self) -> tuple[Int64[np.ndarray, " late"], Float64[np.ndarray, " late"]]:
        late = (self.checked_at >= np.sqrt(self.checked_at.max(initial=0))) & (self.exploitabilities > 0)
        return self.checked_at[late], self.exploitabilities[late]
