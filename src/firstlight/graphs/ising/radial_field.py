"""A trainable model of long-range interactions at linear cost.

Every node sends a few signals, every other node receives them with a strength that depends on the distance alone, and
what was received is gated by the node's own features. The dependence on distance is learned
(`power_mixture.PowerMixture`); the sums over all pairs take O(N) operations (`multilevel.multilevel_sum`) or O(N log N)
(`spectral.convolve`), with the same weights. That interactions depend on the distance, and have no scale of their own,
is what the model assumes; which exponents, signs and gates is what it learns.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.lattice_graphs import lattice_sites
from firstlight.graphs.ising.multilevel import multilevel_sum
from firstlight.graphs.ising.power_mixture import PowerMixture
from firstlight.graphs.ising.spectral import convolve, torus_distances
from firstlight.pretrained import Pretrained

COSTS = {"multilevel": "O(N)", "fft": "O(N log N)"}


class RadialFieldModel(Pretrained):
    """Predicts one number per node of a square lattice from the spins of all nodes.

    Takes the benchmark's graphs as they are, of any size and with any numbering of the nodes, and graphs of open or
    diluted lattices made by `lattice_graphs.lattice_data`.

    Parameters
    ----------
    channels : signals that every node sends.
    powers : powers of the distance that a signal's strength is mixed from.
    summation : ``"multilevel"`` for linear cost, ``"fft"`` for O(N log N). The weights are the same.

    Attributes
    ----------
    receptive_radius : None, for every node can change every prediction.

    Raises
    ------
    InvalidInput
        If an argument is out of its range.
    """

    receptive_radius = None

    def __init__(
        self, channels: int = 4, powers: int = 2, summation: Literal["multilevel", "fft"] = "multilevel"
    ) -> None:
        super().__init__()
        if channels < 1 or powers < 1 or summation not in COSTS:
            raise InvalidInput(
                f"expected at least one channel and one power and a summation of {', '.join(COSTS)}, got "
                f"{channels}, {powers} and {summation!r}"
            )
        self.summation = summation
        self.sources, self.gates = nn.Linear(1, channels, bias=False), nn.Linear(1, channels, bias=False)
        self.kernel = PowerMixture(channels, powers)
        self.readout = nn.Linear(channels, 1)

    @property
    def cost(self) -> str:
        """Growth of the run time with the number of nodes N."""
        return COSTS[self.summation]

    def forward(self, data: Data) -> Float[Tensor, "nodes 1"]:
        """Predict one number per node from ``data.x``, for one graph or a batch of graphs."""
        sites = lattice_sites(data)
        if sites is None:  # graphs of several kinds
            return torch.cat([self(graph) for graph in Batch.to_data_list(data)])  # type: ignore[arg-type]
        x: Tensor = data.x  # type: ignore[assignment] - None only in graphs without features
        sources = sites.on_torus(self.sources(x))
        fields = sites.at_nodes(
            multilevel_sum(sources, self.kernel)
            if self.summation == "multilevel"
            else convolve(sources, self.kernel.at(torus_distances(sites.torus, sources)))
        )
        return self.readout(self.gates(x) * fields)
