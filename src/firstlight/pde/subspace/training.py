"""The training of a `SubspaceNetwork` and the recipes of the weights that ship."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.inner_products import Mass
from firstlight.pde.subspace.losses import stochastic_loss, subspace_loss
from firstlight.pde.subspace.problems import BurgersProblem, FlattopProblem, SubspaceData, generate
from firstlight.pde.subspace.regressor import SubspaceRegressor
from firstlight.pde.subspace.subspace_network import SubspaceNetwork
from firstlight.training import LightningModule, TrainingRun, fit

Loss = Literal["l1", "l2"]
JUDGED = 1_000_000  # samples from this number on are for judging, none of those before it


@dataclass(frozen=True)
class Recipe:
    """How weights that ship were made.

    Attributes
    ----------
    problem : the family of problems.
    samples : how many are drawn to train on; a tenth of them is set aside to choose the best epoch.
    parameters : of `SubspaceRegressor`.
    """

    problem: FlattopProblem | BurgersProblem
    samples: int
    parameters: Mapping[str, Any] = field(default_factory=dict)


RECIPES: Mapping[str, Recipe] = {
    "flattop-p10": Recipe(FlattopProblem(cells=32, n_vectors=10), 6000, {"out_dim": 10, "steps": 5000}),
    "flattop-p20": Recipe(FlattopProblem(cells=32, n_vectors=10), 6000, {"out_dim": 20, "steps": 5000}),
    "flattop-p40": Recipe(FlattopProblem(cells=32, n_vectors=10), 6000, {"out_dim": 40, "steps": 5000}),
    "burgers-p10": Recipe(BurgersProblem("II", n_vectors=10), 4000, {"out_dim": 10}),
}


def train_recipe(
    name: str, folder: str | Path, *, resume: bool = False, workers: int | None = 1, **parameters: Any
) -> SubspaceRegressor:
    """Make weights that ship anew: draw and solve problems, train, and leave the model in ``folder/model``.

    Parameters
    ----------
    name : of the recipe, as `RECIPES` has them.
    folder : for solved problems, checkpoints, scores and the model.
    resume : go on with the run in `folder`.
    workers : processes that solve problems, None for one per core.
    **parameters : of `SubspaceRegressor`, in place of those of the recipe.

    Raises
    ------
    InvalidInput
        If there is no such recipe or a parameter is wrong.
    Interrupted
        On Ctrl-C; the same call with ``resume=True`` goes on.
    """
    if name not in RECIPES:
        raise InvalidInput(f"there is no recipe {name!r}; choose among {', '.join(RECIPES)}")
    recipe, folder = RECIPES[name], Path(folder)
    data = generate(recipe.problem, recipe.samples, folder=folder / "samples", workers=workers)
    model = SubspaceRegressor(**{**recipe.parameters, **parameters})
    model.fit(data.fields, data.bases, folder=folder / "run", resume=resume)
    model.save_pretrained(folder / "model")
    return model


def judged(problem: FlattopProblem | BurgersProblem, count: int, seed: int = 0) -> SubspaceData:
    """Draw and solve problems that no recipe trains on."""
    return generate(problem, count, first=JUDGED, seed=seed)


def train(
    network: SubspaceNetwork,
    fields: Float[np.ndarray, "samples ..."],
    bases: Float[np.ndarray, "samples n k"],
    *,
    folder: str | Path,
    mass: Mass = None,
    loss: Loss = "l1",
    n_probe: int = 4,
    steps: int = 3000,
    batch_size: int = 16,
    learning_rate: float = 2e-3,
    validation: float = 0.1,
    seed: int = 0,
    resume: bool = False,
    **trainer: Any,
) -> TrainingRun:
    """Train a network and leave it with the weights of its best epoch on samples set aside.

    Parameters
    ----------
    network : learns its scales here.
    fields, bases : samples to train on, checked by the caller; the last ones are set aside.
    folder : for checkpoints and the table of scores.
    mass : matrix of the inner product.
    loss : ``"l1"`` for `subspace_loss`, ``"l2"`` for `stochastic_loss` with `n_probe` combinations.
    steps : of the optimiser (Adam), rounded up to whole passes; the learning rate falls to zero along a cosine.
    batch_size, learning_rate : of the optimiser.
    validation : share of the samples that is set aside, at least one.
    seed : of the order of samples and of the combinations.
    resume : go on with the run in `folder`.
    **trainer : as `firstlight.training.fit` takes them.

    Raises
    ------
    InvalidInput
        As `firstlight.training.fit`.
    """
    aside = max(1, round(validation * len(fields)))
    network.learn_scales(fields[:-aside], bases[:-aside], mass)
    targets, missed = network.targets(bases, mass)
    samples = (torch.from_numpy(fields).float(), targets, missed)
    taught, watched = (
        TensorDataset(*(part[rows] for part in samples)) for rows in (slice(-aside), slice(-aside, None))
    )
    epochs = math.ceil(steps / math.ceil(len(taught) / batch_size))
    # In the fixed basis of "pod-mlp", which is orthonormal, there is no mass matrix left.
    inner = None if network.kind == "pod-mlp" else as_tensor(mass)
    module = SubspaceTraining(network, inner, n_probe if loss == "l2" else None, learning_rate, epochs)
    loaders = DataLoader(taught, batch_size, shuffle=True), DataLoader(watched, 4 * batch_size)
    options = {"gradient_clip_val": 1.0, "accelerator": "cpu", **trainer}
    run = fit(module, *loaders, folder=folder, max_epochs=epochs, seed=seed, resume=resume, **options)
    network.eval()
    return run


class SubspaceTraining(LightningModule):
    """Loss and optimiser; the score is the mean of the squared sines of the principal angles."""

    mass: Tensor | None

    def __init__(
        self, network: SubspaceNetwork, mass: Tensor | None, n_probe: int | None, learning_rate: float, epochs: int
    ) -> None:
        super().__init__()
        self.network, self.n_probe, self.learning_rate, self.epochs = network, n_probe, learning_rate, epochs
        self.register_buffer("mass", mass, persistent=False)

    def training_step(self, batch: list[Tensor], _: int) -> Tensor:
        """Return the mean loss of the samples."""
        fields, targets, missed = batch
        predicted = self.network(fields)
        if self.n_probe is None:
            losses = subspace_loss(predicted, targets, self.mass)
        else:
            losses = stochastic_loss(predicted, targets, self.mass, n_probe=self.n_probe)
        loss = (losses + missed).mean() / self.network.dim
        self.log("train_loss", loss, on_epoch=True, on_step=False, batch_size=len(fields))
        return loss

    def validation_step(self, batch: list[Tensor], _: int) -> None:
        """Log the score."""
        fields, targets, missed = batch
        losses = subspace_loss(self.network(fields), targets, self.mass) + missed
        self.log("valid_loss", losses.mean() / self.network.dim, on_epoch=True, sync_dist=True, batch_size=len(fields))

    def configure_optimizers(self) -> Any:
        """Return Adam with a rate that rises for a twentieth of the steps and falls along a cosine."""
        optimizer = torch.optim.Adam(self.network.parameters(), self.learning_rate)
        total = int(self.trainer.estimated_stepping_batches)
        cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.learning_rate, total_steps=total, pct_start=0.05)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": cycle, "interval": "step"}}


def as_tensor(mass: Mass) -> Tensor | None:
    """Return a mass matrix as `subspace_loss` takes it, sparse if it was."""
    if mass is None or isinstance(mass, np.ndarray):
        return None if mass is None else torch.from_numpy(mass).float()
    csr = sparse.csr_array(mass)
    parts = (torch.from_numpy(part) for part in (csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data))
    return torch.sparse_csr_tensor(*parts, size=csr.shape, dtype=torch.float32, check_invariants=False)
