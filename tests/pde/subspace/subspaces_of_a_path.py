"""Subspaces that turn with a parameter, for tests of predictors."""

import numpy as np
import scipy.linalg


def turning_bases(angles, n=12, k=3, speeds=(0.05, 0.12, 0.25), seed=0):
    """Bases on a geodesic, each in a random rotation of its own: column j turns by speeds[j] per unit of the angle."""
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.normal(size=(n, 2 * k)))[0]
    bases = []
    for angle in angles:
        turned = frame[:, :k] * np.cos(angle * np.array(speeds)) + frame[:, k:] * np.sin(angle * np.array(speeds))
        bases.append(turned @ scipy.linalg.qr(rng.normal(size=(k, k)))[0])
    return np.stack(bases)
