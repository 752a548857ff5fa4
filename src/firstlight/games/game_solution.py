"""The solution of a matrix game: strategies, what they prove, and how the solver got there."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float64, Int64

from firstlight.errors import InvalidInput
from firstlight.pictures import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's blue and vermilion, told apart under every colour blindness.
BLUE, VERMILION = "#0072B2", "#D55E00"


@dataclass(frozen=True, eq=False)
class RadiusTrace:
    """How the adaptive regret domain of MI-SPRM+ grew.

    Attributes
    ----------
    values : R at the checks of the solution, never decreasing.
    increments : how often it grew.
    last_increment : the iteration after which it grew last; 0 if it never did.
    tightest : the smallest ‖θ‖₁/R over all iterations, at least 1 to rounding.
    """

    values: Float64[np.ndarray, " checks"]
    increments: int
    last_increment: int
    tightest: float


@dataclass(frozen=True, eq=False)
class GameSolution:
    """Strategies of a matrix game with the proof of how good they are.

    Attributes
    ----------
    x : probabilities of the rows, whose player minimises xᵀAy.
    y : probabilities of the columns.
    value_bounds : proved lower and upper bound of the value, see `firstlight.games.matrix_payoffs.value_bounds`.
    method, averaging : how it was solved.
    iterations : how many rounds were played.
    seconds : wall-clock time, checks included.
    checked_at : iterations at which the gap was measured, increasing.
    gaps : the gaps there.
    radius : how R grew, for MI-SPRM+.
    """

    x: Float64[np.ndarray, " rows"]
    y: Float64[np.ndarray, " columns"]
    value_bounds: tuple[float, float]
    method: str
    averaging: str
    iterations: int
    seconds: float
    checked_at: Int64[np.ndarray, " checks"] = field(repr=False)
    gaps: Float64[np.ndarray, " checks"] = field(repr=False)
    radius: RadiusTrace | None = field(default=None, repr=False)

    @property
    def value(self) -> float:
        """The middle of the bounds."""
        lower, upper = self.value_bounds
        return lower + (upper - lower) / 2

    @property
    def gap(self) -> float:
        """Width of the bounds: what both players could gain together, at most."""
        lower, upper = self.value_bounds
        return upper - lower

    @property
    def slope(self) -> float:
        """Exponent of convergence, see `convergence_slope`."""
        return convergence_slope(self.checked_at, self.gaps)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the gap over iterations on double logarithmic axes, with the fitted slope.

        Parameters
        ----------
        ax : where to draw; a new figure unless given.

        Returns
        -------
        The axes.

        Raises
        ------
        InvalidInput
            If no gap was measured on the way, as with the linear program.
        """
        if not len(self.checked_at):
            raise InvalidInput(f"{self.method} measured no gap on the way, so there is no curve to draw")
        ax = axes_or_new(ax)
        ax.loglog(self.checked_at, self.gaps, "o-", color=BLUE, markersize=3, label=f"{self.method}, {self.averaging}")
        late = _late(self.checked_at, self.gaps)
        if late.sum() > 1:
            iterations, gaps = self.checked_at[late], self.gaps[late]
            # The least-squares line goes through the means.
            centre, height = np.log(iterations).mean(), np.log(gaps).mean()
            fitted = np.exp(height + self.slope * (np.log(iterations) - centre))
            ax.loglog(iterations, fitted, "--", color=VERMILION, label=f"slope {self.slope:.2f}")
        ax.set_xlabel("iterations")
        ax.set_ylabel("duality gap (payoff units)")
        ax.legend(frameon=False)
        return ax


def convergence_slope(checked_at: Int64[np.ndarray, " checks"], gaps: Float64[np.ndarray, " checks"]) -> float:
    """Least-squares slope of log gap over log iterations.

    Fitted to the checks past the square root of the last iteration, so that the start does not count; NaN when fewer
    than two gaps there are positive.
    """
    late = _late(checked_at, gaps)
    if late.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(checked_at[late]), np.log(gaps[late]), 1)[0])


def _late(
    checked_at: Int64[np.ndarray, " checks"], gaps: Float64[np.ndarray, " checks"]
) -> Bool[np.ndarray, " checks"]:
    return (checked_at >= np.sqrt(checked_at.max(initial=0))) & (gaps > 0)
