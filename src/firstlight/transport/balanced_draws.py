"""Random draws that are balanced against each other, so that means over them vary less than over independent ones.

Each single draw has exactly the distribution asked for; only draws of one call depend on each other. In the plane and
in space, directions are read off a shifted lattice (Cools, Kuo, Nuyens 2006 on such rules); in higher dimensions, each
run of d directions is an orthonormal basis of random orientation.
"""

from functools import lru_cache
from math import gcd

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtri

CANDIDATES_BY_POINTS = 1 << 22  # bounds the table by which a lattice is searched for


def shifted_lattice(n: int, d: int, rng: np.random.Generator) -> Float64[np.ndarray, "n d"]:
    """Draw n points, each uniform in [0, 1)^d, that together fill it evenly.

    They are those of a rank-1 lattice, moved by one random shift.
    """
    size = n
    while len(_coprime(size)) < d:  # too few generators to fill d dimensions with
        size += 1
    points = np.outer(np.arange(size), _generator(size, d)) / size
    if size > n:
        points = points[np.sort(rng.permutation(size)[:n])]
    return (points + rng.random(d)) % 1


def _coprime(n: int) -> list[int]:
    """Return the numbers up to n/2 that have no divisor in common with n; those above only mirror them."""
    return [k for k in range(1, n // 2 + 1) if gcd(k, n) == 1]


@lru_cache(maxsize=256)
def _generator(n: int, d: int) -> tuple[int, ...]:
    """Find the generator of a good lattice of n points, one component after the other.

    Each component makes the worst-case error least in a space of periodic functions, ∏ (1 + γ 2π² B₂), γ = 1/2.
    """
    candidates = _coprime(n)
    most = max(d, CANDIDATES_BY_POINTS // n)
    if len(candidates) > most:
        candidates = np.random.default_rng(0).choice(candidates, most, replace=False).tolist()
    x = np.arange(n) / n
    bernoulli = np.pi**2 * (x * x - x + 1 / 6)
    factors = 1 + bernoulli[np.outer(candidates, np.arange(n)) % n]
    product, found = np.ones(n), []
    for _ in range(d):
        best = int(np.argmin(factors @ product)) if found else 0
        found.append(int(candidates[best]))
        product *= factors[best]
    return tuple(found)


def normal_quantiles(uniform: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "n d"]:
    """Turn uniform numbers into normal ones, by a fold that joins the ends of the interval."""
    return ndtri(np.clip(np.abs(2 * uniform - 1), 1e-12, 1 - 1e-12))


def directions_in_space(uniform: Float64[np.ndarray, "*draws 2"]) -> Float64[np.ndarray, "*draws 3"]:
    """Turn pairs of uniform numbers into uniform unit vectors: height and azimuth, by Archimedes' hat-box theorem."""
    height, azimuth = 2 * uniform[..., 0] - 1, 2 * np.pi * uniform[..., 1]
    radius = np.sqrt(1 - height**2)
    return np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), height], axis=-1)


def random_bases(n: int, d: int, rng: np.random.Generator) -> Float64[np.ndarray, "n d"]:
    """Draw n uniform unit vectors, orthonormal in each run of d."""
    bases = []
    for first in range(0, n, d):
        count = min(d, n - first)
        q, r = np.linalg.qr(rng.standard_normal((d, count)))
        bases.append((q * np.sign(np.diagonal(r))).T)  # with these signs q has the uniform distribution
    return np.concatenate(bases)


def paired_normals(n: int, d: int, rng: np.random.Generator) -> Float64[np.ndarray, "n d"]:
    """Draw n standard normal vectors in opposite pairs, in random order."""
    half = rng.standard_normal((-(-n // 2), d))
    return np.concatenate([half, -half])[rng.permutation(2 * len(half))[:n]]
