"""How far a model listens: distances on the graph, weighted by the derivatives of its predictions.

The range of a model F at a node u is ρ_u = Σ_v |∂F_u/∂x_v| d(u, v), with d in hops (Bamberger et al., *On measuring
long-range interactions in graph neural networks*, ICML 2025). For the benchmark's own labels |∂y_u/∂s_v| = J_uv, which
gives the range that a model has to have: it grows without bound with the lattice for σ ≤ 1, and stays finite for σ > 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor
from torch_geometric.data import Batch, Data

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.evaluator import evaluation_mode
from firstlight.graphs.ising.lattices import hops
from firstlight.pictures import axes_or_new

ROWS = 64  # predictions differentiated at a time, which bounds the memory


@dataclass(frozen=True, eq=False)
class RangeMeasure:
    """How far the predictions at some nodes reach.

    Attributes
    ----------
    nodes : the nodes u.
    influence : Σ_v |∂F_u/∂x_v| over the nodes v at each number of hops from u, summed over features and outputs; its
        first column is the node's own.
    """

    nodes: Int64[np.ndarray, " nodes"]
    influence: Float64[np.ndarray, "nodes hops"] = field(repr=False)

    @property
    def absolute(self) -> Float64[np.ndarray, " nodes"]:
        """ρ_u = Σ_v |∂F_u/∂x_v| d(u, v), in hops times the unit of the derivative."""
        return self.influence @ np.arange(self.influence.shape[1])

    @property
    def normalized(self) -> Float64[np.ndarray, " nodes"]:
        """ρ_u divided by the influence of all other nodes, Σ_{v≠u} |∂F_u/∂x_v|: a mean distance in hops.

        A node's own influence is left out; a prediction that no other node changes has range 0.
        """
        others = self.influence[:, 1:].sum(axis=1)
        return np.divide(self.absolute, others, out=np.zeros_like(others), where=others > 0)

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean influence by hops."""
        ax = axes_or_new(ax)
        mean = self.influence.mean(axis=0)
        ax.semilogy(np.arange(1, len(mean)), mean[1:], "o-", color="#0072B2")
        ax.set_xlabel("distance in hops")
        ax.set_ylabel("influence, Σ |∂F/∂x|")
        return ax


def range_measure(model: Callable[[Data], Tensor], data: Data, *, nodes: Sequence[int] | None = None) -> RangeMeasure:
    """Measure the range of a model's predictions on one graph.

    Parameters
    ----------
    model : any model of PyTorch Geometric, or function, that maps ``data`` to one row per node; differentiable in
        ``data.x``. A module is put into evaluation mode for the time of the measurement. One that is called with
        features and edges, as those of the library's zoo, takes ``lambda data: model(data.x, data.edge_index)``.
    data : one graph with float ``x`` of shape (nodes, features) and ``edge_index``; it is not changed. Distances
        follow the edges from v to u, as messages do, which matters where they go one way only.
    nodes : at which to measure; all if not given. A few do on a torus, where all are alike on the average.

    Raises
    ------
    InvalidInput
        If this is not one graph with float features, a node is not in it, predictions are not one row per node or do
        not depend on ``x`` through torch, or they depend on nodes that no path of edges leads to the node from.
    """
    x, edges = data.x, data.edge_index
    if x is None or edges is None or not x.is_floating_point() or (isinstance(data, Batch) and data.num_graphs > 1):
        raise InvalidInput(
            "expected one graph with features x of a float type and edge_index; measure graphs one by one"
        )
    n = len(x)
    chosen = np.arange(n) if nodes is None else np.asarray(nodes)
    if (
        chosen.ndim != 1
        or not len(chosen)
        or not np.issubdtype(chosen.dtype, np.integer)  # a mask would be taken for the numbers 0 and 1
        or chosen.min() < 0
        or chosen.max() >= n
    ):
        raise InvalidInput(f"expected numbers of nodes from 0 to {n - 1}, got {nodes}")
    slopes = _influences(model, data, chosen)
    distances = hops(edges.flip(0).cpu().numpy(), n, chosen)  # against the edges, from the node that hears
    apart = distances == n
    if slopes[apart].any():
        raise InvalidInput(
            "predictions depend on nodes that no path of edges leads from, to which there is no distance in hops; "
            "measure on a graph in one piece"
        )
    influence = np.zeros((len(chosen), distances[~apart].max() + 1))
    np.add.at(influence, (np.arange(len(chosen))[:, None], np.where(apart, 0, distances)), slopes)
    return RangeMeasure(chosen, influence)


def _influences(
    model: Callable[[Data], Tensor], data: Data, chosen: Int64[np.ndarray, " chosen"]
) -> Float64[np.ndarray, "chosen nodes"]:
    """Σ |∂F_u/∂x_v| over features and outputs, for the chosen nodes u and all v."""
    graph = data.clone()
    graph.x = data.x.detach().clone().requires_grad_()  # type: ignore[union-attr] - checked by the caller
    with torch.enable_grad(), evaluation_mode(model):
        predicted = model(graph)
    if not isinstance(predicted, Tensor):
        raise InvalidInput(f"expected a tensor of predictions, got {type(predicted).__name__}")
    if predicted.shape[:1] != graph.x.shape[:1] or not predicted.requires_grad:
        raise InvalidInput(
            f"expected predictions of {len(graph.x)} rows, differentiable in data.x, got shape {tuple(predicted.shape)}"
        )
    predicted = predicted.reshape(len(graph.x), -1)
    total = np.zeros((len(chosen), len(graph.x)))
    for output in range(predicted.shape[1]):
        for first in range(0, len(chosen), ROWS):
            rows = torch.as_tensor(chosen[first : first + ROWS], device=predicted.device)
            directions = torch.zeros(len(rows), len(predicted), dtype=predicted.dtype, device=predicted.device)
            directions[torch.arange(len(rows)), rows] = 1
            (slopes,) = torch.autograd.grad(
                predicted[:, output], graph.x, directions, retain_graph=True, is_grads_batched=True, allow_unused=True
            )
            if slopes is not None:
                total[first : first + len(rows)] += slopes.detach().abs().flatten(2).sum(dim=2).double().cpu().numpy()
    return total
