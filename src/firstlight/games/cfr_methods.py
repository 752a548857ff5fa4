"""The table of CFR methods: how each learns, and which average of its strategies is the answer.

All of them are counterfactual regret minimisation and differ in what an information set does with its regrets.
Discounts are written as Brown and Sandholm (2019) write them: after iteration t, positive aggregates are multiplied
by t^α / (t^α + 1) and negative ones by t^β / (t^β + 1). So α = ∞ keeps them whole, and β = -∞ drops the negative
ones, which is regret matching⁺.
"""

from dataclasses import dataclass
from math import inf, isfinite

from firstlight.errors import InvalidInput
from firstlight.games.cfr_kernels import DISCOUNTED, PUBLISHED, RISING, SCALE_FREE, SMOOTH, Rule

# The usual averages, by the power of t that weighs iteration t.
AVERAGES = {"uniform": 0.0, "linear": 1.0, "quadratic": 2.0}


@dataclass(frozen=True)
class Method:
    """One way to minimise counterfactual regrets.

    Attributes
    ----------
    rule : what every information set does, in numbers for the compiled kernels.
    averaging : which average is the answer where the user chooses none: a name or the power of t.
    source : where it was published.
    radius : R at the start.
    scale_free : whether `radius` counts in payoff ranges of the game, so that the unit of the payoffs does not matter,
        or in that unit.
    weighs_by_radius : whether R is a factor of the weights of the average.
    """

    rule: Rule
    averaging: str | float
    source: str
    radius: float = 0.0
    scale_free: bool = True
    weighs_by_radius: bool = False


METHODS = {
    "cfr": Method(
        Rule(DISCOUNTED, alpha=inf, beta=inf),
        "uniform",
        "Zinkevich, Johanson, Bowling, Piccione, Regret minimization in games with incomplete information, 2007",
    ),
    "cfr+": Method(
        Rule(DISCOUNTED, alpha=inf, beta=-inf),
        "linear",
        "Tammelin, Solving large imperfect information games using CFR+, 2014",
    ),
    "linear-cfr": Method(
        Rule(DISCOUNTED, alpha=1.0, beta=1.0),
        "linear",
        "Brown, Sandholm, Solving imperfect-information games via discounted regret minimization, 2019",
    ),
    "dcfr": Method(
        Rule(DISCOUNTED, alpha=1.5, beta=0.0),
        "quadratic",
        "Brown, Sandholm, Solving imperfect-information games via discounted regret minimization, 2019",
    ),
    "pcfr+": Method(
        Rule(DISCOUNTED, alpha=inf, beta=-inf, prediction=1.0),
        "quadratic",
        "Farina, Kroer, Sandholm, Faster game solving via predictive Blackwell approachability, 2021",
    ),
    "dcfr+": Method(
        Rule(DISCOUNTED, alpha=1.5, beta=-inf),
        4.0,
        "Xu et al., Minimizing weighted counterfactual regret with optimistic online mirror descent, 2024",
    ),
    "pdcfr+": Method(
        Rule(DISCOUNTED, alpha=2.3, beta=-inf, prediction=1.0),
        5.0,
        "Xu et al., Minimizing weighted counterfactual regret with optimistic online mirror descent, 2024",
    ),
    "spcfr+": Method(
        Rule(SMOOTH, prediction=1.0),
        "quadratic",
        "Farina, Grand-Clément, Kroer, Lee, Luo, Regret matching+: (in)stability and fast convergence in games, 2023",
        radius=1.0,
        scale_free=False,
    ),
    "ireg-pcfr+": Method(
        Rule(RISING, prediction=1.0),
        "quadratic",
        "Zhang, Anagnostides, Sandholm, Scale-invariant regret matching, 2025 (arXiv 2510.04407)",
    ),
    "mi-spcfr+": Method(
        Rule(SMOOTH, prediction=1.0, growth=SCALE_FREE),
        4.0,
        "Meng et al., A faster parameter-free regret matching algorithm, ICLR 2026; R scale-free in our extension",
        radius=1e-12,
        weighs_by_radius=True,
    ),
    "mi-spdcfr+": Method(
        Rule(SMOOTH, alpha=2.3, prediction=1.0, growth=SCALE_FREE),
        4.0,
        "ours: mi-spcfr+ with the discounts of pdcfr+",
        radius=1e-12,
        weighs_by_radius=True,
    ),
}

# The published rule of MI-SPRM⁺: R starts at 1 and grows by 1, in units of payoff, whenever the criterion is positive.
AS_PUBLISHED = Method(
    Rule(SMOOTH, prediction=1.0, growth=PUBLISHED),
    "uniform",
    "Meng et al., A faster parameter-free regret matching algorithm, ICLR 2026",
    radius=1.0,
    scale_free=False,
    weighs_by_radius=True,
)


def find_method(name: str, scale: str) -> Method:
    """Return the method of this name; `scale` is ``"auto"`` or, for MI-SPCFR+, ``"paper"``.

    Raises
    ------
    InvalidInput
        If there is no such method, or no such scale for it.
    """
    if name not in METHODS:
        raise InvalidInput(f"no CFR method is named {name!r}; these are: {', '.join(METHODS)}")
    if scale == "auto":
        return METHODS[name]
    if scale != "paper":
        raise InvalidInput(f'scale must be "auto" or "paper", got {scale!r}')
    if name != "mi-spcfr+":
        raise InvalidInput(f'scale="paper" is a rule of mi-spcfr+ only; {name} has no R that grows')
    return AS_PUBLISHED


def averaging_power(averaging: str | float) -> float:
    """Return the power of t in the weights of an average; 0 for ``"last"``, which has none.

    Raises
    ------
    InvalidInput
        If it is neither the name of an average nor a number of at least 0.
    """
    if isinstance(averaging, str):
        if averaging == "last":
            return 0.0
        if averaging not in AVERAGES:
            raise InvalidInput(
                f"no average is named {averaging!r}; these are: {', '.join(AVERAGES)}, last, or a power of t"
            )
        return AVERAGES[averaging]
    if not (isfinite(averaging) and averaging >= 0):
        raise InvalidInput(f"the power of t in the weights must be a number of at least 0, got {averaging}")
    return float(averaging)
