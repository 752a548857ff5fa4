"""The authors' files of the benchmark, ``lrim_16_0.6_10k.pt``: graphs of PyTorch Geometric, saved by ``torch.save``.

A list of graphs or a collated pair (data, slices), as ``InMemoryDataset.save`` writes it. Of a file only the spins
and one list of edges are kept. Its labels must be what the model says they are, which at once checks the numbering of
the sites; then they can be computed again from the spins.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import BaseStorage, GlobalStorage

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.couplings import PowerLawIsing

# What graphs are made of, beside tensors and plain values; nothing else is unpickled.
CLASSES = [Data, DataEdgeAttr, DataTensorAttr, BaseStorage, GlobalStorage]
SINGLE = 1e-5  # relative error of a label that was rounded to single precision after summing


def read_official(
    path: Path, model: PowerLawIsing
) -> tuple[UInt8[np.ndarray, "graphs bytes"], Int64[Tensor, "2 edges"]]:
    """Read the packed spins and the edges of a file, after checking its labels.

    Raises
    ------
    InvalidInput
        If it is no file of graphs, of another lattice, or its labels are not -s_i Σ_j J_ij s_j.
    """
    try:
        with torch.serialization.safe_globals(CLASSES):
            stored = torch.load(path, map_location="cpu", weights_only=True)
        packed, edges = [], None
        for number, (x, y, edge_index) in enumerate(_graphs(stored)):
            spins, labels = x.double().numpy().ravel(), y.double().numpy().ravel()
            edges = edge_index if edges is None else edges
            _check(number, spins, labels, edge_index, edges, model)
            packed.append(np.packbits(spins > 0))
        if edges is None:
            raise InvalidInput("it holds no graphs")
    except Exception as error:  # torch has errors of several kinds for damaged files, and the contents may be anything
        raise InvalidInput(f"{path} is no readable file of the benchmark: {error}") from error
    return np.stack(packed), edges.contiguous().clone()


def _graphs(stored: Any) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Spins, labels and edges of every graph, from a list of graphs or from one that holds all, with its slices."""
    if isinstance(stored, list):
        for graph in stored:
            yield graph["x"], graph["y"], graph["edge_index"]
        return
    if not isinstance(stored, tuple) or not isinstance(stored[1], Mapping):
        raise InvalidInput(f"expected a list of graphs or a pair (data, slices), found {type(stored).__name__}")
    data, slices = stored[:2]
    for first in range(len(slices["x"]) - 1):
        parts = {key: slice(int(slices[key][first]), int(slices[key][first + 1])) for key in ("x", "y", "edge_index")}
        yield data["x"][parts["x"]], data["y"][parts["y"]], data["edge_index"][:, parts["edge_index"]]


def _check(
    number: int, spins: np.ndarray, labels: np.ndarray, edge_index: Tensor, edges: Tensor, model: PowerLawIsing
) -> None:
    if not torch.equal(edge_index, edges):
        raise InvalidInput(f"graph {number} has other edges than graph 0")
    if number == 0:
        found = np.unique(edges.numpy(), axis=1)
        if found.shape != model.edge_index.shape or not np.array_equal(found, model.edge_index):
            raise InvalidInput(f"its edges are not those of the {model.shape} torus, numbered row by row")
    expected = model.target(spins)
    if labels.shape != expected.shape or np.abs(labels - expected).max() > SINGLE * np.abs(expected).max():
        raise InvalidInput(f"the labels of graph {number} are not y_i = -s_i Σ_j J_ij s_j with J = {model!r}")
