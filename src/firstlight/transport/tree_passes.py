"""Compiled passes over a rooted tree: the regularised Sobolev distance in closed form, and its derivatives.

Edges are named by their lower vertex. A parent stands before its children and vertex 0 is the root, so that going up is
a loop backwards and going down a loop forwards. For the formulas see `sobolev_tree`.
"""

import numpy as np
from jaxtyping import Float64, Int32

from firstlight.compiled import compiled

SHORT = 1e-4  # edges of this relative length are summed by a series
NO_MASS = 1e-15  # a difference of masses this near 0 is rounding, and its sign means nothing


@compiled
def power(size: float, p: float) -> float:
    """|D|^p for D ≥ 0, quick at the orders people use."""
    if p == 2.0:
        return size * size
    if p == 1.5:
        return size * np.sqrt(size)
    if p == 1.0:
        return size
    return size**p


@compiled
def density(below: float, p: float) -> float:
    """ŵ^{1-p} at a point with length `below` under it."""
    if p == 2.0:
        return 1.0 / (1.0 + below)
    if p == 1.5:
        return 1.0 / np.sqrt(1.0 + below)
    if p == 1.0:
        return 1.0
    return (1.0 + below) ** (1.0 - p)


@compiled
def edge_weight(below: float, length: float, here: float, far: float, p: float) -> float:
    """β_e, the integral of ŵ^{1-p} along an edge, without cancellation however short the edge is.

    With z = w/(1 + ω), β = w (1 + ω)^{1-p} · expm1(q log1p(z))/(q z), q = 2 - p; the last factor tends to 1.
    `here` and `far` are ŵ^{1-p} at the lower and the upper end.
    """
    if p == 1.0:
        return length
    if p == 1.5:
        return 2.0 * length * here * far / (here + far)
    z = length / (1.0 + below)
    if z < SHORT:
        # Five terms of the binomial series: the next is below the last bit of a double up to p = 100.
        last = 1.0 - (p + 1.0) * z / 4.0 * (1.0 - (p + 2.0) * z / 5.0)
        return length * here * (1.0 + (1.0 - p) * z / 2.0 * (1.0 - p * z / 3.0 * last))
    if p == 2.0:
        return np.log1p(z)
    return (1.0 + below) * here * np.expm1((2.0 - p) * np.log1p(z)) / (2.0 - p)


@compiled
def steepness(difference: float, raised: float, weight: float, p: float) -> float:
    """Return the derivative of β |D|^p by D; 0 where D is 0 up to rounding, which for p = 1 is a choice."""
    size = abs(difference)
    if size < NO_MASS:
        return 0.0
    return np.copysign(p * raised / size * weight, difference)


@compiled
def collect(
    parent: Int32[np.ndarray, " vertices"],
    length: Float64[np.ndarray, " vertices"],
    mass: Float64[np.ndarray, " vertices"],
    below: Float64[np.ndarray, " vertices"],
    potential: Float64[np.ndarray, " vertices"],
    stretch: Float64[np.ndarray, " vertices"],
    tension: Float64[np.ndarray, " vertices"],
    p: float,
) -> float:
    """Go up the tree, gathering masses and lengths; return S_p^p.

    Parameters
    ----------
    mass : enters as the difference at each vertex and leaves as D, the difference in the subtree of each vertex.
    below : enters as the length hanging on each vertex besides its children here (usually 0) and leaves as ω.
    potential, stretch, tension : leave as the derivatives of each edge's own β |D|^p by D, ω and w.
    """
    total = 0.0
    reach, far = 0.0, 1.0
    for vertex in range(len(parent) - 1, 0, -1):
        difference, omega = mass[vertex], below[vertex]
        # Along a path the upper end of an edge is the lower end of the next, and powers are what costs.
        here = far if omega == reach else density(omega, p)
        reach = omega + length[vertex]
        far = density(reach, p)
        weight = edge_weight(omega, length[vertex], here, far, p)
        raised = power(abs(difference), p)
        total += raised * weight
        potential[vertex] = steepness(difference, raised, weight, p)
        stretch[vertex] = raised * (far - here)
        tension[vertex] = raised * far
        above = parent[vertex]
        mass[above] += difference
        below[above] += reach
    return total


@compiled
def distribute(
    parent: Int32[np.ndarray, " vertices"],
    potential: Float64[np.ndarray, " vertices"],
    stretch: Float64[np.ndarray, " vertices"],
    tension: Float64[np.ndarray, " vertices"],
) -> None:
    """Go down after `collect`, adding up the derivatives of S_p^p.

    Parameters
    ----------
    potential : leaves as the derivative by the mass at each vertex. Entry 0, the root's, is given by the caller.
    stretch : leaves as the derivative by the length below each vertex. Entry 0 is given by the caller.
    tension : leaves as the derivative by the length of each edge.
    """
    for vertex in range(1, len(parent)):
        above = parent[vertex]
        potential[vertex] += potential[above]
        tension[vertex] += stretch[above]
        stretch[vertex] += stretch[above]


@compiled
def depths(parent: np.ndarray) -> np.ndarray:
    """Return the number of edges between each vertex and the root; -2 for the first that no path leads up from."""
    depth = np.full(len(parent), -1)
    path = np.empty(len(parent), np.int64)
    for start in range(len(parent)):
        vertex, steps = start, 0
        while parent[vertex] >= 0 and depth[vertex] < 0 and steps < len(parent):
            path[steps] = vertex
            vertex = parent[vertex]
            steps += 1
        if parent[vertex] >= 0 and depth[vertex] < 0:
            depth[start] = -2
            return depth
        depth[vertex] = max(depth[vertex], 0)
        for step in range(steps):
            depth[path[step]] = depth[vertex] + steps - step
    return depth
