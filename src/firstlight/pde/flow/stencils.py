"""Derivatives at the points of an uneven grid, from the polynomial through the nearest of them."""

import numpy as np
from jaxtyping import Float, Float64, Int64

from firstlight.compiled import compiled


def stencils(
    t: Float64[np.ndarray, " times"], points: int
) -> tuple[Int64[np.ndarray, " times"], Float64[np.ndarray, "times points"], Float64[np.ndarray, "times points"]]:
    """Weights of the first and second derivative at every time.

    The polynomial through the values at t_j is Σ_j u_j L_j, with L_j(t) = Π_m (t − t_m)/(t_j − t_m), m ≠ j; its
    derivatives at a node follow from the lowest coefficients of the numerators, as polynomials in t minus that node.

    Parameters
    ----------
    t : increasing times, at least `points` of them.
    points : how many neighbouring times a stencil spans; at the ends it is one-sided.

    Returns
    -------
    start : index of the first time of each stencil.
    first, second : so that u'(t_i) = Σ_j ``first[i, j]`` u(t_{start[i] + j}), and likewise u''.
    """
    start = np.clip(np.arange(len(t)) - points // 2, 0, len(t) - points)
    nodes = t[start[:, None] + np.arange(points)] - t[:, None]
    weights = np.empty((2, len(t), points))
    for j in range(points):
        others = np.delete(nodes, j, axis=1)
        constant, linear, square = np.ones(len(t)), np.zeros(len(t)), np.zeros(len(t))
        for node in others.T:  # multiply by (d − node), d = t − t_i
            constant, linear, square = -node * constant, constant - node * linear, linear - node * square
        denominator = np.prod(nodes[:, j, None] - others, axis=1)
        weights[:, :, j] = linear / denominator, 2 * square / denominator
    return start, weights[0], weights[1]


def apply_stencils(
    u: Float[np.ndarray, "times space"],
    start: Int64[np.ndarray, " times"],
    first: Float64[np.ndarray, "times points"],
    second: Float64[np.ndarray, "times points"],
) -> tuple[Float[np.ndarray, "times space"], Float[np.ndarray, "times space"]]:
    """Both derivatives of every column of `u`, summed in double precision, rounded to that of `u`."""
    outcome = np.empty_like(u), np.empty_like(u)
    _apply(np.ascontiguousarray(u), start, first, second, *outcome)
    return outcome


@compiled
def _apply(u, start, first, second, u_t, u_tt):
    times, points = first.shape
    for i in range(times):
        for x in range(u.shape[1]):
            slope = bend = 0.0
            for j in range(points):
                value = u[start[i] + j, x]
                slope += first[i, j] * value
                bend += second[i, j] * value
            u_t[i, x] = slope
            u_tt[i, x] = bend
