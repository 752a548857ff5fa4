"""Periodic Gaussian random fields, drawn mode by mode."""

import numpy as np
from jaxtyping import Float64


def gaussian_line(
    n: int, points: int, scale: float, tau: float, power: float, rng: np.random.Generator
) -> Float64[np.ndarray, "n points"]:
    """Draw functions on the periodic unit interval, of mean zero and covariance 2 scale² (-Δ + τ²)^(-power).

    The factor 2 is that of the normalised Fourier basis √2 cos 2πkx, √2 sin 2πkx, in which the modes are independent.
    Only modes below half the Nyquist frequency are drawn.
    """
    waves = np.arange(1, points // 4 + 1)
    size = np.sqrt(2) * scale * ((2 * np.pi * waves) ** 2 + tau**2) ** (-power / 2)
    cosines, sines = rng.standard_normal((2, n, len(waves))) * size
    modes = np.zeros((n, points // 2 + 1), complex)
    modes[:, waves] = (cosines - 1j * sines) * points / 2
    return np.fft.irfft(modes, points)


def gaussian_square(
    n: int, points: int, scale: float, tau: float, power: float, rng: np.random.Generator
) -> Float64[np.ndarray, "n points points"]:
    """Draw functions on the periodic square [0, 2π)², of mean zero and covariance scale² (-Δ + τ²)^(-power).

    Only the lower two thirds of the modes are drawn, those that solvers keep.
    """
    k = np.fft.fftfreq(points, 1 / points)
    size = scale * (k[:, None] ** 2 + k[None, :] ** 2 + tau**2) ** (-power / 2)
    size *= (np.abs(k[:, None]) <= points // 3) & (np.abs(k[None, :]) <= points // 3)
    size[0, 0] = 0.0  # the mean
    # White noise of variance 1 per point has modes of variance points²; in the normalised basis e^{ikx} / 2π it is 1.
    white = np.fft.fft2(rng.standard_normal((n, points, points)))
    return np.fft.ifft2(white * size).real * points / (2 * np.pi)
