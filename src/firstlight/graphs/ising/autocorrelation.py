"""How long a Markov chain remembers: autocorrelation, its integral, and the number of independent samples."""

import numpy as np
from jaxtyping import Float64
from numpy import fft
from scipy.fft import next_fast_len

WINDOW = 6.0  # the sum of autocorrelations ends at this many autocorrelation times (Sokal 1997, sec. 3)


def autocorrelation(series: Float64[np.ndarray, "chains draws"]) -> Float64[np.ndarray, " draws"]:
    """Autocorrelation ρ(t) of a quantity along independent chains of equal length, ρ(0) = 1.

    The mean is that over all chains, so that with many of them short chains do not hide slow modes. A quantity that
    never changes has ρ(t) = 0 at t > 0.
    """
    n = series.shape[1]
    spread = series - series.mean()
    padded = int(next_fast_len(2 * n, real=True) or 0)
    waves = fft.rfft(spread, padded, axis=1)
    sums = fft.irfft((np.abs(waves) ** 2).sum(axis=0), padded)[:n]
    covariance = sums / np.arange(n, 0, -1)
    if covariance[0] <= 1e-24 * (series**2).max() * len(series):  # rounding alone
        return (np.arange(n) == 0).astype(np.float64)
    return covariance / covariance[0]


def integrated_time(series: Float64[np.ndarray, "chains draws"]) -> float:
    """Integrated autocorrelation time τ = ½ + Σ_{t≥1} ρ(t), in steps of the series; ½ for independent draws.

    The sum ends at the first t ≥ 6 τ(t), which balances bias against noise (Sokal 1997).
    """
    tau = np.cumsum(autocorrelation(series)) - 0.5
    enough = np.flatnonzero(np.arange(len(tau)) >= WINDOW * tau)
    return float(max(0.5, tau[enough[0] if len(enough) else -1]))
