"""Random functions on the unit box, as series of waves that can be evaluated on any grid or at the nodes of any mesh.

    S(x) = Re Σ_m c_m e^{i m·x} / (1 + 0.1 |m|²),    c_m ~ N(0, 1),  m ∈ {0, …, M-1}^d

is the series behind the coefficient fields of Fanaskov et al. 2026. Its waves are not periodic on the box, and its
coefficients know no grid: the same function is had on a coarse and on a fine one.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from jaxtyping import Float64

from firstlight.errors import InvalidInput

DECAY = 0.1
WAVES = {
    1: 100,
    2: 100,
    3: 24,
}  # M by dimension; in three, further waves would only add roughness below any grid's cell


@dataclass(frozen=True, eq=False)
class RandomSeries:
    """One random function on the unit box.

    Attributes
    ----------
    amplitudes : c_m / (1 + 0.1 |m|²), one axis per dimension.
    """

    amplitudes: Float64[np.ndarray, "..."]

    @staticmethod
    def draw(dim: int, rng: np.random.Generator) -> "RandomSeries":
        """Draw a function of `dim` = 1, 2 or 3 variables."""
        if dim not in WAVES:
            raise InvalidInput(f"expected a box of 1, 2 or 3 dimensions, got {dim}")
        numbers = np.indices((WAVES[dim],) * dim)
        return RandomSeries(rng.normal(size=numbers.shape[1:]) / (1 + DECAY * (numbers**2).sum(axis=0)))

    def on_grid(self, *axes: Float64[np.ndarray, " _"]) -> Float64[np.ndarray, "..."]:
        """Evaluate on the tensor product of the axes, at the cost of one matrix product per dimension."""
        waves = np.arange(len(self.amplitudes))

        def sum_over_last(left: np.ndarray, axis: np.ndarray) -> np.ndarray:
            # The wave numbers of the last axis are summed; the new axis of points comes first.
            return np.moveaxis(left @ np.exp(1j * np.outer(waves, axis)), -1, 0)

        return np.ascontiguousarray(np.real(reduce(sum_over_last, axes[::-1], self.amplitudes)))

    def at(self, points: Float64[np.ndarray, "n dim"]) -> Float64[np.ndarray, " n"]:
        """Evaluate at scattered points, such as the nodes of a mesh."""
        waves = np.arange(len(self.amplitudes))
        phases = [np.exp(1j * np.outer(column, waves)) for column in points.T]
        letters = "abc"[: len(phases)]
        recipe = ",".join(["z" + letter for letter in letters]) + f",{letters}->z"
        return np.einsum(recipe, *phases, self.amplitudes, optimize=True).real


def smooth_noise(n: int, roughness: float | int, power: int, rng: np.random.Generator) -> Float64[np.ndarray, " n"]:
    """Random function of one variable on `n` points, as the reference data of the one-dimensional problems draw it.

    Its Fourier coefficients are complex normal numbers times ``(1 + roughness (2π f)²)^-power`` at the frequencies f of
    ``numpy.fft.rfftfreq``, times ``sqrt(n)``. Those are frequencies per point: with more points it has more waves.
    """
    frequencies = np.fft.rfftfreq(n)
    weights = (1 + roughness * (2 * np.pi * frequencies) ** 2) ** -float(power)
    coefficients = rng.normal(size=len(weights)) + 1j * rng.normal(size=len(weights))
    return np.fft.irfft(coefficients * weights, n=n) * np.sqrt(n)
