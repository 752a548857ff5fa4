"""The recipe of every model of the benchmark: mean squared error per node, Adam, one cycle of the learning rate.

The baselines and the model that ships are trained by the same lines, on the training graphs alone; the best epoch is
chosen on the validation graphs, and the score is taken once, on the test graphs.
"""

import csv
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch import nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.baselines import ARCHITECTURES, GraphBaseline
from firstlight.graphs.ising.dataset import LRIM
from firstlight.graphs.ising.evaluator import Graphs, label_errors, logmse
from firstlight.graphs.ising.radial_field import RadialFieldModel
from firstlight.graphs.ising.results import BenchmarkResult
from firstlight.training import TrainingRun, fit


@dataclass(frozen=True)
class Recipe:
    """How a kind of model is trained.

    Attributes
    ----------
    epochs : passes over the training graphs.
    lr : largest learning rate of the cycle.
    batch_size : graphs per step.
    """

    epochs: int
    lr: float
    batch_size: int


# The baselines' settings are customary ones and not tuned. The radial model's learning rate is the best of 5e-3, 1e-2
# and 2e-2 on two seeds each: from 1e-2 on some starts end with two exponents that stand in for one.
RECIPES: Mapping[str, Recipe] = {
    "radial": Recipe(epochs=20, lr=5e-3, batch_size=16),
    **{name: Recipe(epochs=40, lr=2e-3, batch_size=16) for name in ARCHITECTURES},
}


def train(
    model: nn.Module,
    graphs: Graphs,
    valid: Graphs,
    *,
    folder: str | Path,
    recipe: Recipe,
    seed: int = 0,
    resume: bool = False,
    **trainer: Any,
) -> TrainingRun:
    """Train a model that predicts one number per node, and leave it with the weights of its best epoch.

    Parameters
    ----------
    model : called with a graph or a batch of graphs, returns as many rows as ``data.y``.
    graphs, valid : graphs to learn from, and graphs that choose the epoch; never the test graphs.
    folder : where checkpoints and ``metrics.csv`` are kept; its columns are those of `cpu_hours` and of the scores.
    recipe : how long and how fast.
    seed : of the order of the graphs; the model's first weights were drawn by its maker.
    resume : continue the run in `folder`.
    **trainer : passed to `firstlight.training.fit`.

    Raises
    ------
    InvalidInput
        As `firstlight.training.fit` does, or if there are no graphs.
    Interrupted
        On Ctrl-C; the same call with ``resume=True`` goes on.
    """
    if not len(graphs) or not len(valid):
        raise InvalidInput(f"expected graphs to train on and to validate on, got {len(graphs)} and {len(valid)}")
    return fit(
        _NodeRegression(model, recipe, len(graphs)),
        DataLoader(graphs, recipe.batch_size, shuffle=True),
        DataLoader(valid, recipe.batch_size),
        folder=folder,
        max_epochs=recipe.epochs,
        score="valid_logmse",
        seed=seed,
        resume=resume,
        gradient_clip_val=1.0,
        **trainer,
    )


def train_on(
    dataset: str,
    architecture: str = "radial",
    *,
    root: str | Path,
    folder: str | Path,
    width: int = 48,
    depth: int = 14,
    epochs: int | None = None,
    seed: int = 0,
    resume: bool = False,
    **trainer: Any,
) -> BenchmarkResult:
    """Train a model on a data set of the benchmark and score it on the test graphs.

    Parameters
    ----------
    dataset : name of the data set, drawn if it is not in `root`.
    architecture : ``"radial"`` for the model of linear cost, or a baseline as `baselines.ARCHITECTURES` names them.
    root : folder of the data sets.
    folder : for checkpoints, and at the end ``result.json`` and the weights in ``model``, to be loaded by the model's
        ``from_pretrained``.
    width, depth : of a baseline.
    epochs : passes over the training graphs; those of `RECIPES` if not given.
    seed : of first weights and of the order of the graphs.
    resume : continue the run in `folder`.
    **trainer : passed to `firstlight.training.fit`.

    Raises
    ------
    InvalidInput
        If there is no such data set or architecture, or `folder` holds a run and `resume` is not set.
    Interrupted
        On Ctrl-C; the same call with ``resume=True`` goes on.
    """
    if architecture not in RECIPES:
        raise InvalidInput(f"expected a model of {', '.join(RECIPES)}; got {architecture!r}")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = RadialFieldModel() if architecture == "radial" else GraphBaseline(architecture, width, depth)
    recipe = RECIPES[architecture] if epochs is None else replace(RECIPES[architecture], epochs=epochs)
    graphs, valid, test = (LRIM(root, dataset, split) for split in ("train", "val", "test"))
    run = train(model, graphs, valid, folder=folder, recipe=recipe, seed=seed, resume=resume, **trainer)
    result = BenchmarkResult(
        model=architecture if architecture == "radial" else f"{architecture}, {depth} × {width}",
        dataset=graphs.name,
        logmse=logmse(model, test),
        radius=model.receptive_radius,
        cost=model.cost,
        parameters=sum(weights.numel() for weights in model.parameters()),
        cpu_hours=cpu_hours(run),
        seed=seed,
    )
    model.save_pretrained(Path(folder) / "model")
    result.save(Path(folder) / "result.json")
    return result


def cpu_hours(run: TrainingRun) -> float:
    """Hours of processor time that all epochs of a run took, validation included, over all its sessions."""
    with run.table.open(newline="") as file:
        return sum(float(row["cpu_seconds"]) for row in csv.DictReader(file)) / 3600


class _NodeRegression(LightningModule):
    """Mean squared error per node as a loss, LogMSE as a score, processor time as a cost."""

    def __init__(self, model: nn.Module, recipe: Recipe, n_graphs: int) -> None:
        super().__init__()
        self.model, self.recipe, self.n_graphs = model, recipe, n_graphs

    def training_step(self, batch: Data) -> torch.Tensor:
        loss = label_errors(self.model, batch).square().mean()
        self.log("train_mse", loss, on_step=False, on_epoch=True, batch_size=len(batch["y"]))
        return loss

    def validation_step(self, batch: Data) -> None:
        error = label_errors(self.model, batch).square().mean()
        self.log("valid_mse", error, batch_size=len(batch["y"]), sync_dist=True)

    def on_train_epoch_start(self) -> None:
        self._began = time.process_time()

    def on_validation_epoch_end(self) -> None:
        self.log("valid_logmse", self.trainer.callback_metrics["valid_mse"].log10())

    def on_train_epoch_end(self) -> None:
        self.log("cpu_seconds", time.process_time() - self._began)  # of training and validation

    def configure_optimizers(self) -> Any:
        # Lightning's own count of steps would begin the first epoch's data before it is seeded.
        per_epoch = math.ceil(self.n_graphs / (self.recipe.batch_size * self.trainer.world_size))
        optimizer = torch.optim.Adam(self.model.parameters(), self.recipe.lr)
        cycle = torch.optim.lr_scheduler.LambdaLR(optimizer, partial(_rise_and_fall, per_epoch * self.recipe.epochs))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": cycle, "interval": "step"}}


def _rise_and_fall(steps: int, step: int) -> float:
    """Share of the largest learning rate: up along a line over the first tenth, down along a cosine to the end."""
    return min((step + 1) / max(1, steps // 10), (1 + math.cos(math.pi * step / steps)) / 2)
