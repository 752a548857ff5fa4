"""What no local model can do in the worst case, with two configurations that prove it; and the range of the task."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int8

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.couplings import PowerLawIsing


@dataclass(frozen=True, eq=False)
class LocalityCertificate:
    """Two configurations that agree within a radius of a site and whose labels there differ as much as possible.

    A model that sees no farther gives one answer to both, so it errs by at least half the gap on one of them.

    Attributes
    ----------
    model : the couplings.
    site : where the labels differ.
    radius : hops up to which the configurations agree.
    gap : difference of the two labels, 2 Σ_{hop>radius} |J_ij|.
    witnesses : the two configurations.
    """

    model: PowerLawIsing
    site: int
    radius: int
    gap: float
    witnesses: tuple[Int8[np.ndarray, " n"], Int8[np.ndarray, " n"]]

    @property
    def error_bound(self) -> float:
        """Error |ŷ_i - y_i| that a model of this radius makes on one of the two at least."""
        return self.gap / 2

    def verify(self) -> bool:
        """Whether the witnesses agree within the radius and their labels, computed directly, lie the gap apart."""
        one, other = self.witnesses
        near = self.model.hop_distances(self.site) <= self.radius
        labels = [-float(spins[self.site]) * (self.model.coupling_row(self.site) @ spins) for spins in self.witnesses]
        return bool((one[near] == other[near]).all() and np.isclose(abs(labels[0] - labels[1]), self.gap, rtol=1e-9))


def locality_certificate(model: PowerLawIsing, radius: int, site: int = 0) -> LocalityCertificate:
    """Worst case of a model that sees the spins up to some hops away (the LRIM paper's lemma 5.1, with its witnesses).

    Parameters
    ----------
    model : the couplings.
    radius : hops that the model sees, 0 or more.
    site : where its label is looked at.

    Raises
    ------
    InvalidInput
        If there is no such radius or site.
    """
    if radius < 0 or not 0 <= site < model.n_sites:
        raise InvalidInput(
            f"expected a radius of 0 or more and a site from 0 to {model.n_sites - 1}, got {radius} and {site}"
        )
    couplings = model.coupling_row(site)
    far = model.hop_distances(site) > radius
    # All far spins pull the same way, in the one configuration up and in the other down.
    one = np.where(couplings < 0, -1, 1).astype(np.int8)
    one[site] = 1
    other = np.where(far, -one, one).astype(np.int8)
    return LocalityCertificate(model, site, radius, float(2 * np.abs(couplings[far]).sum()), (one, other))


def task_range(model: PowerLawIsing, *, normalised: bool = False) -> float:
    """Range of the label, ρ = Σ_j |∂y_i/∂s_j| hop(i, j) = Σ_j |J_ij| hop(i, j), averaged over sites.

    This is the range measure of Bamberger et al. (ICML 2025) in closed form. With the size it grows like L^(1-σ) for
    σ < 1, like log L at σ = 1, and converges above.

    Parameters
    ----------
    model : the couplings, on a graph in one piece.
    normalised : divide by Σ_j |J_ij|, which gives the mean distance in hops.
    """
    sites = [0] if model.translation_invariant else range(model.n_sites)
    ranges = []
    for site in sites:
        couplings, distance = np.abs(model.coupling_row(site)), model.hop_distances(site)
        if distance.max() == model.n_sites:
            raise InvalidInput("the graph is in several pieces, between which there is no distance in hops")
        ranges.append((couplings @ distance) / (couplings.sum() if normalised else 1.0))
    return float(np.mean(ranges))
