"""Bases carried from one grid to another: what was learned on a coarse grid starts a solver on a fine one."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float64
from scipy.interpolate import make_interp_spline

from firstlight.errors import InvalidInput


def on_grid(W: Float[np.ndarray, "n p"], grid: Sequence[int], target: Sequence[int]) -> Float64[np.ndarray, "m p"]:
    """Carry functions that vanish on the boundary of a box from its inner points to those of another grid.

    By cubic splines along one axis after the other. The columns are not orthonormal afterwards.

    Parameters
    ----------
    W : one function per column, grid points numbered row by row.
    grid : inner points along each axis, at least 2.
    target : the same of the grid that is wanted.

    Raises
    ------
    InvalidInput
        If W does not have a row for every point, or the two grids differ in dimension.
    """
    if len(W) != math.prod(grid) or len(grid) != len(target) or min(grid) < 2:
        raise InvalidInput(
            f"{len(W)} rows cannot be carried from a grid of {tuple(grid)} points to one of {tuple(target)}; give one "
            "row per point, at least 2 points per axis, and grids of one dimension"
        )
    values = np.asarray(W, float).reshape(*grid, -1)
    for axis, (old, new) in enumerate(zip(grid, target, strict=True)):
        rim = [(1, 1) if other == axis else (0, 0) for other in range(values.ndim)]
        spline = make_interp_spline(np.linspace(0, 1, old + 2), np.pad(values, rim), axis=axis)
        values = np.asarray(spline(np.linspace(0, 1, new + 2)[1:-1]))
    return values.reshape(-1, W.shape[1])
