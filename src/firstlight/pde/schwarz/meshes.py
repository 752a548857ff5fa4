"""From a file of any mesher to a clean triangle mesh with named boundaries, and back.

Files disagree about nearly everything but the triangles: points that no cell uses, clockwise triangles, mid-side
nodes, squares among the triangles, tags on curves inside, names that no facet carries. What can be read in one way only
is read so and noted; what cannot is refused with the mend.
"""

import contextlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64, Int
from scipy.spatial import KDTree
from skfem import MeshTri

from firstlight.errors import InvalidInput
from firstlight.files import writable, written_whole

WHOLE = "boundary"  # the name of the whole boundary, in files that do not use it otherwise
FLAT = 1e-9  # of the mesh's extent: how far points may stand out of the plane, and coincident points apart
CORNERS = {"triangle": 3, "triangle6": 3, "triangle7": 3, "quad": 4, "quad8": 4, "quad9": 4}
LINES = ("line", "line3", "line4")
SOLIDS = ("tetra", "tetra10", "hexahedron", "hexahedron20", "hexahedron27", "wedge", "pyramid")


@dataclass(frozen=True)
class Domain:
    """A mesh as it was read.

    Attributes
    ----------
    mesh : triangles with ``boundaries`` by name; only points that triangles use.
    numbers : the number in the file of every node of the mesh.
    points : all points of the file.
    notes : what the reader had to decide, in sentences.
    """

    mesh: MeshTri
    numbers: Int[np.ndarray, " nodes"]
    points: Float64[np.ndarray, "points 3"]
    notes: tuple[str, ...]

    def write(self, path: str | Path, **fields: Float64[np.ndarray, " nodes"]) -> None:
        """Write fields over the points of the file, NaN where no triangle is, to .vtu or what else meshio knows.

        Raises
        ------
        InvalidInput
            If meshio writes no such files.
        """
        endings = tuple(meshio.extension_to_filetypes)
        path = writable(path, *(e for e in endings if e.count(".") == 1))
        spread = {}
        for name, values in fields.items():
            spread[name] = np.full(len(self.points), np.nan)
            spread[name][self.numbers] = values
        cells: list[Any] = [("triangle", self.numbers[self.mesh.t.T])]
        with written_whole(path) as unfinished, contextlib.redirect_stdout(io.StringIO()):
            meshio.Mesh(self.points, cells, point_data=spread).write(
                unfinished, file_format=meshio.extension_to_filetypes[path.suffix][0]
            )


def read_mesh(path: str | Path, *, merge: bool = False) -> Domain:
    """Read a triangle mesh in the plane from any file that meshio reads.

    Parameters
    ----------
    path : for example a ``.msh`` of Gmsh, a ``.vtk`` or ``.vtu``.
    merge : make one node of points at the same place.

    Raises
    ------
    InvalidInput
        If there is no such file or meshio cannot read it; if it has no triangles, has volumes, does not lie in a plane
        z = constant, or has triangles without area.
    """
    path = Path(path)
    raw = _read(path)
    _refuse_solids(path, raw)
    notes: list[str] = []
    triangles = _triangles(path, raw, notes)
    points = _plane(path, raw.points)
    if merge:
        triangles, edges_of = _merged(points, triangles, notes)
    else:
        edges_of = np.arange(len(points))
        _note_coincident(points, triangles, notes)
    used = np.unique(triangles)
    if unused := len(np.unique(edges_of)) - len(used):
        notes.append(f"{unused} points belong to no triangle; their values are NaN")
    to_mesh = np.full(len(points), -1)
    to_mesh[used] = np.arange(len(used))
    p, t = points[used].T.copy(), to_mesh[triangles].T.copy()
    if flat := _flat(p, t):
        raise InvalidInput(f"{path.name}: {len(flat)} triangles have no area, the first is {flat[0]}; mesh it anew")
    bare = MeshTri(p, t)
    curves = {name: to_mesh[edges_of[edges]] for name, edges in _curves(raw, notes).items()}
    boundaries = _facets(bare, curves, notes)
    return Domain(MeshTri(p, t, _boundaries=boundaries), used, np.c_[points, np.zeros(len(points))], tuple(notes))


