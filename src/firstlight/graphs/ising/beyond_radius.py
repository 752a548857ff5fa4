"""Whether a model uses more than what any linear predictor could make of the spins within some hops."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64, Int64
from scipy import stats

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.locality import Spins, best_filters, checked_radii, filter_errors


@dataclass(frozen=True)
class BeyondRadius:
    """Tests of a model against the best local linear predictor, radius by radius.

    Attributes
    ----------
    radii : hops.
    p_values : chance of a lead as large as the model's, or larger, if its true error were that of the predictor.
    """

    radii: Int64[np.ndarray, " radii"]
    p_values: Float64[np.ndarray, " radii"]

    def radius(self, level: float = 0.01) -> int:
        """Largest radius beyond which the model is seen to go, or one less than the smallest tested.

        Radii are tested in ascending order until one fails, so that the chance of a radius too large is `level` in all.
        """
        fails = np.flatnonzero(~(self.p_values <= level))
        return int(self.radii[0] - 1 + (fails[0] if len(fails) else len(self.radii)))


def beyond_radius(
    model: PowerLawIsing,
    spins: Spins,
    predicted: Float[np.ndarray, "configurations sites"],
    radii: Sequence[int] | None = None,
) -> BeyondRadius:
    """Test whether predicted labels are better than linear prediction from the spins within each radius.

    Each is a one-sided paired t-test over configurations. The linear predictor is fitted to the first half of them, and
    both are measured on the second. A model that passes has used either spins farther away or more than linear
    relations; one that fails may still see far.

    Parameters
    ----------
    model : of a periodic lattice with every cell occupied.
    spins : independent configurations, which the network that is tested was not trained on.
    predicted : labels -s_i h_i that it predicts for them.
    radii : neighbouring hops in ascending order; from 1 to the greatest distance but one if not given.

    Raises
    ------
    InvalidInput
        If shapes do not fit, there are fewer than four configurations, or radii have gaps.
    """
    if not model.translation_invariant:
        raise InvalidInput("the local linear predictor is made for periodic lattices with all cells occupied")
    if len(spins) < 4 or predicted.shape != (len(spins), model.n_sites):
        raise InvalidInput(
            f"expected at least four configurations and predictions of shape {(len(spins), model.n_sites)}, got "
            f"{predicted.shape}"
        )
    distance = model.hop_distances()
    kept = checked_radii(range(1, distance.max()) if radii is None else radii, distance)
    if (np.diff(kept) != 1).any():
        raise InvalidInput(f"radii must be neighbouring and ascending, such as range(1, 9), got {kept.tolist()}")
    half = len(spins) // 2
    linear = filter_errors(model, spins, best_filters(model, spins[:half], kept, distance), first=half)
    own = ((predicted[half:] - model.target(spins[half:])) ** 2).mean(axis=1)
    lead = linear - own[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = lead.mean(axis=0) / (lead.std(axis=0, ddof=1) / np.sqrt(len(lead)))
    return BeyondRadius(kept, np.asarray(stats.t.sf(t, len(lead) - 1)))
