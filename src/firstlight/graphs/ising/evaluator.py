"""The benchmark's score, called as the evaluators of the Open Graph Benchmark are."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch_geometric.data import Data, Dataset
from torch_geometric.loader import DataLoader

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.data import LRIMName

Graphs = Sequence[Data] | Dataset


class LRIMEvaluator:
    """Score of predictions: ``logmse``, log10 of the mean squared error over all nodes of all graphs.

    Parameters
    ----------
    name : the data set, such as ``"lrim_16_0.6_10k"``.

    Raises
    ------
    InvalidInput
        If no data set has that name.

    Examples
    --------
    >>> score = LRIMEvaluator("lrim_16_0.6_10k").eval({"y_true": [[1.0]] * 256, "y_pred": [[1.1]] * 256})
    >>> round(score["logmse"], 9)
    -2.0
    """

    def __init__(self, name: str) -> None:
        kind = LRIMName.parse(name)
        self.name, self.nodes = str(kind), kind.size**2

    def eval(self, input_dict: Mapping[str, Any]) -> dict[str, float]:
        """Compute ``{"logmse": …}``.

        Parameters
        ----------
        input_dict : ``"y_true"`` and ``"y_pred"``, tensors or arrays of one shape, (nodes, 1) or (nodes,), the nodes of
            whole graphs one after the other. The mean is taken in double precision.

        Raises
        ------
        InvalidInput
            If one is missing, shapes differ or hold no whole graphs, or a number is not finite.
        """
        if missing := {"y_true", "y_pred"} - set(input_dict):
            raise InvalidInput(f"expected y_true and y_pred, {' and '.join(sorted(missing))} is missing")
        y_true, y_pred = (_as_array(input_dict[key]) for key in ("y_true", "y_pred"))
        # (n, 1) against (n,) would silently broadcast to n × n differences.
        if y_true.shape != y_pred.shape or y_true.size != len(y_true):
            raise InvalidInput(
                f"y_true and y_pred must share one shape, (nodes, 1) or (nodes,), got {y_true.shape} and {y_pred.shape}"
            )
        if not len(y_true) or len(y_true) % self.nodes:
            raise InvalidInput(
                f"expected the nodes of whole graphs, a multiple of {self.nodes} for {self.name}; got {len(y_true)}"
            )
        if not np.isfinite(y_true).all() or not np.isfinite(y_pred).all():
            raise InvalidInput("y_true and y_pred must be finite; a model that diverged has no score")
        mse = float(np.mean((y_true - y_pred) ** 2))
        return {"logmse": math.log10(mse) if mse else -math.inf}


def logmse(model: Callable[[Data], Tensor], graphs: Graphs, *, batch_size: int = 32) -> float:
    """Score of a model on some graphs, log10 of the mean squared error over all nodes.

    Parameters
    ----------
    model : called with batches of graphs; a module is put into evaluation mode for the time of it.
    graphs : with labels ``y``; at least one.
    batch_size : graphs at a time.

    Raises
    ------
    InvalidInput
        If there are no graphs, or predictions have another shape than the labels.
    """
    if not len(graphs):
        raise InvalidInput("expected at least one graph to score a model on, got none")
    squares, nodes = 0.0, 0
    with torch.no_grad(), evaluation_mode(model):
        for batch in DataLoader(graphs, batch_size):
            squares += float(label_errors(model, batch).double().square().sum())
            nodes += len(batch.y)
    return math.log10(squares / nodes) if squares else -math.inf


def label_errors(model: Callable[[Data], Tensor], batch: Data) -> Float[Tensor, "nodes 1"]:
    """Predictions minus labels, of one shape: (n,) minus (n, 1) would silently broadcast to n × n."""
    predicted, labels = model(batch), batch["y"]
    if predicted.shape != labels.shape:
        raise InvalidInput(
            f"expected predictions of the shape of the labels, {tuple(labels.shape)}, got {tuple(predicted.shape)}"
        )
    return predicted - labels


@contextmanager
def evaluation_mode(model: Callable[..., Any]) -> Iterator[None]:
    """Put a module into evaluation mode, in which batch norms mix no nodes, and each part back into its own after."""
    parts = {part: part.training for part in model.modules()} if isinstance(model, nn.Module) else {}
    try:
        for part in parts:
            part.training = False
        yield
    finally:
        for part, training in parts.items():
            part.training = training


def _as_array(values: Any) -> np.ndarray:
    values = values.detach().cpu().double() if isinstance(values, Tensor) else values  # bfloat16, too
    try:
        return np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"expected numbers, got {type(values).__name__}: {error}") from error
