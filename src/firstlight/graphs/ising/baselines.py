"""The graph networks of the benchmark's table, as thin configurations of PyTorch Geometric's layers.

Each is an encoder of the spins, `depth` residual layers and a readout per node. What a prediction can know is decided
by `GraphBaseline.receptive_radius`: `depth` hops for message passing, everything with a virtual node or attention. On a
16 × 16 torus 16 hops are everything too, so the depth always belongs beside the score.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, GPSConv, ResGatedGraphConv, global_mean_pool

from firstlight.errors import InvalidInput
from firstlight.pretrained import Pretrained

HEADS = 4  # of the attention of "gps"


def _perceptron(width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))


def _gin(width: int) -> GINConv:
    return GINConv(_perceptron(width))


def _gated(width: int) -> ResGatedGraphConv:
    return ResGatedGraphConv(width, width)


@dataclass(frozen=True)
class Architecture:
    """A row of the benchmark's table: what a layer is made of, and what the network costs.

    Attributes
    ----------
    conv : makes the local part of a layer, of a given width; None for a network that never looks at neighbours.
    cost : growth of the run time with the nodes N, the edges E and the layers L.
    reach : how a layer also hears from all nodes at once, if it does.
    """

    conv: Callable[[int], nn.Module] | None
    cost: str
    reach: Literal["virtual node", "attention"] | None = None


ARCHITECTURES: Mapping[str, Architecture] = {
    "mlp": Architecture(None, "O(L·N)"),
    "gin": Architecture(_gin, "O(L·E)"),
    "gatedgcn": Architecture(_gated, "O(L·E)"),
    "gatedgcn-vn": Architecture(_gated, "O(L·E + L·N)", reach="virtual node"),
    "gps": Architecture(_gated, "O(L·N²)", reach="attention"),
}


class GraphBaseline(Pretrained):
    """A graph network that predicts one number per node.

    Parameters
    ----------
    architecture : ``"mlp"``, ``"gin"``, ``"gatedgcn"``, ``"gatedgcn-vn"`` (with a virtual node) or ``"gps"``
        (with attention over all nodes).
    width : channels of a layer; for ``"gps"`` a multiple of 4.
    depth : layers; for message passing also the hops that a prediction can see.

    Raises
    ------
    InvalidInput
        If there is no such architecture, or width or depth does not fit it.
    """

    def __init__(self, architecture: str = "gin", width: int = 64, depth: int = 12) -> None:
        super().__init__()
        if architecture not in ARCHITECTURES:
            raise InvalidInput(f"expected an architecture of {', '.join(ARCHITECTURES)}; got {architecture!r}")
        if width < 1 or depth < 1 or (architecture == "gps" and width % HEADS):
            raise InvalidInput(
                f"expected at least one layer and one channel (for gps a multiple of {HEADS} channels), got "
                f"depth {depth} and width {width}"
            )
        self.architecture, self.depth = ARCHITECTURES[architecture], depth
        self.encode = nn.Linear(1, width)
        self.layers = nn.ModuleList(_Layer(self.architecture, width) for _ in range(depth))
        self.readout = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    @property
    def cost(self) -> str:
        """Growth of the run time with the nodes N, the edges E and the layers L."""
        return self.architecture.cost

    @property
    def receptive_radius(self) -> int | None:
        """Hops around a node that can change its prediction; None where every node can."""
        if self.architecture.reach:
            return None
        return self.depth if self.architecture.conv else 0

    def forward(self, data: Data) -> Float[Tensor, "nodes 1"]:
        """Predict one number per node from ``data.x`` and ``data.edge_index``, for one graph or a batch of graphs."""
        x: Tensor = data.x  # type: ignore[assignment] - None only in graphs without features
        batch = torch.zeros(len(x), dtype=torch.long, device=x.device) if data.batch is None else data.batch
        state = self.encode(x)
        for layer in self.layers:
            state = layer(state, data.edge_index, batch)
        return self.readout(state)


class _Layer(nn.Module):
    """A residual layer: what neighbours say, normalised, and for some architectures what all nodes say."""

    def __init__(self, architecture: Architecture, width: int) -> None:
        super().__init__()
        local = nn.Linear(width, width) if architecture.conv is None else architecture.conv(width)
        self.attends, self.sees_edges = architecture.reach == "attention", architecture.conv is not None
        if self.attends:
            self.local = GPSConv(width, local, heads=HEADS)  # type: ignore[arg-type] - a convolution; with norms of its own
            return
        self.local, self.norm = local, nn.BatchNorm1d(width)
        self.virtual_node = _perceptron(width) if architecture.reach == "virtual node" else None

    def forward(
        self, state: Float[Tensor, "nodes width"], edges: Int[Tensor, "2 edges"], batch: Int[Tensor, " nodes"]
    ) -> Float[Tensor, "nodes width"]:
        if self.attends:
            return self.local(state, edges, batch)
        if self.virtual_node is not None:
            state = state + self.virtual_node(global_mean_pool(state, batch))[batch]
        change = self.local(state, edges) if self.sees_edges else self.local(state)
        return state + torch.relu(self.norm(change))