def check_mesh(mesh: MeshTri) -> None:
    """Refuse a mesh that no finite-element method should be given.

    Raises
    ------
    InvalidInput
        If it is no ``skfem.MeshTri``, has nodes that no triangle uses, triangles without area, or values that are not
        finite.
    """
    if not isinstance(mesh, MeshTri):
        raise InvalidInput(
            f"expected a skfem.MeshTri, triangles in the plane; got {type(mesh).__name__} (files: read_mesh(path).mesh)"
        )
    if not np.isfinite(mesh.p).all():
        raise InvalidInput(
            f"node {np.flatnonzero(~np.isfinite(mesh.p).all(0))[0]} of the mesh is not at a finite place"
        )
    unused = np.setdiff1d(np.arange(mesh.nvertices), mesh.t)
    if len(unused):
        raise InvalidInput(
            f"{len(unused)} nodes belong to no triangle, the first is {unused[0]}; "
            "mesh.remove_unused_nodes() drops them"
        )
    if flat := _flat(mesh.p, mesh.t):
        raise InvalidInput(f"{len(flat)} triangles have no area, the first is {flat[0]}; mesh anew without slivers")


def facets(mesh: MeshTri) -> Int[np.ndarray, "2 facets"]:
    """Return the two nodes of every facet."""
    return np.asarray(mesh.facets)


def node_graph(mesh: MeshTri) -> sp.csr_array:
    """Return which nodes are neighbours, symmetric."""
    a, b = facets(mesh)
    half = sp.coo_array((np.ones(len(a)), (a, b)), shape=(mesh.nvertices, mesh.nvertices))
    return sp.csr_array(half + half.T)


def facet_by_nodes(mesh: MeshTri) -> dict[tuple[int, int], int]:
    """Return the number of each facet by its two nodes, the smaller first."""
    return {(int(a), int(b)): number for number, (a, b) in enumerate(np.sort(facets(mesh), axis=0).T)}


def signed_areas(
    points: Float64[np.ndarray, "nodes 2"], triangles: Int[np.ndarray, "triangles 3"]
) -> Float64[np.ndarray, " triangles"]:
    """Return areas of triangles, negative for those that run clockwise."""
    a, b, c = (points[triangles[:, corner]] for corner in range(3))
    return ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]) / 2


def tags(mesh: MeshTri) -> dict[str, Int[np.ndarray, " facets"]]:
    """Return the facets of every named part of the boundary, the whole of it as ``"boundary"``."""
    named = {name: np.asarray(some, dtype=int) for name, some in (mesh.boundaries or {}).items()}
    return {WHOLE: mesh.boundary_facets(), **named}


def _read(path: Path) -> meshio.Mesh:
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}")
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # meshio prints its warnings
            return meshio.read(path)
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"{path.name} cannot be read: {_why(path, error)}") from error


def _why(path: Path, error: BaseException) -> str:
    """Turn the two failures of meshio that users meet into sentences."""
    if path.suffix == ".msh" and b"$ParametricNodes" in path.read_bytes():
        return "its nodes carry parameters of curves; save it again without Mesh.SaveParametric"
    if "gmsh:physical" in str(error):
        return (
            "some entities have a physical group and some have none, as Mesh.SaveAll writes it; give every curve and "
            "surface a physical group, or save without Mesh.SaveAll"
        )
    if isinstance(error, SystemExit) or "extension" in str(error):
        return f"no mesh format ends in {path.suffix or 'nothing'}; for example .msh, .vtk, .vtu, .xdmf do"
    return f"{type(error).__name__}: {error}; save it as MSH 4.1 or VTU"


def _refuse_solids(path: Path, raw: meshio.Mesh) -> None:
    for kind, cells in raw.cells_dict.items():
        if kind in SOLIDS:
            raise InvalidInput(
                f"{path.name} has {len(cells)} cells of kind {kind}; expected triangles in the plane, no volume"
            )


def _plane(path: Path, points: np.ndarray) -> np.ndarray:
    points = np.asarray(points, dtype=float)
    if points.shape[1] == 3:
        extent = float(np.ptp(points[:, :2], axis=0).max())
        height = float(np.ptp(points[:, 2]))
        if height > FLAT * extent:
            raise InvalidInput(f"{path.name} is a surface in space, z runs over {height:.3g}; expected z constant")
    return points[:, :2].copy()


