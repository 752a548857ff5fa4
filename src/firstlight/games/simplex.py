"""Euclidean projections that smooth regret matching needs, without sorting or memory of their own.

Both look for the level τ at which Σ max(vₖ − τ, 0) equals the wanted sum. Michelot (1986) climbs to it: the mean
excess of the entries above the last level is the next level, entries once below never come back, so a handful of
passes ends at the exact level. Read relative to the largest entry, no cancellation can empty the active set.
"""

import numpy as np
from jaxtyping import Float64

from firstlight.compiled import compiled


@compiled
def project(
    point: Float64[np.ndarray, " entries"],
    start: int,
    stop: int,
    radius: float,
    projected: Float64[np.ndarray, " entries"],
) -> float:
    """Euclidean projection onto D_R = {u ≥ 0, ‖u‖₁ ≥ R}, the domain of smooth regret matching.

    The negative entries become zero; if what is left sums to less than R, the nearest point lies on the
    simplex R·Δ (Farina, Grand-Clément, Kroer, Lee, Luo 2023, sec. 4).

    Parameters
    ----------
    point : the vector; only ``point[start:stop]`` is read.
    start, stop : the slice that is projected, at least one entry.
    radius : R ≥ 0.
    projected : receives the projection in the same slice; may be `point` itself.

    Returns
    -------
    The sum of the projected entries: at least R to rounding, and 0 only if R is 0.
    """
    total = 0.0
    for k in range(start, stop):
        total += max(point[k], 0.0)
    if total < radius:
        return project_simplex(point, start, stop, radius, projected)
    for k in range(start, stop):
        projected[k] = max(point[k], 0.0)
    return total


@compiled
def project_simplex(
    point: Float64[np.ndarray, " entries"],
    start: int,
    stop: int,
    radius: float,
    projected: Float64[np.ndarray, " entries"],
) -> float:
    """Euclidean projection onto the simplex R·Δ = {u ≥ 0, ‖u‖₁ = R}.

    Parameters
    ----------
    point : the vector; only ``point[start:stop]`` is read.
    start, stop : the slice that is projected, at least one entry.
    radius : R > 0.
    projected : receives the projection in the same slice; may be `point` itself.

    Returns
    -------
    The sum of the projected entries: R to rounding.
    """
    largest = point[start]
    for k in range(start + 1, stop):
        largest = max(largest, point[k])
    level = -np.inf
    active = stop - start + 1
    while True:
        count = 0
        excess = 0.0
        for k in range(start, stop):
            below_largest = point[k] - largest
            if below_largest > level:
                excess += below_largest
                count += 1
        # An entry at the level to rounding may drop out and return; without the ≥ it would do so for ever.
        if count >= active:
            break
        active = count
        level = (excess - radius) / count
    total = 0.0
    for k in range(start, stop):
        projected[k] = max(point[k] - largest - level, 0.0)
        total += projected[k]
    return total
