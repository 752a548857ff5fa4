"""Two weighted point clouds, checked at the door: shapes, numbers, weights."""

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float64

from firstlight.errors import InvalidInput

UNBALANCED = 1e-6  # how far the sums of both weights may differ, relative to them
LOST = 1e-3  # relative error of distances that is worth a warning
SAMPLE = 100_000  # coordinates looked at to see how far apart most points are


@dataclass(frozen=True)
class Clouds:
    """Two weighted point clouds that can be laid on trees: NumPy arrays, or PyTorch tensors of one device.

    Attributes
    ----------
    X_s, X_t : the points of positive weight, shapes (n, d) and (m, d), in one precision. The others are not part of the
        measure, nor of its trees.
    a, b : their weights in float64, each summing to 1.
    kept : which of the points given these are, a mask each; None for all.
    masses : the sums of the weights given.
    """

    X_s: Any
    X_t: Any
    a: Any
    b: Any
    kept: tuple[Any, Any]
    masses: tuple[Any, Any]

    @property
    def parts(self) -> tuple[tuple[Any, int], tuple[Any, int]]:
        """Both clouds, each with its first place among all points, sources before targets."""
        return (self.X_s, 0), (self.X_t, len(self.X_s))

    def center(self) -> Float64[np.ndarray, " d"]:
        """Return the mean of the target."""
        if is_tensor(self.X_t):
            return (self.b.to(self.X_t) @ self.X_t).double().cpu().numpy()
        return np.einsum("m,md->d", self.b, self.X_t)


def weighed_clouds(X_s: Any, X_t: Any, a: Any, b: Any) -> Clouds:
    """Check two clouds and their weights, and keep the points that weigh anything.

    Raises
    ------
    InvalidInput
        If shapes, numbers or weights cannot be used; the text says which and how to mend it.
    """
    X_s, X_t = as_points(X_s, "X_s"), as_points(X_t, "X_t")
    check_space(X_s, X_t)
    dtype = np.result_type(X_s, X_t)
    a, b = as_weights(a, len(X_s), "a"), as_weights(b, len(X_t), "b")
    masses = a.sum(), b.sum()
    check_balance(*masses)
    kept = (None if a.all() else a > 0, None if b.all() else b > 0)
    X_s, X_t = (X if mask is None else X[mask] for X, mask in zip((X_s, X_t), kept, strict=True))
    a, b = (weights if mask is None else weights[mask] for weights, mask in zip((a, b), kept, strict=True))
    X_s, X_t = X_s.astype(dtype, copy=False), X_t.astype(dtype, copy=False)
    return Clouds(X_s, X_t, a / masses[0], b / masses[1], kept, masses)


def as_points(X: Any, name: str) -> Float[np.ndarray, "n d"]:
    """Return points as a float32 or float64 array of shape (n, d); integers become float64, half precision float32.

    Tensors leave their device and PyTorch's graph.

    Raises
    ------
    InvalidInput
        If the shape is not (n, d) with n, d ≥ 1, or an entry is not a finite number whose square is one too.
    """
    points = as_array(X)
    if points.ndim != 2:
        raise InvalidInput(
            f"{name} has shape {points.shape}; points need shape (n, d). For samples on a line use x[:, None]; for a "
            "histogram give the positions of its bins as points and its heights as weights"
        )
    if not points.size:
        raise InvalidInput(f"{name} is empty, of shape {points.shape}; expected at least one point")
    if not (np.issubdtype(points.dtype, np.floating) or np.issubdtype(points.dtype, np.integer)):
        raise InvalidInput(f"{name} must hold real numbers, got dtype {points.dtype}")
    if points.dtype not in (np.float32, np.float64):
        points = points.astype(np.float32 if points.dtype == np.float16 else np.float64)
    largest = max(-points.min(), points.max())  # nan if any is, without an array of booleans as large as X
    if not np.isfinite(largest):
        row, column = np.argwhere(~np.isfinite(points))[0]
        raise InvalidInput(f"{name} must be finite, found {points[row, column]} in row {row}, column {column}")
    if largest > largest_coordinate(points.dtype):
        raise InvalidInput(
            f"{name} reaches {largest:.3g}, whose square may overflow {points.dtype}; rescale the points"
        )
    return points


