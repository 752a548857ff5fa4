"""Where the nodes of a square torus stand, found from its edges alone.

The benchmark's graphs come without coordinates, but distances on a torus are a property of the graph: two neighbours
of a node lie opposite each other exactly if no other node joins them. Opposite neighbours make straight lines, straight
lines make rows and columns. Found this way, positions do not depend on how the nodes are numbered; they are unique up
to the symmetries of the torus, which no distance sees.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Int64

from firstlight.errors import InvalidInput


def torus_positions(
    edge_index: Int64[np.ndarray, "2 edges"], n_nodes: int
) -> tuple[Int64[np.ndarray, "nodes 2"], tuple[int, int]]:
    """Row and column of every node of a square lattice with periodic boundaries, in linear time.

    Parameters
    ----------
    edge_index : nearest neighbours as directed pairs, both ways, in any order.
    n_nodes : number of nodes, numbered in any order.

    Returns
    -------
    The positions, and the sides of the torus.

    Raises
    ------
    InvalidInput
        If the graph is no square torus with sides of 3, 5 or more; at a side of 4 opposite neighbours have two joints.
    """
    return _found(edge_index.tobytes(), n_nodes)


@lru_cache(maxsize=8)  # the thousands of graphs of a data set share one list of edges
def _found(edges: bytes, n_nodes: int) -> tuple[Int64[np.ndarray, "nodes 2"], tuple[int, int]]:
    positions = None
    starts, ends = np.frombuffer(edges, np.int64).reshape(2, -1)
    if len(starts) == 4 * n_nodes and np.array_equal(np.bincount(starts, minlength=n_nodes), np.full(n_nodes, 4)):
        positions = _walked(ends[np.argsort(starts, kind="stable")].reshape(n_nodes, 4))
    # What the walks found is believed only if every edge then is a step of one, in as many ways as a torus has.
    if positions is not None:
        sides = positions.max(axis=0) + 1
        cells = np.ravel_multi_index(tuple(positions.T), tuple(sides))
        steps = (positions[ends] - positions[starts]) % sides
        short = np.minimum(steps, sides - steps)
        if len(np.unique(cells)) == n_nodes == sides.prod() and (short.sum(axis=1) == 1).all():
            positions.flags.writeable = False  # it is shared
            return positions, (int(sides[0]), int(sides[1]))
    raise InvalidInput(
        f"the graph of {n_nodes} nodes and {len(starts)} directed edges is no square torus with sides of 3, 5 or more; "
        "for other lattices make the graph by lattice_data, which adds positions"
    )


def _walked(neighbours: Int64[np.ndarray, "nodes 4"]) -> Int64[np.ndarray, "nodes 2"] | None:
    """Positions by walking a straight line from node 0, and from all its nodes straight lines across it."""
    opposite = _opposite_slots(neighbours)
    if opposite is None:
        return None
    # To stand at a node and face one of its neighbours is a pair (node, slot); from there one walks straight on.
    entered = _slots_back(neighbours)

    def onwards(node, slot):
        following = neighbours[node, slot]
        return following, opposite[following, entered[node, slot]]

    row, sideways, node, slot = [0], [], 0, 0
    side = next(s for s in range(4) if s not in (0, opposite[0, 0]))
    while True:
        sideways.append(side)
        across = neighbours[node, side]
        node, slot = onwards(node, slot)
        # Of the two ways off the line, the one that completes a square with the way taken before keeps the side.
        closing = [
            s for s in range(4) if s not in (slot, opposite[node, slot]) and across in neighbours[neighbours[node, s]]
        ]
        if not closing or len(row) > len(neighbours):
            return None
        side = closing[0]
        if node == 0:
            break
        row.append(int(node))
    positions = np.full((len(neighbours), 2), -1, np.int64)
    nodes, slots = np.array(row), np.array(sideways)
    for number in range(len(neighbours) // len(row)):
        positions[nodes] = np.stack([np.full(len(row), number), np.arange(len(row))], axis=1)
        nodes, slots = onwards(nodes, slots)
    return positions if positions.min() >= 0 else None


def _opposite_slots(neighbours: Int64[np.ndarray, "nodes 4"]) -> Int64[np.ndarray, "nodes 4"] | None:
    """Which of a node's four neighbours lies opposite which, or None where that is not two pairs."""
    around = neighbours[neighbours]  # node, slot, the neighbours of that neighbour
    joints = np.stack(
        [[(around[:, a, :, None] == around[:, b, None, :]).sum(axis=(1, 2)) for b in range(4)] for a in range(4)]
    )
    alone = np.moveaxis(joints == 1, 2, 0) & ~np.eye(4, dtype=bool)
    return alone.argmax(axis=2) if (alone.sum(axis=2) == 1).all() else None


def _slots_back(neighbours: Int64[np.ndarray, "nodes 4"]) -> Int64[np.ndarray, "nodes 4"]:
    """Slot under which a node stands in the list of each of its neighbours."""
    nodes = np.arange(len(neighbours))[:, None, None]
    return (neighbours[neighbours] == nodes).argmax(axis=2)
