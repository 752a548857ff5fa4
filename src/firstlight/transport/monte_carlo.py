"""How far a mean over random trees is from the mean over all: its rate, and what balanced trees save."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from firstlight.transport.tree_sampling import Sampling, sample_tree_system
from firstlight.transport.tree_sliced import tree_sliced_sobolev

Row = dict[str, Any]
N_POINTS = 100
SAMPLINGS: tuple[Sampling, Sampling] = ("independent", "balanced")


def monte_carlo_errors(
    numbers_of_trees: Sequence[int] = (4, 8, 16, 32, 64), *, d: int, p: float, pool: int, seed: int
) -> list[Row]:
    """Root mean square relative errors of the distance on independent trees, by number of trees.

    A pool of trees is cut into systems of each size; the mean over the whole pool stands for the exact distance.

    Returns
    -------
    A row for each number of trees, with its error and how many systems were averaged.
    """
    X, Y = _two_gaussians(d, seed)
    trees = sample_tree_system(Y.mean(axis=0), pool, 4, sampling="independent", seed=seed)
    exact, log = tree_sliced_sobolev(X, Y, trees=trees, p=p, log=True)
    rows = []
    for n_trees in numbers_of_trees:
        systems = log["tree_values"][: pool // n_trees * n_trees].reshape(-1, n_trees)
        errors = systems.mean(axis=1) ** (1 / p) / exact - 1
        rows.append({"trees": n_trees, "error": float(np.sqrt(np.mean(errors**2))), "systems": len(systems)})
    return rows


def fitted_slope(rows: Iterable[Row]) -> float:
    """Return the exponent of the error in the number of trees, by least squares on logarithms."""
    trees, errors = np.array([(row["trees"], row["error"]) for row in rows]).T
    return float(np.polyfit(np.log(trees), np.log(errors), 1)[0])


def balancing_gains(
    dimensions: Iterable[int] = (2, 3, 5, 10, 30, 100),
    orders: Iterable[float] = (1.0, 1.5, 2.0),
    *,
    n_trees: int,
    repeats: int,
    seed: int,
    reference: int = 4000,
) -> list[Row]:
    """Root mean square errors of the distance on independent and on balanced trees, and their ratio.

    Returns
    -------
    A row for each dimension and order, with relative errors against the mean over many balanced trees.
    """
    rows = []
    for d in dimensions:
        X, Y = _two_gaussians(d, seed)
        rng = np.random.default_rng(seed)
        many = sample_tree_system(Y.mean(axis=0), reference, 4, seed=rng)
        systems = {
            sampling: [
                sample_tree_system(Y.mean(axis=0), n_trees, 4, sampling=sampling, seed=rng) for _ in range(repeats)
            ]
            for sampling in SAMPLINGS
        }
        for p in orders:
            exact = tree_sliced_sobolev(X, Y, trees=many, p=p)
            row: Row = {"d": d, "p": p, "trees": n_trees}
            for sampling, drawn in systems.items():
                found = np.array([tree_sliced_sobolev(X, Y, trees=trees, p=p) for trees in drawn])
                row[sampling] = float(np.sqrt(np.mean((found / exact - 1) ** 2)))
            rows.append(row | {"gain": row["independent"] / row["balanced"]})
    return rows


def _two_gaussians(d: int, seed: int) -> tuple[Float64[np.ndarray, "n d"], Float64[np.ndarray, "n d"]]:
    """Draw two clouds of unit variance, one standard deviation apart."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N_POINTS, d)), rng.standard_normal((N_POINTS, d)) + 1 / np.sqrt(d)
