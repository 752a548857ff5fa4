"""Graphs of lattices for PyTorch Geometric, and the way from their nodes to the cells of a torus and back."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64, Num
from torch import Tensor
from torch_geometric.data import Batch, Data

from firstlight.graphs.ising.couplings import PowerLawIsing, Target
from firstlight.graphs.ising.torus_positions import torus_positions


def lattice_data(model: PowerLawIsing, spins: Num[np.ndarray, "..."], target: Target = "lrim") -> Data:
    """One configuration of any Ising model as a graph with labels.

    Parameters
    ----------
    model : the Ising model, on a lattice or between scattered points.
    spins : ±1 of every site.
    target : the label, as `PowerLawIsing.target` names it.

    Returns
    -------
    ``x`` and ``y`` of shape (nodes, 1) in float32 and float64, ``edge_index``; for square lattices also ``pos``, the
    cell of every node, ``sides``, of shape (1, 2), and ``periodic``, of shape (1,).
    """
    flat = model.flattened(spins)
    data = Data(
        x=torch.tensor(flat[:, None], dtype=torch.float32),
        y=torch.tensor(model.target(flat, target)[:, None]),
        edge_index=torch.tensor(model.edge_index),
    )
    if len(model.shape) == 2 and model.lattice == "hypercubic":
        data.pos = torch.tensor(np.argwhere(model.occupied))
        data.sides = torch.tensor([model.shape])
        data.periodic = torch.tensor([model.boundary == "periodic"])
    return data


@dataclass(frozen=True, eq=False)
class LatticeSites:
    """Which cell of which torus every node of a batch stands in.

    An open lattice stands in a corner of a torus at least twice as wide, so that the nearest image of a site is the
    site itself.

    Attributes
    ----------
    torus : sides of the torus.
    n_graphs : number of graphs, each on a torus of its own.
    cells : cell of every node, counted over all toruses.
    """

    torus: tuple[int, int]
    n_graphs: int
    cells: Int64[Tensor, " nodes"]

    def on_torus(self, values: Float[Tensor, "nodes channels"]) -> Float[Tensor, "graphs channels rows columns"]:
        """Lay values of nodes on the toruses, with 0 in vacant cells."""
        grid = values.new_zeros(self.n_graphs * self.torus[0] * self.torus[1], values.shape[1])
        return grid.index_copy(0, self.cells, values).unflatten(0, (self.n_graphs, *self.torus)).movedim(-1, 1)

    def at_nodes(self, grid: Float[Tensor, "graphs channels rows columns"]) -> Float[Tensor, "nodes channels"]:
        """Pick the values of nodes from the toruses."""
        return grid.movedim(1, -1).flatten(0, 2)[self.cells]


def lattice_sites(data: Data) -> LatticeSites | None:
    """Find the cells of the nodes of one graph or a batch, or None if the graphs differ in size or in their edges.

    Raises
    ------
    InvalidInput
        If a graph has no positions and is no square torus.
    """
    n_graphs = data.num_graphs if isinstance(data, Batch) else 1
    x: Tensor = data.x  # type: ignore[assignment] - None only in graphs without features
    graph = data["batch"] if n_graphs > 1 else torch.zeros(len(x), dtype=torch.long, device=x.device)
    if "sides" in data:
        sides, periodic = data["sides"].unique(dim=0), data["periodic"].unique()
        if len(sides) > 1 or len(periodic) > 1:
            return None
        rows, columns = (side if bool(periodic) else _roomy(side) for side in sides[0].tolist())
        positions = data["pos"]
    else:
        edges = _common_edges(data["edge_index"], graph, n_graphs)
        if edges is None:
            return None
        found, (rows, columns) = torus_positions(edges.cpu().numpy(), len(x) // n_graphs)
        positions = torch.tensor(found, device=x.device).repeat(n_graphs, 1)
    cells = (graph * rows + positions[:, 0]) * columns + positions[:, 1]
    return LatticeSites((rows, columns), n_graphs, cells)


def _common_edges(
    edges: Int64[Tensor, "2 all_edges"], graph: Int64[Tensor, " nodes"], n_graphs: int
) -> Int64[Tensor, "2 edges"] | None:
    """Edges that all graphs of a batch have in common, or None if they differ."""
    n = len(graph) // n_graphs
    numbers = torch.arange(n_graphs, device=graph.device)
    if not torch.equal(graph, numbers.repeat_interleave(n)) or edges.shape[1] % n_graphs:
        return None
    apart = edges.unflatten(1, (n_graphs, -1)) - n * numbers[:, None]
    return apart[:, 0].contiguous() if torch.equal(apart, apart[:, :1].expand_as(apart)) else None


def _roomy(side: int) -> int:
    """Smallest power of two that holds an open side and its displacements of both signs; powers of two halve best."""
    return 1 << (2 * side - 2).bit_length()
