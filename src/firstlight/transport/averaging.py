"""The mean over trees: what planar and spherical distances share, for NumPy and PyTorch alike."""

from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from firstlight.errors import InvalidInput
from firstlight.transport.measures import Clouds, is_tensor, weighed_clouds
from firstlight.transport.streaming import Gradients, Slices, stream


@runtime_checkable
class Method(Protocol):
    """How clouds are laid on trees."""

    @property
    def p(self) -> float:
        """Order of the distance."""
        ...

    def choose_trees(self, clouds: Clouds) -> Any:
        """Return the trees to use for two clouds."""
        ...

    def slices(self, clouds: Clouds, trees: Any, gradients: Gradients) -> Slices:
        """Return the clouds on the trees, ready to add derivatives to `gradients`."""
        ...


def sliced_distance(X_s: Any, X_t: Any, a: Any, b: Any, method: Method, *, log: bool) -> Any:
    """Return (mean of S_p^p over trees)^{1/p}, with POT's habits: a log on request, tensors for tensors."""
    with_torch = any(map(is_tensor, (X_s, X_t, a, b)))
    if with_torch:
        from firstlight.transport.tensors import alike, weighed_tensors, with_derivatives

        X_s, X_t, a, b = alike(X_s, X_t, a, b)
        clouds = weighed_tensors(X_s, X_t, a, b)
    else:
        clouds = weighed_clouds(X_s, X_t, a, b)
    trees = method.choose_trees(clouds)

    def solve(gradients: Gradients) -> Float64[np.ndarray, " trees"]:
        return stream(method.slices(clouds, trees, gradients), method.p)

    if with_torch:
        values, distance = with_derivatives((X_s, X_t, a, b), clouds, solve, method.p)
    else:
        values = solve(Gradients())
        distance = float(values.mean() ** (1 / method.p))
    if not log:
        return distance
    return distance, {"trees": trees, "tree_values": values, "standard_error": standard_error(values, method.p)}


def standard_error(values: Float64[np.ndarray, " trees"], p: float) -> float:
    """Monte-Carlo standard error of (mean of values)^{1/p}, by the delta method; NaN for a single tree."""
    mean = values.mean()
    if len(values) < 2 or mean == 0:
        return float("nan") if len(values) < 2 else 0.0
    return float(values.std(ddof=1) / np.sqrt(len(values)) * mean ** (1 / p - 1) / p)


def sharpness(delta: float | int, splitting: str) -> float | None:
    """Check how masses are split: δ for a split by distance, None for an even one.

    Raises
    ------
    InvalidInput
        If `splitting` is unknown, or δ is not a finite number of at least 0.
    """
    if splitting not in ("distance", "uniform"):
        raise InvalidInput(f"splitting must be 'distance' or 'uniform', got {splitting!r}")
    if not (isinstance(delta, Real) and 0 <= delta < np.inf):
        raise InvalidInput(f"delta must be a finite number of at least 0, got {delta!r}")
    return float(delta) if splitting == "distance" else None
