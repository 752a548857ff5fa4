"""Regret matching and its smooth descendants, each a `Minimiser` of one simplex.

All remember the regrets F = ⟨ℓ, x⟩1 − ℓ in an aggregate θ̂ and play in proportion to it. The smooth ones keep
‖θ‖₁ ≥ R, so that the strategies θ/‖θ‖₁ move no faster than the aggregate does; this makes the average of self-play
converge like 1/T. MI-SPRM+ finds the R it needs by itself.
"""

import numpy as np

from firstlight.errors import InvalidInput
from firstlight.games.minimiser import CORRECTED, RISING, SMOOTH, WATCHED, Minimiser, Rule, finish_round, new_bound

__all__ = ["AdaptiveRadius", "IREGPRMPlus", "MISPRMPlus", "PRMPlus", "RMPlus", "SOGRMPlus", "SPRMPlus"]

# The unit of R, relative to the first regrets: small enough to be out of the way until R has grown.
UNIT = 5e-5
# Relative differences below this are rounding errors of losses, regrets and aggregates.
ROUNDING = 1e-15


class RMPlus(Minimiser):
    """RM+: θ ← [θ + F]₊, the regret matching inside CFR+ (Tammelin 2014).

    Parameters
    ----------
    n_actions : number of actions, at least 1.
    """

    def __init__(self, n_actions: int) -> None:
        super().__init__(n_actions, Rule(SMOOTH, prediction=0.0))


class PRMPlus(Minimiser):
    """PRM+: RM+ that plays [θ̂ + F]₊, the last regrets predicting the next (Farina, Kroer, Sandholm 2021).

    Parameters
    ----------
    n_actions : number of actions, at least 1.
    """

    def __init__(self, n_actions: int) -> None:
        super().__init__(n_actions, Rule(SMOOTH))


class SPRMPlus(Minimiser):
    """SPRM+: PRM+ with steps η and both projections onto ‖θ‖₁ ≥ R (Farina, Grand-Clément, Kroer, Lee, Luo 2023).

    The average of self-play converges like 1/T if η/R is small enough for the payoffs; only that ratio counts.

    Parameters
    ----------
    n_actions : number of actions, at least 1.
    eta : the step η > 0.
    R : the lower bound on ‖θ‖₁, above 0.

    Raises
    ------
    InvalidInput
        If η or R is not positive.
    """

    def __init__(self, n_actions: int, eta: float = 0.1, R: float = 1.0) -> None:
        check_positive(eta=eta, R=R)
        super().__init__(n_actions, Rule(SMOOTH, step=eta, prediction=eta), total=R, radius=R)


class SOGRMPlus(Minimiser):
    """SOGRM+: like SPRM+, but the aggregate is θ + η(F − F of the round before), without a second projection.

    From "Last-iterate convergence of smooth regret matching+ variants in learning Nash equilibria" (Meng et al.,
    NeurIPS 2025); the formula is that of the authors' published code.

    Parameters
    ----------
    n_actions : number of actions, at least 1.
    eta : the step η > 0.
    R : the lower bound on ‖θ‖₁, above 0.

    Raises
    ------
    InvalidInput
        If η or R is not positive.
    """

    def __init__(self, n_actions: int, eta: float = 0.1, R: float = 1.0) -> None:
        check_positive(eta=eta, R=R)
        super().__init__(n_actions, Rule(CORRECTED, step=eta, prediction=eta), total=R, radius=R)


class IREGPRMPlus(Minimiser):
    """IREG-PRM+: PRM+ whose regret vector never shrinks in 2-norm (Zhang, Anagnostides, Sandholm 2025).

    Both θ̂ + F and the prediction are shifted to [v + γ1]₊ with the smallest γ ≥ 0 that keeps ‖·‖₂ ≥ ‖θ̂‖₂. That
    the norm never decreases is the paper's (arXiv 2510.04407); that a common shift of all entries is how it is kept
    is our reading, which we could not check against the paper's text.

    Parameters
    ----------
    n_actions : number of actions, at least 1.
    """

    def __init__(self, n_actions: int) -> None:
        super().__init__(n_actions, Rule(RISING))


