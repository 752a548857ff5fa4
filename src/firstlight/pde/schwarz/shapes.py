"""Domains to learn on and to show: random polygons with holes, the domains of the paper, and a small mesher.

The mesher lays a hexagonal lattice into the domain, moves its points by the mean of their neighbours, and lets
``scipy.spatial.Delaunay`` join them. It serves what is generated here; the meshes of users come from their own meshers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64
from matplotlib.path import Path as Outline
from scipy.spatial import Delaunay, KDTree
from skfem import MeshTri

from firstlight.errors import InvalidInput
from firstlight.pde.schwarz.meshes import facet_by_nodes, facets, signed_areas

Loop = Float64[np.ndarray, "_ 2"]
SMOOTHING = 8  # rounds of moving points to the mean of their neighbours
ATTEMPTS = 50


@dataclass(frozen=True)
class Shape:
    """A domain bounded by closed loops, the first the outer one.

    Attributes
    ----------
    loops : by name; corners in order.
    """

    loops: dict[str, Loop]

    def mesh(self, size: float) -> MeshTri:
        """Return a Delaunay mesh with edges of about `size`, whose ``boundaries`` are the loops.

        Raises
        ------
        InvalidInput
            If `size` is too coarse for the shape: parts of its boundary are not edges of the mesh.
        """
        rims = {name: _spaced(loop, size) for name, loop in self.loops.items()}
        rim = np.concatenate(list(rims.values()))
        inner = self._lattice(rim, size)
        for _ in range(SMOOTHING):
            inner = self._smoothed(np.concatenate([rim, inner]), len(rim), size)
        mesh = _joined(np.concatenate([rim, inner]), self.contains)
        return _with_loops(mesh, rims, size)

    def contains(self, points: Float64[np.ndarray, "points 2"]) -> np.ndarray:
        """Return which points are inside: an odd number of loops goes around them."""
        around = [
            Outline(np.vstack([loop, loop[:1]]), closed=True).contains_points(points) for loop in self.loops.values()
        ]
        return np.sum(around, axis=0) % 2 == 1

    def _lattice(self, rim: np.ndarray, size: float) -> np.ndarray:
        low, high = rim.min(axis=0), rim.max(axis=0)
        height = size * np.sqrt(3) / 2
        rows = np.arange(low[1] + height / 2, high[1], height)
        points = [
            np.c_[x := np.arange(low[0] + size / 2 * (row % 2), high[0], size), np.full(len(x), y)]
            for row, y in enumerate(rows)
        ]
        points = np.concatenate(points) if points else np.zeros((0, 2))
        return points[self.contains(points) & (KDTree(rim).query(points)[0] > 0.7 * size)] if len(points) else points

    def _smoothed(self, points: np.ndarray, fixed: int, size: float) -> np.ndarray:
        mesh = _joined(points, self.contains)
        a, b = facets(mesh)
        total, count = np.zeros_like(points), np.zeros(len(points))
        for one, other in ((a, b), (b, a)):
            np.add.at(total, one, points[other])
            np.add.at(count, one, 1.0)
        moved = np.where(count[:, None] > 0, total / np.maximum(count, 1.0)[:, None], points)[fixed:]
        return moved[KDTree(points[:fixed]).query(moved)[0] > 0.5 * size]


def random_polygon(rng: np.random.Generator, *, corners: int | None = None, holes: int | None = None) -> Shape:
    """Draw a simple polygon of about unit size, with up to two holes.

    Parameters
    ----------
    rng : source of randomness.
    corners : 3 to 11 unless given.
    holes : 0 to 2 unless given.
    """
    while not _roomy(outer := _untangled(rng.uniform(size=(corners or int(rng.integers(3, 12)), 2)))):
        pass
    loops = {"outer": outer}
    wanted = int(rng.integers(0, 3)) if holes is None else holes
    for _ in range(ATTEMPTS):
        if len(loops) > wanted:
            break
        radius, centre = rng.uniform(0.05, 0.15), rng.uniform(size=2)
        if _clear(centre, 1.6 * radius, loops):
            loops[f"hole {len(loops)}"] = _arc(
                0.0, 2 * np.pi, centre=centre, radii=(radius, radius * rng.uniform(0.5, 1.0))
            )
    return Shape(loops)


def paper_shapes() -> dict[str, tuple[Shape, float]]:
    """Return the domains A, B, C and E of the paper, rebuilt from their descriptions, and the size of their edges.

    A is a disk joined with a rectangle, B a square with a round and an elliptic hole, C a disk with a cut-out, E a
    disk.
    """
    b = {
        "outer": np.array([[-5.0, -5.0], [5.0, -5.0], [5.0, 5.0], [-5.0, 5.0]]),
        "circle": _arc(0.0, 2 * np.pi, centre=(2.5, 2.5)),
        "ellipse": _arc(0.0, 2 * np.pi, centre=(-2.5, -2.5), radii=(1.0, 0.5)),
    }
    top, side = 2.25 / np.sqrt(3), 2.25
    c = {
        "outer": _arc(0.0, 2 * np.pi, radii=(5.0, 5.0)),
        "inner": np.vstack(
            [
                _arc(-np.pi / 3, np.pi / 3, radii=(4.5, 4.5)),
                [[side, top], [-side, top]],
                _arc(2 * np.pi / 3, 4 * np.pi / 3, radii=(4.5, 4.5)),
                [[-side, -top], [side, -top]],
            ]
        ),
    }
    a = np.vstack([_arc(np.pi / 6, 11 * np.pi / 6), [[2.0, -0.5], [2.0, 0.5]]])
    return {
        "A": (Shape({"outer": a}), 0.087),
        "B": (Shape(b), 0.345),
        "C": (Shape(c), 0.346),
        "E": (Shape({"outer": _arc(0.0, 2 * np.pi)}), 0.07),
    }


def _arc(begin: float, end: float, *, centre: Any = (0.0, 0.0), radii: Any = (1.0, 1.0)) -> Loop:
    """Return corners along an ellipse, without the last one if it is closed."""
    angles = np.linspace(begin, end, 181)
    angles = angles[:-1] if np.isclose(end - begin, 2 * np.pi) else angles
    return np.asarray(centre) + np.asarray(radii) * np.c_[np.cos(angles), np.sin(angles)]


def _spaced(loop: Loop, size: float) -> Loop:
    """Put points along a loop about `size` apart, at its sharp corners too."""
    ahead, behind = np.roll(loop, -1, axis=0) - loop, loop - np.roll(loop, 1, axis=0)
    turn = np.abs(np.angle(_complex(ahead) / _complex(behind)))
    corners = np.flatnonzero(turn > np.deg2rad(20))
    corners = corners if len(corners) else np.array([0])
    pieces = []
    for begin, end in zip(corners, np.roll(corners, -1), strict=True):
        count = (end - begin) % len(loop) or len(loop)
        way = loop[(begin + np.arange(count + 1)) % len(loop)]
        run = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way, axis=0).T))])
        at = np.linspace(0.0, run[-1], max(1, round(run[-1] / size)) + 1)[:-1]
        pieces.append(np.c_[np.interp(at, run, way[:, 0]), np.interp(at, run, way[:, 1])])
    return np.concatenate(pieces)


def _joined(points: np.ndarray, contains: Callable[[np.ndarray], np.ndarray]) -> MeshTri:
    """Join points to triangles and keep those inside."""
    triangles = Delaunay(points).simplices
    a, b, c = (points[triangles[:, corner]] for corner in range(3))
    area = 2 * signed_areas(points, triangles)
    longest = np.max([((p - q) ** 2).sum(axis=1) for p, q in ((a, b), (b, c), (c, a))], axis=0)
    kept = contains((a + b + c) / 3) & (area > 1e-3 * longest)  # what is thinner lies along the boundary
    return MeshTri(points.T.copy(), triangles[kept].T.astype(np.int64).copy())


def _with_loops(mesh: MeshTri, rims: dict[str, Loop], size: float) -> MeshTri:
    known = facet_by_nodes(mesh)
    outer, first, boundaries = set(mesh.boundary_facets().tolist()), 0, {}
    for name, rim in rims.items():
        ring = first + np.arange(len(rim))
        pairs = np.sort(np.c_[ring, np.roll(ring, -1)], axis=1)
        boundaries[name] = np.array([known.get((int(a), int(b)), -1) for a, b in pairs])
        first += len(rim)
    found = np.concatenate(list(boundaries.values()))
    if not outer.issuperset(found.tolist()) or len(outer) != len(found):
        raise InvalidInput(f"edges of {size:g} are too coarse for this shape; expected shorter ones")
    # Only what belongs to a triangle is a node; the boundary does in full, so only lost inner points move numbers.
    return MeshTri(mesh.p, mesh.t, _boundaries=boundaries).remove_unused_nodes()


def _untangled(points: Loop) -> Loop:
    """Reverse stretches between crossing edges until none cross."""
    points, count = points.copy(), len(points)
    crossing = True
    while crossing:
        crossing = False
        for i in range(count - 1):
            for j in range(i + 2, count if i else count - 1):
                if _cross(points[i], points[i + 1], points[j], points[(j + 1) % count]):
                    points[i + 1 : j + 1] = points[i + 1 : j + 1][::-1].copy()
                    crossing = True
    return points


def _cross(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> bool:
    def side(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return bool(side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0)


def _roomy(loop: Loop) -> bool:
    """Whether a polygon has room inside: area, no needle of a corner, no edge near another."""
    ahead, behind = np.roll(loop, -1, axis=0) - loop, loop - np.roll(loop, 1, axis=0)
    area = abs((loop[:, 0] * np.roll(loop[:, 1], -1) - loop[:, 1] * np.roll(loop[:, 0], -1)).sum()) / 2
    angle = np.abs(np.angle(_complex(ahead) / -_complex(behind)))
    return bool(area > 0.15 and angle.min() > np.deg2rad(12) and np.hypot(*ahead.T).min() > 0.05)


def _clear(centre: np.ndarray, radius: float, loops: dict[str, Loop]) -> bool:
    outline = Outline(np.vstack([loops["outer"], loops["outer"][:1]]), closed=True)
    rims = np.concatenate([_spaced(loop, 0.02) for loop in loops.values()])
    return bool(outline.contains_points(centre[None])[0] and np.hypot(*(rims - centre).T).min() > radius)


def _complex(vectors: np.ndarray) -> np.ndarray:
    return vectors[:, 0] + 1j * vectors[:, 1]
