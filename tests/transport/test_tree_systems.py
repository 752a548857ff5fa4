import networkx as nx
import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path
from tests.transport.explicit_trees import on_sphere, two_clouds

from firstlight.errors import InvalidInput
from firstlight.transport import SphericalTreeSystem, TreeSystem, sample_spherical_trees, sample_tree_system


@pytest.mark.parametrize("structure", ["concurrent", "chain"])
def test_graph_is_a_tree_whose_metric_is_length_along_lines(structure):
    X, *_ = two_clouds(n=12)
    trees = sample_tree_system(X.mean(axis=0), 3, 4, structure=structure, seed=0)
    graph, positions = trees.to_graph(X, tree=2)
    assert nx.is_tree(nx.from_scipy_sparse_array(graph))
    # Every edge lies along a line, so that it is as long as its ends are apart.
    rows, columns = graph.nonzero()
    apart = np.linalg.norm(positions[rows] - positions[columns], axis=1)
    np.testing.assert_allclose(graph[rows, columns], apart, atol=1e-14)
    metric = shortest_path(graph, directed=False)
    starts = np.broadcast_to(trees.starts(slice(2, 3))[0], (4, 3))
    first = (X - starts[0]) @ trees.directions[2, 0]
    np.testing.assert_allclose(metric[0, 1:13], np.abs(first), atol=1e-14)
    np.testing.assert_allclose(metric[1:13, 1:13], np.abs(first[:, None] - first), atol=1e-14)


def test_lines_of_a_chain_start_at_joints_of_the_line_before():
    X, *_ = two_clouds(n=5)
    trees = sample_tree_system(X.mean(axis=0), 1, 3, structure="chain", seed=1)
    graph, positions = trees.to_graph(X)
    metric = shortest_path(graph, directed=False)
    joint, last = 1 + 3 * 5, 1 + 2 * 5
    through = (
        np.abs(trees.joints[0, 0]) + np.abs(trees.joints[0, 1]) + np.linalg.norm(positions[last] - positions[joint + 1])
    )
    assert metric[0, last] == pytest.approx(through, rel=1e-12)


def test_projections_are_the_nearest_points_of_the_lines():
    X, *_ = two_clouds(n=6)
    trees = sample_tree_system(X.mean(axis=0), 1, 4, structure="chain", seed=3)
    _, positions = trees.to_graph(X)
    for line, direction in enumerate(trees.directions[0]):
        residual = X - positions[1 + 6 * line : 7 + 6 * line]
        np.testing.assert_allclose(residual @ direction, 0, atol=1e-14)


def test_shares_are_a_softmax_of_distances():
    X, *_ = two_clouds(n=6)
    trees = sample_tree_system(X.mean(axis=0), 1, 4, seed=3)
    _, positions = trees.to_graph(X)
    distance = np.linalg.norm(positions[1:].reshape(4, 6, 3) - X, axis=-1)
    shares = trees.shares(X, delta=1.5)
    np.testing.assert_allclose(shares.sum(axis=0), 1)
    np.testing.assert_allclose(np.log(shares[1] / shares[0]), -1.5 * (distance[1] - distance[0]), rtol=1e-12)


def test_spherical_trees_measure_angles_from_the_root():
    X = on_sphere(two_clouds(n=8)[0])
    trees = sample_spherical_trees(3, 2, 3, seed=0)
    parent, length = trees.to_tree(X, tree=1)
    to_root = np.zeros(len(parent))
    for vertex in range(len(parent)):
        step = vertex
        while parent[step] >= 0:
            to_root[vertex] += length[step]
            step = parent[step]
    angle = np.arccos(X @ trees.roots[1])
    np.testing.assert_allclose(to_root[1:], np.tile(angle, 3), rtol=1e-12)
    np.testing.assert_allclose(trees.shares(X, 1).sum(axis=0), 1)


@pytest.mark.parametrize(
    ("roots", "directions", "joints", "message"),
    [
        (np.zeros((2, 3)), np.eye(3)[None], None, "expected roots of shape"),
        (np.zeros(3), np.eye(3), None, "expected roots of shape"),
        (np.zeros((0, 3)), np.zeros((0, 2, 3)), None, "at least one tree"),
        (np.zeros((1, 3)), 2 * np.eye(3)[None], None, "unit vectors"),
        (np.full((1, 3), np.nan), np.eye(3)[None], None, "finite"),
        (np.zeros((1, 3)), np.eye(3)[None], np.zeros((1, 3)), "joints of shape"),
        (np.zeros((1, 3)), np.eye(3)[None], np.full((1, 2), np.inf), "finite"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_is_no_tree_of_lines_is_refused(roots, directions, joints, message):
    with pytest.raises(InvalidInput, match=message):
        TreeSystem(roots, directions, joints)


@pytest.mark.parametrize(
    ("roots", "edges", "message"),
    [
        (np.eye(3)[:1], np.eye(3)[None, :2], "perpendicular"),
        (2 * np.eye(3)[:1], np.eye(3)[None, 1:], "roots must be unit vectors"),
        (np.eye(3)[:1], 2 * np.eye(3)[None, 1:], "edges must be unit vectors"),
        (np.eye(3), np.eye(3)[None, 1:], "expected roots of shape"),
        (np.full((1, 3), np.nan), np.eye(3)[None, 1:], "unit vectors"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_is_no_spherical_tree_is_refused(roots, edges, message):
    with pytest.raises(InvalidInput, match=message):
        SphericalTreeSystem(roots, edges)
