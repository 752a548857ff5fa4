"""Drawing the bonds of the cluster algorithm in time proportional to the number of sites.

A pair (i, j) is joined with probability 1 - exp(-2 |J_ij| / T) if its bond is satisfied. That is the chance of at least
one event of a Poisson process of rate 2 |J_ij| / T, and events of many pairs are drawn at once: their number from a
Poisson distribution, and the pair of each by Walker's alias method (Luijten & Blöte 1995; Fukui & Todo 2009).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, Int64
from scipy.stats import poisson

from firstlight.compiled import compiled
from firstlight.errors import InvalidInput
from firstlight.graphs.ising import lattices
from firstlight.graphs.ising.couplings import PowerLawIsing

MOST_EVENTS = 1e4  # per site; at the critical temperature there is about one


class LatticeBonds(NamedTuple):
    """Bonds that cells propose to others at random displacements; a pair is proposed from both of its ends.

    Attributes
    ----------
    shape : cells along three axes, of which those that the lattice lacks have length 1.
    periodic : whether displacements wrap around; else those that lead out of the lattice are void.
    count_distribution : cumulative distribution of the number of proposals of a row of cells in a sweep, ending in 1.
    steps : the displacements, in three dimensions.
    threshold, alias : Walker's table over the displacements.
    """

    shape: tuple[int, int, int]
    periodic: bool
    count_distribution: Float64[np.ndarray, " counts"]
    steps: Int32[np.ndarray, "displacements 3"]
    threshold: Float64[np.ndarray, " displacements"]
    alias: Int32[np.ndarray, " displacements"]


class PairBonds(NamedTuple):
    """Bonds of any couplings, drawn among all pairs.

    Attributes
    ----------
    mean_count : mean number of events in a sweep.
    pairs : the two sites of every pair that is coupled.
    sign : of their coupling, +1 or -1.
    threshold, alias : Walker's table over the pairs.
    """

    mean_count: float
    pairs: Int32[np.ndarray, "pairs 2"]
    sign: Int32[np.ndarray, " pairs"]
    threshold: Float64[np.ndarray, " pairs"]
    alias: Int32[np.ndarray, " pairs"]


def lattice_bonds(model: PowerLawIsing, temperature: float) -> LatticeBonds:
    """Bonds of a lattice at a temperature, O(N) memory."""
    periodic = model.boundary == "periodic"
    coupled = model.kernel > 0
    weight = model.kernel[coupled]
    steps = lattices.displacements(model.shape, periodic)[coupled]
    missing = 3 - len(model.shape)
    # Rate J/T from each end makes 2 J/T for the pair.
    rate = model.shape[-1] * _checked_rate(weight.sum() / temperature, temperature)
    counts = np.arange(int(rate + 20 * np.sqrt(rate)) + 40)
    distribution = poisson.cdf(counts, rate)
    distribution[-1] = 1.0
    threshold, alias = alias_table(weight)
    return LatticeBonds(
        (*(1,) * missing, *model.shape),  # type: ignore[arg-type]  three in all
        periodic,
        distribution,
        np.pad(steps, ((0, 0), (missing, 0))).astype(np.int32),
        threshold,
        alias,
    )


def pair_bonds(model: PowerLawIsing, temperature: float) -> PairBonds:
    """Bonds of a matrix of couplings at a temperature, O(N²) memory."""
    pairs = np.argwhere(np.triu(model.couplings()) != 0)
    couplings = model.couplings()[tuple(pairs.T)]
    if not len(pairs):
        raise InvalidInput("all couplings are 0, so that there is nothing to sample; spins are independent")
    rate = 2 * np.abs(couplings).sum() / temperature
    _checked_rate(rate / model.n_sites, temperature)
    threshold, alias = alias_table(np.abs(couplings))
    return PairBonds(
        float(rate), pairs.astype(np.int32), np.where(couplings > 0, 1, -1).astype(np.int32), threshold, alias
    )


def alias_table(
    weight: Float64[np.ndarray, " outcomes"],
) -> tuple[Float64[np.ndarray, " outcomes"], Int32[np.ndarray, " outcomes"]]:
    """Walker's table of a distribution: draw a column evenly, keep it with its threshold's probability, else its alias.

    Parameters
    ----------
    weight : positive, in proportion to the probabilities.
    """
    threshold = weight * (len(weight) / weight.sum())
    alias = np.arange(len(weight), dtype=np.int32)
    _fill_aliases(threshold, alias, np.argsort(threshold, kind="stable"))
    return threshold, alias


@compiled
def _fill_aliases(
    threshold: Float64[np.ndarray, " outcomes"],
    alias: Int32[np.ndarray, " outcomes"],
    order: Int64[np.ndarray, " outcomes"],
) -> None:
    """Let rich columns give of their excess to poor ones until every column holds exactly 1."""
    rich = len(order) - 1
    poor = 0
    waiting = order[poor]
    while poor < rich:
        giver = order[rich]
        alias[waiting] = giver
        threshold[giver] -= 1 - threshold[waiting]
        if threshold[giver] < 1:
            waiting = giver  # it has become the poorest in need
            rich -= 1
        else:
            poor += 1
            waiting = order[poor]
    # What is left differs from 1 by rounding alone.
    for k in range(len(order)):
        if alias[k] == k:
            threshold[k] = 1.0


def _checked_rate(rate: float, temperature: float) -> float:
    if not rate <= MOST_EVENTS:
        raise InvalidInput(
            f"at temperature {temperature:g} nearly all spins are frozen into one cluster, and drawing it costs "
            f"{rate:.3g} events per site; raise the temperature to at least {temperature * rate / MOST_EVENTS:.3g}"
        )
    return float(rate)