class AdaptiveRadius:
    """The one R of all players of a game, as MI-SPRM+ raises it: the adaptive regret domain.

    After each round R grows if ‖Fᵗ − Fᵗ⁻¹‖² > (B(θ̂ᵗ, θᵗ⁻¹) + B(θ̂ᵗ, θᵗ))/2, norms over all players together and
    B(a, b) = ‖a − b‖²/2: if losses moved faster than iterates. Past a threshold that depends on the game it cannot.

    Parameters
    ----------
    scale : "paper" for the published rule, where R is k in units of payoff after k − 1 growths, and rounding errors
        count as movement. "auto" for ours: R is 0 at first and k^growth after k growths, in a unit of 5e-5 ‖F¹‖₂, the
        regrets of all players in the first round; so scaling all payoffs scales R and leaves the strategies alone.
    growth : the exponent of "auto", at least 1. Small ones end at a smaller R, which is better, after more rounds.

    Raises
    ------
    InvalidInput
        If the scale is another word or the exponent below 1.
    """

    def __init__(self, scale: str = "auto", growth: float = 2.0) -> None:
        if scale not in ("auto", "paper"):
            raise InvalidInput(f'scale must be "auto" or "paper", got {scale!r}')
        if not 1.0 <= growth < np.inf:
            raise InvalidInput(f"growth is the exponent with which R grows and must be at least 1, got {growth}")
        self.scale = scale
        self.bound = new_bound(0.0, learnt=UNIT, power=growth) if scale == "auto" else new_bound(1.0, power=1.0)
        self._members = 0
        self._excess = 0.0
        self._reports = 0

    @property
    def value(self) -> float:
        """R now; 0 with "auto" before anything was at stake."""
        return float(self.bound["value"])

    @property
    def increments(self) -> int:
        """How often R grew."""
        return int(self.bound["increments"])

    @property
    def last_increment(self) -> int:
        """The round after which R grew last; 0 if it never did."""
        return int(self.bound["last_increment"])

    @property
    def tightest(self) -> float:
        """The smallest ‖θ‖₁/R so far: 1 to rounding once the bound was active; ∞ while R is 0."""
        return float(self.bound["tightest"])

    def join(self) -> None:
        """Count one more player; all of them report each round."""
        self._members += 1

    def report(self, excess: float) -> None:
        """Take in a player's part of the criterion; the last report of a round decides about R."""
        self._excess += excess
        self._reports += 1
        if self._reports == self._members:
            finish_round(self.bound, self._excess)
            self._excess, self._reports = 0.0, 0


class MISPRMPlus(Minimiser):
    """MI-SPRM+: SPRM+ with η = 1 and an R that rises until it is large enough (Meng et al. 2026, algorithm 1).

    The average that converges like 1/T weighs round t by its R, ``radius.value`` before `observe`. Players of one
    game share one R::

        row = MISPRMPlus(3)
        column = MISPRMPlus(4, radius=row.radius)

    Parameters
    ----------
    n_actions : number of actions, at least 1.
    scale, growth : how R rises, see `AdaptiveRadius`.
    radius : the R of another player of the same game; then `scale` and `growth` are those it has.

    Attributes
    ----------
    radius : the `AdaptiveRadius`, with its value and how it grew.
    """

    def __init__(
        self,
        n_actions: int,
        *,
        scale: str = "auto",
        growth: float = 2.0,
        radius: AdaptiveRadius | None = None,
    ) -> None:
        self.radius = AdaptiveRadius(scale, growth) if radius is None else radius
        rounding = ROUNDING if self.radius.scale == "auto" else 0.0
        super().__init__(n_actions, Rule(WATCHED, rounding=rounding), total=self.radius.value)
        self.bound = self.radius.bound
        self.radius.join()

    def _finish_round(self, excess: float) -> None:
        self.radius.report(excess)


def check_positive(**numbers: float) -> None:
    """Refuse any of the named numbers that is not positive and finite."""
    for name, number in numbers.items():
        if not 0.0 < number < np.inf:
            raise InvalidInput(f"{name} must be positive and finite, got {number}")
