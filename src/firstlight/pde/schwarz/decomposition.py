"""A mesh cut into overlapping patches, small enough for a local solver.

METIS cuts the graph of the mesh, every connected part grows by layers of neighbours, and the triangles whose three
nodes are inside make the patch. What a patch knows of its surroundings are the values at its outer nodes, those of
which some triangle lies outside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pymetis
import scipy.sparse as sp
from jaxtyping import Bool, Float64, Int
from scipy.sparse.csgraph import connected_components
from skfem import MeshTri

from firstlight.errors import InvalidInput
from firstlight.pde.schwarz.meshes import check_mesh, node_graph, signed_areas
from firstlight.pictures import axes_or_new


@dataclass(frozen=True)
class Patch:
    """One piece of a mesh, numbered by itself.

    Attributes
    ----------
    nodes : its nodes' numbers in the mesh.
    points : where they are.
    triangles : by nodes of the patch, counter-clockwise.
    fixed : its nodes where a value is given: by the condition of the domain, or by the neighbours.
    free : the others, whose values the local solver finds.
    """

    nodes: Int[np.ndarray, " nodes"]
    points: Float64[np.ndarray, "nodes 2"]
    triangles: Int[np.ndarray, "triangles 3"]
    fixed: Int[np.ndarray, " fixed"]
    free: Int[np.ndarray, " free"]

    @cached_property
    def edges(self) -> Int[np.ndarray, "edges 2"]:
        """Edges with a triangle on one side only, the patch on the left of the way from first to second."""
        directed = np.concatenate([self.triangles[:, [0, 1]], self.triangles[:, [1, 2]], self.triangles[:, [2, 0]]])
        _, back, count = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True, return_counts=True)
        return directed[count[back.ravel()] == 1]


@dataclass(frozen=True)
class Decomposition:
    """Overlapping patches of a mesh.

    Attributes
    ----------
    mesh : ``skfem.MeshTri``.
    owner : the part that every node belongs to, without overlap.
    members : by part, the nodes of the grown patch in ascending order.
    overlap : layers by which the parts were grown.
    """

    mesh: MeshTri
    owner: Int[np.ndarray, " nodes"]
    members: tuple[Int[np.ndarray, " _"], ...]
    overlap: int

    @classmethod
    def from_mesh(cls, mesh: MeshTri, *, target_nodes: int = 100, overlap: int = 2) -> "Decomposition":
        """Cut a mesh into patches.

        Parameters
        ----------
        mesh : triangles in the plane; of a file, ``read_mesh(path).mesh``.
        target_nodes : nodes of a patch on the average, its overlap included. The shipped kernels were trained on
            patches of about 90.
        overlap : layers of neighbours, 1 or more.

        Raises
        ------
        InvalidInput
            If the mesh is not sound, `overlap` is below 1, or a patch of `target_nodes` would be all overlap.
        """
        check_mesh(mesh)
        if overlap < 1:
            raise InvalidInput(
                f"overlap is {overlap}; without common nodes patches never learn of each other: 1 or more"
            )
        if target_nodes < 8 * (overlap + 1):
            raise InvalidInput(
                f"patches of {target_nodes} nodes are all overlap with {overlap} layers; give more nodes"
            )
        graph = node_graph(mesh)
        parts = _parts_for(int(mesh.nvertices), target_nodes, overlap)
        owner = _connected(graph, _metis(graph, parts))
        # Column k of the incidence is part k; a product with the graph grows all parts by one layer.
        incidence = sp.csc_array((np.ones(len(owner)), (np.arange(len(owner)), owner)))
        for _ in range(overlap):
            incidence = (incidence + graph @ incidence).sign()
        incidence.sort_indices()
        members = np.split(incidence.indices.astype(int), incidence.indptr[1:-1])
        return cls(mesh, owner, tuple(members), overlap)

    def patches(self, fixed: Bool[np.ndarray, " nodes"]) -> Sequence[Patch]:
        """Return the patches, given the nodes of the mesh whose values are known."""
        touching = np.bincount(self.mesh.t.ravel(), minlength=self.mesh.nvertices)
        return [one for nodes in self.members if (one := self._patch(nodes, fixed, touching)) is not None]

    def plot(self, ax: Any = None) -> Any:
        """Draw the parts in colours, and return the axes."""
        ax = axes_or_new(ax)
        first = self.owner[self.mesh.t].min(axis=0)
        colours = (first * 7919) % 20  # neighbours have near numbers and should differ
        ax.tripcolor(*self.mesh.p, self.mesh.t.T, facecolors=colours, cmap="tab20", edgecolors="white", linewidth=0.2)
        ax.set_aspect("equal")
        ax.set_axis_off()
        return ax

    @cached_property
    def _triangles_of(self) -> sp.csr_array:
        """Which triangles touch a node."""
        t = self.mesh.t
        columns = np.broadcast_to(np.arange(t.shape[1]), t.shape)
        return sp.csr_array((np.ones(t.size, dtype=bool), (t.ravel(), columns.ravel())))

    def _patch(self, nodes: np.ndarray, fixed: np.ndarray, touching: np.ndarray) -> Patch | None:
        candidates = np.unique(self._triangles_of[nodes].indices)
        inside = np.isin(self.mesh.t[:, candidates], nodes).all(axis=0)
        triangles = self.mesh.t[:, candidates[inside]]
        nodes, local = np.unique(triangles, return_inverse=True)
        local = local.reshape(triangles.shape)
        outer = np.bincount(local.ravel(), minlength=len(nodes)) < touching[nodes]
        given = outer | fixed[nodes]
        if given.all():
            return None  # on the boundary of the domain only
        points = self.mesh.p[:, nodes].T.copy()
        return Patch(nodes, points, _left_turning(points, local.T), np.flatnonzero(given), np.flatnonzero(~given))


def _parts_for(nodes: int, target: int, overlap: int) -> int:
    """Return the number of parts whose grown patches have `target` nodes: a disk of m nodes has radius √(m/π)."""
    inner = np.pi * (np.sqrt(target / np.pi) - overlap) ** 2
    return max(1, round(nodes / max(inner, 4.0)))


def _metis(graph: Any, parts: int) -> np.ndarray:
    if parts == 1:
        return np.zeros(graph.shape[0], dtype=int)
    adjacency = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    return np.asarray(pymetis.part_graph(parts, adjacency=adjacency)[1], dtype=int)


def _connected(graph: sp.csr_array, owner: np.ndarray) -> np.ndarray:
    """Make parts of their own of the pieces of a part that hang together only through others."""
    edges = graph.tocoo()
    kept = owner[edges.row] == owner[edges.col]
    within = sp.coo_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=graph.shape)
    return connected_components(within, directed=False)[1].astype(int)


def _left_turning(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    clockwise = signed_areas(points, triangles) < 0
    turned = triangles.copy()
    turned[clockwise] = turned[clockwise][:, [0, 2, 1]]
    return turned
