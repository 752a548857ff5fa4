"""The training of a `SubspaceNetwork`."""

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from firstlight.pde.subspace.inner_products import Mass
from firstlight.pde.subspace.losses import stochastic_loss, subspace_loss
from firstlight.pde.subspace.subspace_network import SubspaceNetwork
from firstlight.training import LightningModule, TrainingRun, fit

Loss = Literal["l1", "l2"]
TINY = 1e-12  # a mean squared sine that is as good as none


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
    """Loss and optimiser, for every number of columns that the network predicts."""

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
        predicted, logs = self.network(fields), []
        for p in self.network.out_dims:
            if self.n_probe is None:
                losses = subspace_loss(predicted[..., :p], targets, self.mass)
            else:
                losses = stochastic_loss(predicted[..., :p], targets, self.mass, n_probe=self.n_probe)
            # The logarithm gives every p the same say, though errors differ tenfold between them.
            logs.append(torch.log((losses + missed).mean() / self.network.dim + TINY))
        loss = torch.stack(logs).mean()
        self.log("train_loss", loss, on_epoch=True, on_step=False, batch_size=len(fields))
        return loss

    def validation_step(self, batch: list[Tensor], _: int) -> None:
        """Log the mean of the squared sines for each p and, as the score, the mean of their logarithms."""
        fields, targets, missed = batch
        predicted = self.network(fields)
        squares = [subspace_loss(predicted[..., :p], targets, self.mass) + missed for p in self.network.out_dims]
        means = torch.stack(squares).mean(dim=1) / self.network.dim
        scores = {f"valid_{p}": mean for p, mean in zip(self.network.out_dims, means, strict=True)}
        scores["valid_loss"] = torch.log(means + TINY).mean()
        self.log_dict(scores, on_epoch=True, sync_dist=True, batch_size=len(fields))

    def configure_optimizers(self) -> Any:
        """Return Adam with a rate that rises for a twentieth of the steps and falls along a cosine."""
        optimizer = torch.optim.Adam(self.network.parameters(), self.learning_rate)
        total = int(self.trainer.estimated_stepping_batches)
        rise = min(0.9, max(0.05, 2 / total))  # two steps at least, without which the schedule divides by zero
        cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.learning_rate, total_steps=total, pct_start=rise)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": cycle, "interval": "step"}}


def as_tensor(mass: Mass) -> Tensor | None:
    """Return a mass matrix as `subspace_loss` takes it, sparse if it was."""
    if mass is None or isinstance(mass, np.ndarray):
        return None if mass is None else torch.from_numpy(mass).float()
    csr = sparse.csr_array(mass)
    parts = (torch.from_numpy(part) for part in (csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data))
    return torch.sparse_csr_tensor(*parts, size=csr.shape, dtype=torch.float32, check_invariants=False)
