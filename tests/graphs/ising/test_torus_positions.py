"""Positions are found from edges alone, up to the symmetries of the torus."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.lattices import lattice_edges
from firstlight.graphs.ising.torus_positions import torus_positions

# A side of 4 is refused, below.
SIDES = st.integers(3, 12).filter(lambda side: side != 4)


@given(rows=SIDES, columns=SIDES, seed=st.integers(0, 2**31))
def test_distances_are_those_of_the_torus_whatever_the_numbering(rows, columns, seed):
    rng = np.random.default_rng(seed)
    n = rows * columns
    number = rng.permutation(n)  # of each cell
    edges = number[lattice_edges((rows, columns), "hypercubic", True)][:, rng.permutation(4 * n)]
    found, sides = torus_positions(edges, n)
    cells = np.empty((n, 2), np.int64)
    cells[number] = np.argwhere(np.ones((rows, columns)))
    np.testing.assert_array_equal(squared_distances(found, sides), squared_distances(cells, (rows, columns)))


def squared_distances(positions, sides):
    """From the first node to the nearest image of every node."""
    steps = (positions - positions[0]) % sides
    return (np.minimum(steps, np.array(sides) - steps) ** 2).sum(axis=1)


def with_edge_moved(edges):
    moved = edges.copy()
    moved[1, 7] = 20
    return moved


TORUS = lattice_edges((6, 6), "hypercubic", True)
OPEN = lattice_edges((6, 6), "hypercubic", False)
# A row that closes shifted by one makes a twisted torus, where every neighbourhood looks right.
TWISTED = np.array(
    [
        pair
        for i in range(6)
        for j in range(6)
        for other in (((i + 1) % 6, j), (i, j + 1) if j < 5 else ((i + 1) % 6, 0))
        for pair in ((6 * i + j, 6 * other[0] + other[1]), (6 * other[0] + other[1], 6 * i + j))
    ]
).T.copy()


@pytest.mark.parametrize(
    ("edges", "n"),
    [
        (OPEN, 36),
        (with_edge_moved(TORUS), 36),
        (TWISTED, 36),
        (lattice_edges((6, 6), "triangular", True), 36),
        (lattice_edges((4, 8), "hypercubic", True), 32),
        (np.concatenate([TORUS, TORUS + 36], axis=1), 72),
    ],
    ids=["open", "one edge moved", "twisted", "triangular", "side of 4", "two toruses"],
)
def test_other_graphs_are_refused(edges, n):
    with pytest.raises(InvalidInput, match="no square torus"):
        torus_positions(edges, n)