def largest_coordinate(dtype: Any) -> float:
    """Return the largest coordinate whose square, and those of sums of a few, can be held."""
    return float(np.sqrt(np.finfo(dtype).max)) / 16


def as_weights(weights: Any, n: int, name: str) -> Float64[np.ndarray, " n"]:
    """Return the weights of n points in float64, equal ones for None.

    Raises
    ------
    InvalidInput
        If there is not one finite weight of at least 0 per point, or all are 0.
    """
    if weights is None:
        return np.full(n, 1 / n)
    values = np.asarray(as_array(weights), np.float64)
    if values.shape != (n,):
        raise InvalidInput(f"{name} must hold one weight per point, shape ({n},), got shape {values.shape}")
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise InvalidInput(f"{name} must be finite and at least 0, found {values[bad[0]]} at place {bad[0]}")
    if not values.any():
        raise InvalidInput(f"all weights of {name} are 0; expected a measure of positive mass")
    return values


def check_space(X_s: Any, X_t: Any) -> None:
    """Refuse clouds of different dimensions.

    Raises
    ------
    InvalidInput
        If the numbers of columns differ.
    """
    if X_s.shape[1] != X_t.shape[1]:
        raise InvalidInput(f"X_s has {X_s.shape[1]} columns and X_t {X_t.shape[1]}; both must live in one space")


def check_balance(mass_s: float, mass_t: float) -> None:
    """Refuse measures of different mass.

    Raises
    ------
    InvalidInput
        If the sums of the weights differ by more than a millionth.
    """
    if abs(mass_s - mass_t) > UNBALANCED * max(mass_s, mass_t):
        raise InvalidInput(
            f"both measures must have the same mass, got sums {mass_s:.9g} and {mass_t:.9g}; divide each by its sum"
        )


def warn_of_lost_digits(clouds: Clouds, roots: Float64[np.ndarray, "trees d"]) -> None:
    """Warn when roots lie so far off that points relative to them keep less than three digits of their distances."""
    apart, finest = [], 0.0
    for cloud, _ in clouds.parts:
        some = cloud[:: -(-len(cloud) // max(16, SAMPLE // cloud.shape[1]))]
        some = some.cpu().numpy() if is_tensor(some) else some
        apart.append(np.abs(some - np.median(some, axis=0)).mean(axis=1))
        finest = float(np.finfo(some.dtype).eps)
    apart = np.concatenate(apart)
    typical = float(np.median(apart[apart > 0])) if apart.any() else 0.0
    far = float(np.abs(roots).max())
    if finest * far > LOST * typical > 0:
        warnings.warn(
            f"digits are lost: the roots of the trees lie near {far:.3g} while most points lie {typical:.3g} apart; "
            "leave far points out, or give trees whose roots are near the others",
            stacklevel=5,
        )


def as_array(values: Any) -> np.ndarray:
    """Return numbers of any kind as an array; tensors leave their device and PyTorch's graph.

    Raises
    ------
    InvalidInput
        If a tensor has no numbers to look at.
    """
    if not is_tensor(values):
        return np.asarray(values)
    try:
        values = values.detach().cpu()
        # NumPy has no bfloat16.
        return (values.float() if values.is_floating_point() and values.itemsize < 4 else values).numpy()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise InvalidInput(
            "expected dense tensors that hold numbers; sparse and meta tensors, and those inside torch.func.grad or "
            f"vmap, are not supported, use .backward() and a loop ({error})"
        ) from error


def is_tensor(thing: Any) -> bool:
    """Whether this is a PyTorch tensor, found out without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)