def _triangles(path: Path, raw: meshio.Mesh, notes: list[str]) -> np.ndarray:
    found = []
    for kind, cells in raw.cells_dict.items():
        if kind not in CORNERS:
            continue
        corners = cells[:, : CORNERS[kind]]
        if kind.startswith("quad"):
            notes.append(f"{len(cells)} quadrilaterals are cut into two triangles each")
            corners = np.concatenate([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]])
        if cells.shape[1] > CORNERS[kind]:
            notes.append(f"cells of kind {kind} are used by their corners; mid-side nodes have no value")
        found.append(corners)
    if not found:
        there = ", ".join(f"{len(cells)} of kind {kind}" for kind, cells in raw.cells_dict.items()) or "no cells"
        raise InvalidInput(
            f"{path.name} has no triangles ({there}); in Gmsh add a Physical Surface, or save all (Mesh.SaveAll)"
        )
    return np.concatenate(found).astype(int)


def _merged(points: np.ndarray, triangles: np.ndarray, notes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Send every point to the first at its place."""
    first = np.arange(len(points))
    pairs = np.array(sorted(KDTree(points).query_pairs(FLAT * float(np.ptp(points)))), dtype=int).reshape(-1, 2)
    for low, high in pairs:
        first[high] = first[low]
    if len(pairs):
        notes.append(f"{len(pairs)} coincident pairs of points were merged")
    return first[triangles], first


def _note_coincident(points: np.ndarray, triangles: np.ndarray, notes: list[str]) -> None:
    used = np.unique(triangles)
    pairs = KDTree(points[used]).query_pairs(FLAT * float(np.ptp(points[used])))
    if pairs:
        notes.append(
            f"{len(pairs)} coincident pairs of nodes: the mesh is cut open there and nothing passes; "
            "if it should be whole, read it with merge=True (--merge)"
        )


def _flat(p: np.ndarray, t: np.ndarray) -> list[int]:
    return np.flatnonzero(np.abs(signed_areas(p.T, t.T)) <= 1e-14 * np.ptp(p, axis=1).max() ** 2).tolist()


def _curves(raw: meshio.Mesh, notes: list[str]) -> dict[str, np.ndarray]:
    """The edges, by their end points, of every named curve; curves with a number and no name are called by it."""
    names = {int(tag): name for name, (tag, dim) in raw.field_data.items() if int(dim) == 1}
    curves: dict[str, list[np.ndarray]] = {}
    for block, cells in enumerate(raw.cells):
        if cells.type not in LINES:
            continue
        ends = cells.data[:, :2].astype(int)
        for name, members in raw.cell_sets.items():  # a curve may have two names
            if name.startswith("gmsh:") or members[block] is None:
                continue
            chosen = np.asarray(members[block], dtype=int)
            if len(chosen):
                curves.setdefault(name, []).append(ends[chosen])
        for tag in np.unique(numbers := _numbers(raw, block, len(ends))):
            name = names.get(int(tag), str(tag))
            if tag and name not in raw.cell_sets:
                curves.setdefault(name, []).append(ends[numbers == tag])
    for name in names.values():
        if name not in curves:
            notes.append(f"the tag {name!r} is declared and no facet carries it; save only the physical groups")
    return {name: np.concatenate(parts) for name, parts in curves.items()}


def _numbers(raw: meshio.Mesh, block: int, count: int) -> np.ndarray:
    data = raw.cell_data.get("gmsh:physical", raw.cell_data.get("medit:ref"))
    return np.zeros(count, dtype=int) if data is None else np.asarray(data[block], dtype=int)


def _facets(mesh: MeshTri, curves: Mapping[str, np.ndarray], notes: list[str]) -> dict[str, np.ndarray]:
    """Find the facets of the mesh between the end points of edges."""
    known = facet_by_nodes(mesh)
    boundaries = {}
    for name, edges in curves.items():
        found = [known.get((int(a), int(b))) for a, b in np.sort(edges, axis=1)]
        missing = found.count(None)
        if missing:
            notes.append(f"{missing} of {len(found)} edges of the tag {name!r} are no edges of triangles")
        boundaries[name] = np.unique([one for one in found if one is not None]).astype(int)
    return boundaries
