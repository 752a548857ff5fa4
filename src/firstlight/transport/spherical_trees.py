"""Trees of great semicircles on the unit sphere S^{d-1}.

A spherical tree has a root r and k rays, the great semicircles from r through y_1 … y_k on its equator to -r
(Tran, Chu, Tran, Nguyen, Le, Nguyen 2025).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64, Int64
from scipy.special import softmax

from firstlight.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class SphericalTreeSystem:
    """Trees of great semicircles on the unit sphere.

    Laid on n points, a tree has these vertices: 0 is the root; 1 … n are the points moved to its first ray, at their
    angle from the root; the next n those on its second, and so on.

    Attributes
    ----------
    roots : the root of each tree, a unit vector.
    edges : for each tree the points, perpendicular to its root, through which its rays pass.

    Raises
    ------
    InvalidInput
        If shapes do not fit together, or the vectors are not of length 1 and perpendicular.
    """

    roots: Float64[np.ndarray, "trees d"]
    edges: Float64[np.ndarray, "trees rays d"]

    def __post_init__(self) -> None:
        for name in ("roots", "edges"):
            object.__setattr__(self, name, np.array(getattr(self, name), np.float64))
        if self.edges.ndim != 3 or self.roots.shape != self.edges.shape[::2] or not self.edges.size:
            raise InvalidInput(
                "expected roots of shape (trees, d) and edges of shape (trees, rays, d), got "
                f"{self.roots.shape} and {self.edges.shape}"
            )
        for name, vectors in (("roots", self.roots), ("edges", self.edges)):
            miss = np.abs(np.linalg.norm(vectors, axis=-1) - 1).max()
            if not miss <= 1e-6:
                raise InvalidInput(f"{name} must be unit vectors, one has length 1 ± {miss:.2g}; divide by the norm")
        tilt = np.abs(np.einsum("td,tkd->tk", self.roots, self.edges)).max()
        if tilt > 1e-6:
            raise InvalidInput(f"edges must be perpendicular to their root, one has the cosine {tilt:.2g}")

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    def shares(
        self, X: Float[np.ndarray, "n d"], tree: int = 0, delta: float | int = 2.0
    ) -> Float64[np.ndarray, "rays n"]:
        """Return the part of each point's mass that a tree puts on each of its rays: softmax(-delta φ sin s)."""
        root, edges = self.roots[tree], self.edges[tree]
        across = X - (X @ root)[:, None] * root
        sine = np.linalg.norm(across, axis=1)
        direction = across / np.where(sine > 0, sine, 1)[:, None]
        cosine = np.where(sine > 0, edges @ direction.T, 1)
        beside = np.linalg.norm(direction - cosine[..., None] * edges[:, None], axis=-1)
        closeness = -delta * np.where(sine > 0, np.arctan2(beside, cosine), 0) * sine
        return softmax(closeness, axis=0)

    def to_tree(
        self, X: Float[np.ndarray, "n d"], tree: int = 0
    ) -> tuple[Int64[np.ndarray, " vertices"], Float64[np.ndarray, " vertices"]]:
        """Return one tree over some points, as `sobolev_ipm_tree` takes it.

        Parameters
        ----------
        X : the points, on the unit sphere.
        tree : which tree.

        Returns
        -------
        parent : the vertex above each vertex, -1 for the root.
        length : the length of the edge between them, in radians.
        """
        root, rays = self.roots[tree], self.edges.shape[1]
        height = X @ root
        angle = np.arctan2(np.linalg.norm(X - height[:, None] * root, axis=1), height)
        order = np.argsort(angle, kind="stable")
        n = len(X)
        parent, length = np.full(1 + rays * n, -1), np.zeros(1 + rays * n)
        for ray in range(rays):
            outwards = 1 + ray * n + order
            parent[outwards] = np.append(0, outwards)[:-1]
            length[outwards] = np.diff(angle[order], prepend=0.0)
        return parent, length
