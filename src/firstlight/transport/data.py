"""Where problems come from: the point clouds of the literature, and readers of real files.

All generators draw from a seed and return float64 points, one per row.
"""

import numpy as np
from jaxtyping import Float64
from scipy.stats import vonmises_fisher

from firstlight.errors import InvalidInput
from firstlight.transport.corpora import Corpus, read_corpus
from firstlight.transport.readers import read_image, read_samples, write_image

__all__ = [
    "Corpus",
    "eight_gaussians",
    "gaussian",
    "icosahedron",
    "read_corpus",
    "read_image",
    "read_samples",
    "rippled",
    "rippled_density",
    "swiss_roll",
    "twenty_five_gaussians",
    "write_image",
]

Seed = int | np.random.Generator | None


def eight_gaussians(n_samples: int = 500, *, seed: Seed = None) -> Float64[np.ndarray, "n 2"]:
    """Eight narrow Gaussians on a circle of radius √2, with standard deviation 0.02/√2 (Gulrajani et al. 2017)."""
    rng = _generator(n_samples, seed)
    angles = np.pi / 4 * rng.integers(8, size=n_samples)
    centers = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return (2 * centers + 0.02 * rng.standard_normal((n_samples, 2))) / np.sqrt(2)


def twenty_five_gaussians(n_samples: int = 500, *, seed: Seed = None) -> Float64[np.ndarray, "n 2"]:
    """A 5 × 5 lattice of narrow Gaussians 1/√2 apart, with standard deviation 0.05/√8 (Gulrajani et al. 2017)."""
    rng = _generator(n_samples, seed)
    centers = rng.integers(-2, 3, size=(n_samples, 2))
    return (2 * centers + 0.05 * rng.standard_normal((n_samples, 2))) / np.sqrt(8)


def swiss_roll(n_samples: int = 500, *, seed: Seed = None) -> Float64[np.ndarray, "n 2"]:
    """Draw from scikit-learn's swiss roll, seen along its axis and scaled into the square [-1, 1]²."""
    from sklearn.datasets import make_swiss_roll

    state = int(_generator(n_samples, seed).integers(2**32))
    roll = make_swiss_roll(n_samples, random_state=state)[0][:, (0, 2)]
    return roll / np.abs(roll).max()


def gaussian(n_samples: int = 500, *, d: int = 30, seed: Seed = None) -> Float64[np.ndarray, "n d"]:
    """Draw standard Gaussian points in R^d."""
    return _generator(n_samples, seed).standard_normal((n_samples, d))


def icosahedron(n_samples: int = 2400, *, kappa: float = 50.0, seed: Seed = None) -> Float64[np.ndarray, "n 3"]:
    """Twelve von Mises–Fisher bumps of concentration `kappa` on the unit sphere, at the corners of an icosahedron.

    The points are spread evenly over the corners, one corner after the other.
    """
    rng = _generator(n_samples, seed)
    golden = (1 + np.sqrt(5)) / 2
    corners = np.array([np.roll((0.0, a, b * golden), shift) for shift in range(3) for a in (-1, 1) for b in (-1, 1)])
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    counts = np.full(12, n_samples // 12) + (np.arange(12) < n_samples % 12)
    bumps = [
        vonmises_fisher(corner, kappa).rvs(count, random_state=rng)  # type: ignore[arg-type]  κ need not be whole
        for corner, count in zip(corners, counts, strict=True)
        if count
    ]
    points = np.concatenate(bumps)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def rippled_density(x: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
    """Density 1 + 0.5 sin(4πx) + 0.3 sin(40πx) on [0, 1]: a slow wave of frequency 2 and a fast one of frequency 20."""
    return 1 + 0.5 * np.sin(4 * np.pi * x) + 0.3 * np.sin(40 * np.pi * x)


def rippled(n_samples: int = 10_000, *, seed: Seed = None) -> Float64[np.ndarray, "n 1"]:
    """Draw points on [0, 1] with `rippled_density`, by rejection."""
    rng = _generator(n_samples, seed)
    kept: list[Float64[np.ndarray, " batch"]] = []
    while sum(map(len, kept)) < n_samples:
        x = rng.random(2 * n_samples)
        kept.append(x[1.8 * rng.random(len(x)) < rippled_density(x)])
    return np.concatenate(kept)[:n_samples, None]


def _generator(n_samples: int, seed: Seed) -> np.random.Generator:
    if n_samples < 1:
        raise InvalidInput(f"expected at least one sample, got n_samples={n_samples}")
    return np.random.default_rng(seed)
