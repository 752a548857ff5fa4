"""Values and gradients of sliced distances tree by tree, in memory that does not grow with their number.

The gradient is accumulated in the forward pass: each chunk of trees is solved, its derivatives are pulled back to
points and weights at once, and its arrays are used again for the next chunk.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float64

from firstlight.transport.measures import Clouds, is_tensor

BLOCK_BYTES = 1 << 20  # points are read in blocks that stay in the processor's cache
LINES_AT_ONCE = 64  # as many lines as a matrix product needs to be quick
ENTRIES_AT_ONCE = 1 << 16  # as many entries of an array as make the cost of calls negligible


class Gradients(NamedTuple):
    """Derivatives by points and weights, shaped like what they are by; None where they are not wanted."""

    X_s: Any = None
    X_t: Any = None
    a: Any = None
    b: Any = None

    @property
    def wanted(self) -> bool:
        """Whether there is any to fill."""
        return any(part is not None for part in self)

    def by_given(self, clouds: Clouds) -> "Gradients":
        """Return the derivatives by the points and weights that `clouds` were made of.

        Points of weight 0 get 0; weights were divided by their sum, which takes away the mean derivative.
        """
        a, b = (
            part if part is None else (part - part @ weights) / mass
            for part, weights, mass in zip((self.a, self.b), (clouds.a, clouds.b), clouds.masses, strict=True)
        )
        masks = (*clouds.kept, *clouds.kept)
        return Gradients(*map(_scattered, (self.X_s, self.X_t, a, b), masks))


def _scattered(part: Any, mask: Any) -> Any:
    """Put rows in their places, with zeros in the others."""
    if part is None or mask is None:
        return part
    shape = (len(mask), *part.shape[1:])
    whole = part.new_zeros(shape) if is_tensor(part) else np.zeros(shape, part.dtype)
    whole[mask] = part
    return whole


@runtime_checkable
class Slices(Protocol):
    """Two clouds laid on the trees of a system, a chunk of trees at a time.

    Attributes
    ----------
    n_trees : number of trees.
    at_once : trees of a chunk.
    gradients : where derivatives are added up; all None if none are wanted.
    """

    n_trees: int
    at_once: int
    gradients: Gradients

    def solve(self, chunk: slice) -> Float64[np.ndarray, " trees"]:
        """Return S_p^p on each tree of a chunk."""
        ...

    def pull_back(self, gain: float) -> None:
        """Add the derivatives of S_p^p, times `gain` and over all trees of the chunk solved last, to `gradients`."""
        ...


def stream(slices: Slices, p: float) -> Float64[np.ndarray, " trees"]:
    """Return S_p^p of each tree, leaving in ``slices.gradients`` the derivatives of TS_p."""
    values, gain = np.empty(slices.n_trees), 1.0
    for first in range(0, slices.n_trees, slices.at_once):
        chunk = slice(first, min(first + slices.at_once, slices.n_trees))
        values[chunk] = slices.solve(chunk)
        if slices.gradients.wanted:
            # Powers of small differences would leave the range of single precision; times this they are in it.
            gain = gain if first else root_derivative(values[chunk].mean(), p) or 1.0
            slices.pull_back(gain)
    scale = root_derivative(values.mean(), p) / (gain * slices.n_trees)
    for total in slices.gradients:
        if total is not None:
            total *= scale  # noqa: PLW2901 - in place
    return values


def root_derivative(mean: float, p: float) -> float:
    """Return the derivative of mean^{1/p}; 0 at 0, where the root has none but equal measures are a minimum."""
    return mean ** (1 / p - 1) / p if mean > 0 else 0.0


def trees_at_once(n_lines: int, d: int, n_points: int) -> int:
    """Return how many trees make a chunk: few, but enough for quick matrix products and little overhead.

    Arrays of a chunk take about as much memory as the points, a few megabytes, or a single tree.
    """
    return max(1, min(d // 8, LINES_AT_ONCE) // n_lines, ENTRIES_AT_ONCE // (n_lines * n_points))


class Block(NamedTuple):
    """Some of the points of a cloud.

    Attributes
    ----------
    rows : which of their cloud.
    places : which of all points, sources before targets.
    points : the points.
    """

    rows: slice
    places: slice
    points: Float[np.ndarray, "block d"]


def blocks(
    cloud: Float[np.ndarray, "n d"], offset: int, middle: Float[np.ndarray, " d"] | float = 0.0
) -> Iterator[Block]:
    """Go through the points of a cloud in blocks, relative to `middle`; its first point is the `offset`-th of all."""
    height = max(1, BLOCK_BYTES // cloud[:1].nbytes)
    for first in range(0, len(cloud), height):
        rows = slice(first, min(first + height, len(cloud)))
        points = np.subtract(cloud[rows], middle, order="C", dtype=cloud.dtype)
        yield Block(rows, slice(offset + rows.start, offset + rows.stop), points)
