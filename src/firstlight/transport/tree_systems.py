"""Trees of lines, on which measures in R^d are compared."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Float64, Int64
from scipy.special import softmax

from firstlight.errors import InvalidInput

Structure = Literal["concurrent", "chain"]


@dataclass(frozen=True, eq=False)
class TreeSystem:
    """Trees made of lines in R^d.

    Concurrent lines all meet at the root of their tree. In a chain the first line goes through the root and each
    next line starts at the joint of the line before; all lines are full lines, measured along them.

    Laid on n points, a tree has these vertices: 0 is the root; 1 … n are the projections of the points on its first
    line, the next n those on its second, and so on; the joints of a chain stand last.

    Attributes
    ----------
    roots : the root of each tree.
    directions : unit vectors of the lines of each tree.
    joints : for chains, the coordinate on each line but the last at which the next line starts; None for
        concurrent lines.

    Raises
    ------
    InvalidInput
        If shapes do not fit together, a number is not finite, or a direction is not a unit vector.

    Examples
    --------
    One tree in the plane, of the two axes.

    >>> import numpy as np
    >>> trees = TreeSystem(roots=np.zeros((1, 2)), directions=np.eye(2)[None])
    >>> trees.to_tree(np.array([[3.0, 4.0]]))
    (array([-1,  0,  0]), array([0., 3., 4.]))
    """

    roots: Float64[np.ndarray, "trees d"]
    directions: Float64[np.ndarray, "trees lines d"]
    joints: Float64[np.ndarray, "trees lines_less_one"] | None = None

    def __post_init__(self) -> None:
        for name in ("roots", "directions", "joints"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.array(getattr(self, name), np.float64))
        if self.directions.ndim != 3 or self.roots.shape != self.directions.shape[::2]:
            raise InvalidInput(
                "expected roots of shape (trees, d) and directions of shape (trees, lines, d), got "
                f"{self.roots.shape} and {self.directions.shape}"
            )
        trees, lines, d = self.directions.shape
        if self.joints is not None and self.joints.shape != (trees, lines - 1):
            raise InvalidInput(f"expected joints of shape {(trees, lines - 1)}, got {self.joints.shape}")
        if not self.directions.size:
            raise InvalidInput(f"expected at least one tree and one line, got directions of shape {(trees, lines, d)}")
        if not all(np.isfinite(part).all() for part in (self.roots, self.directions, self.joints) if part is not None):
            raise InvalidInput("roots, directions and joints must be finite")
        miss = np.abs(np.linalg.norm(self.directions, axis=-1) - 1).max()
        if miss > 1e-6:
            raise InvalidInput(f"directions must be unit vectors, one has length 1 ± {miss:.2g}; divide by the norm")

    @property
    def structure(self) -> Structure:
        """``"concurrent"`` or ``"chain"``."""
        return "concurrent" if self.joints is None else "chain"

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    def starts(self, trees: slice) -> Float64[np.ndarray, "trees starts d"]:
        """Return the points from which coordinates count: a joint for each line, or one root for concurrent lines."""
        roots = self.roots[trees, None]
        if self.joints is None:
            return roots
        steps = self.joints[trees, :, None] * self.directions[trees, :-1]
        return roots + np.concatenate([np.zeros_like(roots), np.cumsum(steps, axis=1)], axis=1)

    def shares(
        self, X: Float[np.ndarray, "n d"], tree: int = 0, delta: float | int = 2.0
    ) -> Float64[np.ndarray, "lines n"]:
        """Return the part of each point's mass that a tree puts on each of its lines: softmax(-delta · distance)."""
        _, positions = self._projections(X, tree)
        closeness = -delta * np.linalg.norm(positions - X, axis=-1)
        return softmax(closeness, axis=0)

    def to_tree(
        self, X: Float[np.ndarray, "n d"], tree: int = 0
    ) -> tuple[Int64[np.ndarray, " vertices"], Float64[np.ndarray, " vertices"]]:
        """Return one tree over the projections of some points, as `sobolev_ipm_tree` takes it.

        Parameters
        ----------
        X : the points.
        tree : which tree.

        Returns
        -------
        parent : the vertex above each vertex, -1 for the root.
        length : the length of the edge between them.
        """
        n, lines = len(X), self.directions.shape[1]
        joints = [] if self.joints is None else self.joints[tree]
        coordinates, _ = self._projections(X, tree)
        parent = np.full(1 + lines * n + len(joints), -1)
        length = np.zeros(len(parent))
        origin = joint = 0
        for line in range(lines):
            projected, vertices = coordinates[line], 1 + line * n + np.arange(n)
            if line < len(joints):
                joint = 1 + lines * n + line
                projected, vertices = np.append(projected, joints[line]), np.append(vertices, joint)
            for side in (projected >= 0, projected < 0):
                distance = np.abs(projected[side])
                order = np.argsort(distance, kind="stable")
                outwards = vertices[side][order]
                parent[outwards] = np.append(origin, outwards)[:-1]
                length[outwards] = np.diff(distance[order], prepend=0.0)
            origin = joint
        return parent, length

    def to_graph(
        self, X: Float[np.ndarray, "n d"], tree: int = 0
    ) -> tuple[sp.csr_array, Float64[np.ndarray, "vertices d"]]:
        """Return one tree over the projections of some points, as a graph for inspection or another solver.

        Parameters
        ----------
        X : the points.
        tree : which tree.

        Returns
        -------
        graph : edge lengths between vertices, both ways, edges of length 0 included; what
            ``networkx.from_scipy_sparse_array`` and ``scipy.sparse.csgraph`` take.
        positions : where the vertices lie in R^d.
        """
        parent, length = self.to_tree(X, tree)
        _, positions = self._projections(X, tree)
        places = np.concatenate([self.roots[tree][None], *positions])
        if self.joints is not None:
            places = np.concatenate([places, self.starts(slice(tree, tree + 1))[0, 1:]])
        return tree_graph(parent, length), places

    def _projections(
        self, X: Float[np.ndarray, "n d"], tree: int
    ) -> tuple[Float64[np.ndarray, "lines n"], Float64[np.ndarray, "lines n d"]]:
        """Return coordinates and places of the projections of some points on each line of a tree."""
        directions = self.directions[tree]
        starts = np.broadcast_to(self.starts(slice(tree, tree + 1))[0], directions.shape)
        coordinates = np.stack([(X - start) @ line for start, line in zip(starts, directions, strict=True)])
        return coordinates, starts[:, None] + coordinates[..., None] * directions[:, None]


def tree_graph(parent: Int64[np.ndarray, " vertices"], length: Float64[np.ndarray, " vertices"]) -> sp.csr_array:
    """Return a rooted tree as a symmetric graph of edge lengths; edges of length 0 stay."""
    under = np.flatnonzero(parent >= 0)
    above = parent[under]
    ends = np.append(above, under), np.append(under, above)
    return sp.csr_array((np.tile(length[under], 2), ends), shape=(len(parent), len(parent)))
