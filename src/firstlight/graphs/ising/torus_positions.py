"""Where the nodes of a square torus stand, found from its edges alone.

The benchmark's graphs come without coordinates, but distances on a torus are a property of the graph: two neighbours
of a node lie opposite each other exactly if no other node joins them. Opposite neighbours make straight lines, straight
lines make rows and columns. Found this way, positions do not depend on how the nodes are numbered; they are unique up
to the symmetries of the torus, which no distance sees.
"""

from functools import lru_cache
from typing import Any

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
    starts, ends = np.frombuffer(edges, np.int64).reshape(2, -1)
    positions = None
    if len(starts) == 4 * n_nodes and (np.bincount(starts, minlength=n_nodes) == 4).all():
        positions = _walk(ends[np.argsort(starts, kind="stable")].reshape(n_nodes, 4))
    # What the walks found is believed only if no two nodes share a cell and every edge is a step of one.
    if positions is not None:
        sides = positions.max(axis=0) + 1
        steps = (positions[ends] - positions[starts]) % sides
        distances = np.minimum(steps, sides - steps).sum(axis=1)
        if len(np.unique(positions, axis=0)) == n_nodes == sides.prod() and (distances == 1).all():
            positions.flags.writeable = False  # it is shared
            return positions, (int(sides[0]), int(sides[1]))
    raise InvalidInput(
        f"the graph of {n_nodes} nodes and {len(starts)} directed edges is no square torus with sides of 3, 5 or more; "
        "for other lattices make the graph by lattice_data, which adds positions"
    )


def _walk(neighbours: Int64[np.ndarray, "nodes 4"]) -> Int64[np.ndarray, "nodes 2"] | None:
    """Positions by walking a straight line from node 0, and from all its nodes straight lines across it."""
    opposite = _opposite_slots(neighbours)
    line = None if opposite is None else _first_line(neighbours, opposite)
    if opposite is None or line is None:
        return None
    nodes, sideways = line
    positions = np.full((len(neighbours), 2), -1, np.int64)
    columns = np.arange(len(nodes))
    for row in range(len(neighbours) // len(nodes)):
        positions[nodes] = np.stack([np.full_like(columns, row), columns], axis=1)
        nodes, sideways = _straight_on(neighbours, opposite, nodes, sideways)
    return positions if positions.min() >= 0 else None


def _first_line(
    neighbours: Int64[np.ndarray, "nodes 4"], opposite: Int64[np.ndarray, "nodes 4"]
) -> tuple[Int64[np.ndarray, " line"], Int64[np.ndarray, " line"]] | None:
    """Nodes of the straight line through node 0, and for each the slot of its neighbour on one side of the line."""
    node, ahead = np.int64(0), np.int64(0)
    side = next(slot for slot in range(4) if slot not in (0, opposite[0, 0]))
    nodes, sideways = [node], [side]
    while len(nodes) <= len(neighbours):
        beside = neighbours[node, side]
        node, ahead = _straight_on(neighbours, opposite, node, ahead)
        off_the_line = [slot for slot in range(4) if slot not in (ahead, opposite[node, ahead])]
        # The same side is the one that completes a square with the node beside the one before.
        same = [slot for slot in off_the_line if beside in neighbours[neighbours[node, slot]]]
        if not same:
            return None
        side = same[0]
        if node == 0:
            return np.array(nodes), np.array(sideways)
        nodes.append(node)
        sideways.append(side)
    return None


def _straight_on(
    neighbours: Int64[np.ndarray, "nodes 4"], opposite: Int64[np.ndarray, "nodes 4"], node: Any, slot: Any
) -> tuple[Any, Any]:
    """Step from nodes to their neighbours in given slots, and return those with the slots that lie straight ahead."""
    reached = neighbours[node, slot]
    came_from = (neighbours[reached] == np.asarray(node)[..., None]).argmax(axis=-1)
    return reached, opposite[reached, came_from]


def _opposite_slots(neighbours: Int64[np.ndarray, "nodes 4"]) -> Int64[np.ndarray, "nodes 4"] | None:
    """Which of a node's four neighbours lies opposite which, or None where that is not two pairs."""
    around = neighbours[neighbours]  # node, slot, the neighbours of that neighbour
    joints = (around[:, :, None, :, None] == around[:, None, :, None, :]).sum(axis=(3, 4))  # of each pair of neighbours
    alone = (joints == 1) & ~np.eye(4, dtype=bool)
    return alone.argmax(axis=2) if (alone.sum(axis=2) == 1).all() else None
