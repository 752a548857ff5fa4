"""Optimistic first-order methods on the simplex, the peers of regret matching outside its family."""

from firstlight.games.minimiser import DESCENT, STABILISED, WEIGHTS, Minimiser, Rule
from firstlight.games.regret import check_positive

__all__ = ["OGDA", "OMWU", "DSOptMD"]


class OGDA(Minimiser):
    """OGDA, optimistic gradient descent: z ← Proj(z − ηℓ), playing Proj(z − ηℓ) once more (Popov 1980).

    Parameters
    ----------
    n_actions : number of actions, at least 1.
    eta : the step η > 0, in units of 1/payoff.

    Raises
    ------
    InvalidInput
        If η is not positive.
    """

    def __init__(self, n_actions: int, eta: float = 0.1) -> None:
        check_positive(eta=eta)
        super().__init__(n_actions, Rule(DESCENT, step=eta), total=1.0)


class OMWU(Minimiser):
    """OMWU, optimistic multiplicative weights: x ∝ exp(−η(Σℓ + ℓ)) (Rakhlin, Sridharan 2013).

    Parameters
    ----------
    n_actions : number of actions, at least 1.
    eta : the step η > 0, in units of 1/payoff.

    Raises
    ------
    InvalidInput
        If η is not positive.
    """

    def __init__(self, n_actions: int, eta: float = 0.1) -> None:
        check_positive(eta=eta)
        super().__init__(n_actions, Rule(WEIGHTS, step=eta))


class DSOptMD(Minimiser):
    """DS-OptMD: optimistic descent with the step 1/√(1 + Σ‖ℓˢ − ℓˢ⁻¹‖²), dual-stabilised.

    Hsieh, Antonakopoulos, Mertikopoulos (2021), with the Euclidean distance. It has no parameter, but its 1 is in
    units of payoff squared.

    Parameters
    ----------
    n_actions : number of actions, at least 1.
    """

    def __init__(self, n_actions: int) -> None:
        super().__init__(n_actions, Rule(STABILISED), total=1.0)
