"""Files of meshes as they come: what they mean is found, noted or refused."""

from pathlib import Path

import meshio
import numpy as np
import pytest
from skfem import MeshTri
from tests.pde.schwarz.domains import square

from firstlight.errors import InvalidInput
from firstlight.pde.schwarz.meshes import check_mesh, read_mesh, tags


def written(path: Path, mesh: MeshTri, points: np.ndarray | None = None, triangles: np.ndarray | None = None) -> Path:
    """A file of Gmsh's format 2.2 with the sides of the square as physical curves."""
    points = mesh.p.T if points is None else points
    names = {name: np.array([number + 1, 1]) for number, name in enumerate(mesh.boundaries)}
    lines = np.concatenate([mesh.facets[:, facets].T for facets in mesh.boundaries.values()])
    numbers = np.concatenate([np.full(len(facets), names[name][0]) for name, facets in mesh.boundaries.items()])
    t = mesh.t.T if triangles is None else triangles
    meshio.Mesh(
        np.c_[points, np.zeros(len(points))],
        [("line", lines), ("triangle", t)],
        cell_data={"gmsh:physical": [numbers, np.full(len(t), 9)], "gmsh:geometrical": [numbers, np.full(len(t), 9)]},
        field_data={**names, "domain": np.array([9, 2])},
    ).write(path, file_format="gmsh22", binary=False)
    return path


def test_a_file_gives_its_mesh_and_its_tags(tmp_path: Path) -> None:
    mesh = square(0.2)
    domain = read_mesh(written(tmp_path / "square.msh", mesh))
    assert domain.notes == ()
    assert np.allclose(domain.mesh.p, mesh.p)
    assert {name: len(facets) for name, facets in tags(domain.mesh).items()} == {
        "boundary": 20, "outer": 20, "left": 5, "right": 5, "bottom": 5, "top": 5,
    }  # fmt: skip


def test_the_order_of_a_triangle_does_not_matter(tmp_path: Path) -> None:
    mesh = square(0.2)
    triangles = mesh.t.T.copy()
    triangles[::2] = triangles[::2][:, [0, 2, 1]]
    read = read_mesh(written(tmp_path / "square.msh", mesh, triangles=triangles))
    assert read.notes == ()
    assert np.array_equal(np.sort(read.mesh.t, axis=0), np.sort(mesh.t, axis=0))


def test_points_that_no_triangle_uses_are_noted_and_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    mesh = square(0.2)
    path = tmp_path / "square.vtk"
    points = np.vstack([[7.0, 7.0], mesh.p.T])
    meshio.Mesh(np.c_[points, np.zeros(len(points))], [("triangle", mesh.t.T + 1)]).write(path)
    domain = read_mesh(path)
    assert list(domain.numbers[:3]) == [1, 2, 3]
    assert "1 points belong to no triangle" in domain.notes[0]
    domain.write(tmp_path / "out.vtu", u=domain.mesh.p[0])
    u = meshio.read(tmp_path / "out.vtu").point_data["u"]
    assert np.isnan(u[0])
    assert np.allclose(u[1:], points[1:, 0])


def test_a_mesh_cut_open_by_coincident_points_is_noted_and_can_be_merged(tmp_path: Path) -> None:
    left, right = square(0.25), square(0.25).translated((1.0, 0.0))
    points = np.concatenate([left.p.T, right.p.T])
    path = tmp_path / "two.vtk"
    cells = np.concatenate([left.t.T, right.t.T + left.nvertices])
    meshio.Mesh(np.c_[points, np.zeros(len(points))], [("triangle", cells)]).write(path)
    assert "5 coincident pairs" in read_mesh(path).notes[0]
    merged = read_mesh(path, merge=True)
    assert merged.mesh.nvertices == len(points) - 5
    assert len(merged.mesh.boundary_facets()) == 24


def test_quadrilaterals_and_second_order_triangles_are_read_by_their_corners(tmp_path: Path) -> None:
    points = np.array(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0], [1.5, 0.5, 0], [1, 0.5, 0], [1.5, 0, 0.0]]
    )
    path = tmp_path / "mixed.vtu"
    meshio.Mesh(points, [("quad", [[0, 1, 2, 3]]), ("triangle6", [[1, 4, 2, 7, 5, 6]])]).write(path)
    domain = read_mesh(path)
    assert domain.mesh.nelements == 3
    assert domain.mesh.nvertices == 5
    assert "cut into two" in domain.notes[0]
    assert "corners" in domain.notes[1]


@pytest.mark.parametrize(
    ("cells", "points", "message"),
    [
        ([("line", [[0, 1], [1, 2]])], np.eye(3) * [1, 1, 0], "no triangles (2 of kind line)"),
        ([("tetra", [[0, 1, 2, 3]])], np.vstack([np.zeros(3), np.eye(3)]), "no volume"),
        ([("triangle", [[0, 1, 2]])], np.eye(3), "surface in space"),
        ([("triangle", [[0, 1, 2]])], np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0.0]]), "no area"),
    ],
)
def test_what_is_no_triangle_mesh_in_the_plane_is_refused(
    tmp_path: Path, cells: list, points: np.ndarray, message: str
) -> None:
    meshio.Mesh(points.astype(float), [(kind, np.array(data)) for kind, data in cells]).write(tmp_path / "mesh.vtu")
    with pytest.raises(InvalidInput, match=message.replace("(", r"\(").replace(")", r"\)")):
        read_mesh(tmp_path / "mesh.vtu")


def test_a_missing_file_and_a_format_nobody_knows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no file"):
        read_mesh(tmp_path / "absent.msh")
    (tmp_path / "mesh.xyz1").write_text("?")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_mesh(tmp_path / "mesh.xyz1")


def test_a_mesh_with_an_orphan_node_is_refused() -> None:
    mesh = square(0.25)
    with pytest.raises(InvalidInput, match="1 nodes belong to no triangle"):
        check_mesh(MeshTri(np.c_[[3.0, 3.0], mesh.p], mesh.t + 1))
