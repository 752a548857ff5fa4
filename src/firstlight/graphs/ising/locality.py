"""How well the label can be predicted from spins within k hops: two curves of local predictors.

The benchmark's oracle truncates the sum, ŷ_i = -s_i Σ_{hop(i,j)≤k} J_ij s_j. It is not the best that is local: near
spins tell of far ones, the more so at criticality. The best linear predictor of h_i from the spins of the same ball
lies up to a decade below, and a network of k layers may rightly come under the oracle.

Both are filters: ŷ_i = -s_i Σ_j W(j - i) s_j. By Parseval's theorem the squared error of a configuration, averaged over
its N sites, is Σ_q |Ĵ(q) - Ŵ(q)|² |ŝ(q)|² / N², so that one Fourier transform serves all radii.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64, Num
from numpy import fft
from scipy import linalg

from firstlight.errors import InvalidInput
from firstlight.graphs.ising import lattices
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.sampling import SpinSamples
from firstlight.pictures import axes_or_new

CHUNK = 2**21  # spins transformed at a time
MOST_PAIRS = 4096  # sites up to which distances between all pairs are computed

Spins = SpinSamples | Num[np.ndarray, "configurations sites"]


@dataclass(frozen=True)
class LocalityCurve:
    """Error of local predictors of the label, by the radius they see.

    Attributes
    ----------
    predictor : which, in words.
    radii : hops.
    mse : squared error, averaged over sites and configurations.
    standard_error : of `mse`, over configurations.
    """

    predictor: str
    radii: Int64[np.ndarray, " radii"]
    mse: Float64[np.ndarray, " radii"]
    standard_error: Float64[np.ndarray, " radii"]

    @property
    def logmse(self) -> Float64[np.ndarray, " radii"]:
        """The benchmark's metric log₁₀ MSE; -∞ where the error is exactly 0."""
        with np.errstate(divide="ignore"):
            return np.log10(self.mse)

    @property
    def logmse_error(self) -> Float64[np.ndarray, " radii"]:
        """Standard error of `logmse`; 0 where the error is exactly 0."""
        return self.standard_error / np.maximum(self.mse, np.finfo(float).tiny) / np.log(10)

    def radius_of(self, logmse: float | int) -> int:
        """Smallest radius at which such a predictor reaches this log₁₀ MSE, or one more than the largest measured."""
        reached = np.flatnonzero(self.logmse <= logmse)
        return int(self.radii[reached[0]] if len(reached) else self.radii[-1] + 1)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw log₁₀ MSE over the radius."""
        ax = axes_or_new(ax)
        ax.plot(self.radii, self.logmse, **{"label": self.predictor} | style)
        ax.set_xlabel("radius (hops)")
        ax.set_ylabel("log₁₀ MSE")
        ax.legend()
        return ax


def oracle_curve(model: PowerLawIsing, spins: Spins, radii: Sequence[int] | None = None) -> LocalityCurve:
    """Error of the truncated sum Σ_{hop(i,j)≤k} J_ij s_j, the benchmark's oracle.

    Parameters
    ----------
    model : the couplings; off periodic lattices at most 4,096 sites.
    spins : configurations of it, at the temperature of interest.
    radii : hops; from 1 to the greatest distance if not given.
    """
    if not model.translation_invariant:
        return _truncated_sums(model, spins, radii)
    distance = model.hop_distances()
    kept = checked_radii(radii, distance)
    errors = filter_errors(model, spins, [np.where(distance <= radius, model.kernel, 0.0) for radius in kept])
    return _curve("truncated sum (oracle)", kept, errors)


def local_lmmse_curve(model: PowerLawIsing, spins: Spins, radii: Sequence[int] | None = None) -> LocalityCurve:
    """Error of the best linear predictor of h_i from the spins s_j with hop(i,j) ≤ k, s_i among them.

    Its weights solve the normal equations C w = c with C_jl = ⟨s_j s_l⟩ and c_j = ⟨h_i s_j⟩, averaged over the first
    half of the configurations and all symmetries of the lattice; the error is that on the second half. So it is
    achievable by what is local: a bound from above on the error of the best local predictor, linear or not.

    Parameters
    ----------
    model : of a periodic lattice with every cell occupied.
    spins : at least two configurations of it, at the temperature of interest.
    radii : as for `oracle_curve`.
    """
    if not model.translation_invariant:
        raise InvalidInput("the local linear predictor is made for periodic lattices with all cells occupied")
    if len(spins) < 2:
        raise InvalidInput(f"expected at least two configurations, one to fit and one to measure, got {len(spins)}")
    distance = model.hop_distances()
    kept = checked_radii(radii, distance)
    half = len(spins) // 2
    filters = best_filters(model, spins[:half], kept, distance)
    return _curve("best local linear predictor", kept, filter_errors(model, spins, filters, first=half))


def structure_factor(model: PowerLawIsing, spins: Spins) -> Float64[np.ndarray, " q"]:
    """Structure factor S(q) = ⟨|ŝ(q)|²⟩ / N over the grid of wave vectors, flattened."""
    total = np.zeros(model.shape)
    for chunk in _chunks(model, spins):
        total += (np.abs(fft.fftn(chunk, axes=range(1, chunk.ndim))) ** 2).sum(axis=0)
    return total.ravel() / (len(spins) * model.n_sites)


def best_filters(
    model: PowerLawIsing, spins: Spins, radii: Int64[np.ndarray, " radii"], distance: Int64[np.ndarray, " n"]
) -> list[Float64[np.ndarray, " n"]]:
    """Weights of the best linear predictor by displacement, for each radius.

    Displacements that a symmetry of the lattice maps onto each other share a weight, and their spins enter as one sum.
    Sorted by distance, the sums of a smaller radius come first, so that one Cholesky factor serves all radii.
    """
    orbit = _orbits(model)
    power = structure_factor(model, spins).reshape(model.shape)
    kernel_waves = fft.fftn(model.kernel.reshape(model.shape)).real
    correlation, covariance = (
        _averaged(fft.ifftn(waves).real.ravel(), orbit) for waves in (power, power * kernel_waves)
    )
    ball = np.flatnonzero(distance <= radii.max())
    ball = ball[np.lexsort(np.stack([orbit[ball], distance[ball]]))]
    starts = np.flatnonzero(np.diff(orbit[ball], prepend=-1))
    sizes = np.diff(starts, append=len(ball))
    cells = np.stack(np.unravel_index(ball, model.shape))
    gram = np.empty((len(starts), len(starts)))
    for row, start in enumerate(starts):
        apart = np.ravel_multi_index(tuple(cells - cells[:, [start]]), model.shape, mode="wrap")
        gram[row] = np.add.reduceat(correlation[apart], starts) * np.sqrt(sizes[row] / sizes)
    try:
        factor = linalg.cholesky(gram, lower=True, overwrite_a=True)
    except linalg.LinAlgError as error:
        raise InvalidInput(
            "the configurations to fit are too few or too alike for one best predictor, as where all spins are equal; "
            "give more of them, or such at a higher temperature"
        ) from error
    whitened = linalg.solve_triangular(factor, covariance[ball[starts]] * np.sqrt(sizes), lower=True)
    filters = []
    for radius in radii:
        n = int((distance[ball[starts]] <= radius).sum())
        weights = linalg.solve_triangular(factor[:n, :n], whitened[:n], lower=True, trans=1) / np.sqrt(sizes[:n])
        best = np.zeros(model.n_sites)
        inside = slice(0, sizes[:n].sum())
        best[ball[inside]] = np.repeat(weights, sizes[:n])
        filters.append(best)
    return filters


def _orbits(model: PowerLawIsing) -> Int64[np.ndarray, " n"]:
    """A number for each displacement, shared by those that reflections and exchanges of equal axes make of it."""
    steps = lattices.displacements(model.shape, periodic=True)
    if model.lattice == "triangular":  # of whose symmetries inversion is enough for us
        cells = [np.ravel_multi_index(tuple((sign * steps).T), model.shape, mode="wrap") for sign in (1, -1)]
        return np.stack(cells).min(axis=0)
    steps = np.abs(steps)
    if len(set(model.shape)) == 1:
        steps = np.sort(steps, axis=1)
    return np.asarray(np.ravel_multi_index(tuple(steps.T), model.shape))


def _averaged(values: Float64[np.ndarray, " n"], orbit: Int64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
    _, member = np.unique(orbit, return_inverse=True)
    return (np.bincount(member, values) / np.bincount(member))[member]


def filter_errors(
    model: PowerLawIsing, spins: Spins, filters: Sequence[Float64[np.ndarray, " n"]], first: int = 0
) -> Float64[np.ndarray, "measured filters"]:
    """Squared error of each filter on each configuration from the first on, averaged over sites."""
    axes = tuple(range(1, 1 + len(model.shape)))
    missing = np.stack([(model.kernel - each).reshape(model.shape) for each in filters])
    gain = np.abs(fft.rfftn(missing, axes=axes)) ** 2 / model.n_sites**2
    # A real transform leaves out the waves that mirror others; those count twice.
    gain[..., 1 : (model.shape[-1] + 1) // 2] *= 2
    gain = gain.reshape(len(filters), -1).T
    errors = [
        (np.abs(fft.rfftn(chunk, axes=axes)) ** 2).reshape(len(chunk), -1) @ gain
        for chunk in _chunks(model, spins, first)
    ]
    return np.concatenate(errors)


def _truncated_sums(model: PowerLawIsing, spins: Spins, radii: Sequence[int] | None) -> LocalityCurve:
    if model.n_sites > MOST_PAIRS:
        raise InvalidInput(f"off periodic lattices at most {MOST_PAIRS:,} sites are possible, got {model.n_sites:,}")
    distance = lattices.hops(model.edge_index, model.n_sites)
    kept, couplings = checked_radii(radii, distance), model.couplings()
    errors = []
    for radius in kept:
        beyond = np.where(distance > radius, couplings, 0.0)
        errors.append(np.concatenate([((chunk @ beyond) ** 2).mean(axis=1) for chunk in _chunks(model, spins)]))
    return _curve("truncated sum (oracle)", kept, np.stack(errors, axis=1))


def _chunks(model: PowerLawIsing, spins: Spins, first: int = 0) -> Any:
    """Configurations from the first on, some at a time: on the grid of a periodic lattice, else site by site."""
    step = max(1, CHUNK // model.n_sites)
    shape = model.shape if model.translation_invariant else (model.n_sites,)
    for start in range(first, len(spins), step):
        yield model.flattened(spins[start : start + step]).reshape(-1, *shape).astype(np.float64)


def checked_radii(radii: Sequence[int] | None, distance: Int64[np.ndarray, "..."]) -> Int64[np.ndarray, " radii"]:
    """Radii as an array, from 1 to the greatest distance if not given; refused if there is no such distance."""
    farthest = int(distance[distance < len(distance)].max())  # sites that no path reaches are at distance n
    kept = np.arange(1, farthest + 1) if radii is None else np.asarray(radii)
    if kept.ndim != 1 or not kept.size or kept.min() < 0 or kept.max() > farthest:
        raise InvalidInput(f"radii must lie between 0 and {farthest}, the greatest distance in hops, got {radii}")
    return kept.astype(np.int64)


def _curve(
    predictor: str, radii: Int64[np.ndarray, " radii"], errors: Float64[np.ndarray, "measured radii"]
) -> LocalityCurve:
    spread = errors.std(axis=0, ddof=1) if len(errors) > 1 else np.full(len(radii), np.nan)
    return LocalityCurve(predictor, radii, errors.mean(axis=0), spread / np.sqrt(len(errors)))
