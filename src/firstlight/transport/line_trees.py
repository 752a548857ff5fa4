"""Points projected on lines: each line becomes a tree, its distance and its derivatives in one pass.

On a line through the root the points on either side form a path, so the tree of a line is two paths from the root,
read off one sort. In a chain the next line hangs on a joint, a vertex of this line that carries everything below it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int32, UInt64

from firstlight.compiled import compiled
from firstlight.transport.radix_sort import argsort_floats
from firstlight.transport.tree_passes import collect, distribute


class Path(NamedTuple):
    """The tree of one line, and room to work on it: vertex 0 is the root, then one side outwards, then the other.

    Attributes
    ----------
    point : the point behind each vertex; the joint counts as one point more.
    parent, length, mass, below, potential, stretch, tension : as in `tree_passes`, an entry per vertex.
    words, spare, order : room to sort in, an entry per point.
    """

    point: Int32[np.ndarray, " vertices"]
    parent: Int32[np.ndarray, " vertices"]
    length: Float64[np.ndarray, " vertices"]
    mass: Float64[np.ndarray, " vertices"]
    below: Float64[np.ndarray, " vertices"]
    potential: Float64[np.ndarray, " vertices"]
    stretch: Float64[np.ndarray, " vertices"]
    tension: Float64[np.ndarray, " vertices"]
    words: UInt64[np.ndarray, " points"]
    spare: UInt64[np.ndarray, " points"]
    order: Int32[np.ndarray, " points"]


def empty_path(n_points: int) -> Path:
    """Return room for the tree of a line with `n_points` points."""
    vertices = n_points + 1
    return Path(
        *(np.zeros(vertices, np.int32) for _ in range(2)),
        *(np.zeros(vertices) for _ in range(6)),
        *(np.zeros(n_points, np.uint64) for _ in range(2)),
        order=np.zeros(n_points, np.int32),
    )


@compiled
def lay_path(path: Path, coordinate: Float[np.ndarray, " points"], mass: Float64[np.ndarray, " points"]) -> int:
    """Lay the points of a line out as a tree, masses on its vertices; return the vertex of the last point."""
    n = len(coordinate)
    argsort_floats(coordinate, path.words, path.spare, path.order)
    first_right = 0  # the first point in order that is not left of the root
    while first_right < n and coordinate[path.order[first_right]] < 0:
        first_right += 1
    path.point[0] = -1
    path.parent[0] = -1
    path.length[0] = path.mass[0] = path.below[0] = 0.0
    vertex, last_point = 0, 0
    for side in (1, -1):
        start, stop = (first_right, n) if side == 1 else (first_right - 1, -1)
        above, at = 0, 0.0
        for k in range(start, stop, side):
            vertex += 1
            point = path.order[k]
            distance = abs(float(coordinate[point]))
            path.point[vertex] = point
            path.parent[vertex] = above
            path.length[vertex] = distance - at
            path.mass[vertex] = mass[point]
            path.below[vertex] = 0.0
            if point == n - 1:
                last_point = vertex
            above, at = vertex, distance
    return last_point


@compiled
def climb(path: Path, p: float) -> float:
    """Gather what lies below each vertex; return S_p^p of the path."""
    return collect(path.parent, path.length, path.mass, path.below, path.potential, path.stretch, path.tension, p)


@compiled
def pull(
    path: Path,
    coordinate: Float[np.ndarray, " points"],
    mass: Float64[np.ndarray, " points"],
    slope: Float64[np.ndarray, " points"],
) -> None:
    """Fill `mass` and `slope` with the derivatives of S_p^p by mass and coordinate of each point.

    `path` has been through `climb`, and has the potential and stretch of its root. Moving a point outwards lengthens
    the edge above it and shortens the one below.
    """
    distribute(path.parent, path.potential, path.stretch, path.tension)
    last = len(coordinate)
    for vertex in range(1, last + 1):
        point = path.point[vertex]
        outwards = path.tension[vertex]
        if vertex < last and path.parent[vertex + 1] == vertex:
            outwards -= path.tension[vertex + 1]
        slope[point] = outwards if coordinate[point] >= 0 else -outwards
        mass[point] = path.potential[vertex]


@compiled
def concurrent_lines(
    paths: tuple[Path, ...],
    coordinate: Float[np.ndarray, "trees lines points"],
    mass: Float64[np.ndarray, "trees lines points"],
    slope: Float64[np.ndarray, "trees lines points"],
    values: Float64[np.ndarray, " trees"],
    p: float,
    gradients: bool,
) -> None:
    """Solve trees of lines that all meet at the root.

    Parameters
    ----------
    paths : room for one line.
    coordinate : signed distance of each point's projection from the root.
    mass : mass of each point on each line; with `gradients` overwritten by the derivative of S_p^p by it.
    slope : with `gradients`, receives the derivative by the coordinate.
    values : receives S_p^p of each tree.
    """
    path = paths[0]
    for tree in range(len(coordinate)):
        values[tree] = 0.0
        for line in range(coordinate.shape[1]):
            lay_path(path, coordinate[tree, line], mass[tree, line])
            values[tree] += climb(path, p)
            if gradients:
                path.potential[0] = 0.0
                path.stretch[0] = 0.0
                pull(path, coordinate[tree, line], mass[tree, line], slope[tree, line])


@compiled
def chained_lines(
    paths: tuple[Path, ...],
    coordinate: Float[np.ndarray, "trees lines points"],
    mass: Float64[np.ndarray, "trees lines points"],
    slope: Float64[np.ndarray, "trees lines points"],
    values: Float64[np.ndarray, " trees"],
    p: float,
    gradients: bool,
) -> None:
    """Solve chains: line l + 1 starts at the joint of line l, and hangs below it with its mass and length.

    Parameters
    ----------
    paths : room for each line.
    coordinate, mass, slope, values : as in `concurrent_lines`, with one point more, the last, that stands for the
        joint of its line and enters with mass 0; on the last line, which has none, it lies at 0. Its derivatives leave
        without meaning.
    """
    n_lines = coordinate.shape[1]
    joint = np.zeros(n_lines, np.int64)
    for tree in range(len(coordinate)):
        values[tree] = 0.0
        hanging_mass, hanging_length = 0.0, 0.0
        for line in range(n_lines - 1, -1, -1):
            path = paths[line]
            joint[line] = lay_path(path, coordinate[tree, line], mass[tree, line])
            path.mass[joint[line]] += hanging_mass
            path.below[joint[line]] += hanging_length
            values[tree] += climb(path, p)
            hanging_mass, hanging_length = path.mass[0], path.below[0]
        if gradients:
            potential, stretch = 0.0, 0.0
            for line in range(n_lines):
                path = paths[line]
                path.potential[0] = potential
                path.stretch[0] = stretch
                pull(path, coordinate[tree, line], mass[tree, line], slope[tree, line])
                potential, stretch = path.potential[joint[line]], path.stretch[joint[line]]
