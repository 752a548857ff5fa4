"""The recipe of all models of dynamics, ours and those we are measured against.

Adam as in the paper, b = (0.9, 0.99), the learning rate rising along a line over the first twentieth of the steps and
falling along a cosine to zero. Batches are drawn, not listed, so an epoch is only a number of steps: between epochs
stand validation and checkpoints.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from firstlight.errors import InvalidInput
from firstlight.pde.flow.rollout import relative_error
from firstlight.pde.flow.trajectories import Trajectories
from firstlight.training import LightningModule, TrainingRun
from firstlight.training import fit as run_training

VALIDATION_TRAJECTORIES = 16


@runtime_checkable
class Sampler(Protocol):
    """What batches are drawn from."""

    def draw(self, n: int) -> Any: ...  # noqa: D102


def fit(
    model: Any,
    train: Trajectories,
    valid: Trajectories | None = None,
    *,
    folder: str | Path,
    steps: int = 5000,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    steps_per_epoch: int = 500,
    seed: int = 0,
    resume: bool = False,
    data: dict[str, Any] | None = None,
    **trainer: Any,
) -> TrainingRun:
    """Train a model of dynamics and leave it with the weights of its best epoch.

    Parameters
    ----------
    model : a `FlowOperator`, `Autoregressive` or `NeuralODE`. Its first weights were drawn by its maker: call
        ``torch.manual_seed`` before building it.
    train : what to learn from.
    valid : what tells the best epoch, by the relative L² error of rollouts from the first frames over all of their
        times; trajectories with the same times, of which the first 16 are used. Unless given, the loss in training
        does.
    folder : for checkpoints and the table of scores; made if absent.
    steps, batch_size, learning_rate : of the training.
    steps_per_epoch : between validations.
    seed : of everything random in training.
    resume : go on with the run in `folder`.
    data : passed to the model's ``training_data``: for a `FlowOperator` ``spline`` and ``measure``.
    **trainer : passed to `firstlight.training.fit`: ``accelerator``, ``precision``, ``enable_progress_bar``…

    Raises
    ------
    InvalidInput
        If the data do not fit the model, or as in `firstlight.training.fit`.
    """
    model.check_state(train.u[0])
    sampler = model.training_data(train, **(data or {}))
    epochs = math.ceil(steps / steps_per_epoch)
    loop = _Regression(model, learning_rate, epochs * steps_per_epoch)
    batches = DataLoader(_Draws(sampler, batch_size, steps_per_epoch), batch_size=None)
    watched = None if valid is None else DataLoader(_Rollouts(valid), batch_size=None)
    trainer = {"gradient_clip_val": 1.0, **trainer}
    score = "train_loss" if valid is None else "valid_error"
    return run_training(
        loop, batches, watched, folder=folder, max_epochs=epochs, score=score, seed=seed, resume=resume, **trainer
    )


class _Draws(Dataset):
    """A number of batches, drawn when they are asked for, by an index that means nothing.

    Of a data set that can only be iterated Lightning would draw a batch ahead, before the epoch is seeded.
    """

    def __init__(self, sampler: Sampler, batch_size: int, batches: int) -> None:
        self.sampler, self.batch_size, self.batches = sampler, batch_size, batches

    def __getitem__(self, index: int) -> Any:
        return self.sampler.draw(self.batch_size)

    def __len__(self) -> int:
        return self.batches


class _Rollouts(Dataset):
    """Trajectories for validation, as one batch: times, and frames (times, batch, …)."""

    def __init__(self, valid: Trajectories) -> None:
        some = valid[:VALIDATION_TRAJECTORIES]
        if any(not torch.equal(t, some.t[0]) for t in some.t):
            raise InvalidInput("trajectories for validation must have the same times; take them before subsampling")
        self.batch = some.t[0], torch.stack(some.u, dim=1)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.batch

    def __len__(self) -> int:
        return 1


class _Regression(LightningModule):
    """The model's own loss; relative error of rollouts as a score."""

    def __init__(self, model: Any, learning_rate: float, steps: int) -> None:
        super().__init__()
        self.model, self.learning_rate, self.steps = model, learning_rate, steps

    def training_step(self, batch: Any) -> Tensor:
        loss = self.model.loss(batch)
        self.log("train_loss", loss, on_step=False, on_epoch=True, batch_size=1, sync_dist=True)
        return loss

    def validation_step(self, batch: Sequence[Tensor]) -> None:
        t, u = batch
        # A young model may leave all bounds; that is a bad score, but no end of the training, as infinity would be.
        error = relative_error(self.model.predict(u[0], t).u, u).clamp(max=1e3)
        self.log("valid_error", error.mean(), batch_size=1, sync_dist=True)

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.model.parameters(), self.learning_rate, betas=(0.9, 0.99))
        rise = max(1, self.steps // 20)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min((step + 1) / rise, (1 + math.cos(math.pi * step / self.steps)) / 2)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
