"""The ledger of a training run: every epoch's scores, which one is best, when to stop, and what is saved.

It is a Lightning callback. Its rows travel inside the checkpoints, which are the truth; ``metrics.csv`` is written
after them. `fit` in ``firstlight.training`` is the public face.
"""

import csv
import logging
import math
import random
import shutil
import time
import warnings
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from firstlight.errors import InvalidInput, MissingExtra
from firstlight.files import written_whole

try:
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.callbacks import Checkpoint
except ModuleNotFoundError as error:
    raise MissingExtra("lightning", "train") from error

Row = dict[str, float | int]


@dataclass(frozen=True)
class Watch:
    """Which epoch is best and when to stop, as functions of the epochs so far and of nothing else.

    Attributes
    ----------
    score, better : the metric that is watched, and which way it is better.
    max_epochs, max_time, patience : the limits, see `firstlight.training.fit`.
    """

    score: str
    better: Literal["lower", "higher"]
    max_epochs: int
    max_time: timedelta | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        if self.max_epochs < 1 or (self.patience is not None and self.patience < 1):
            raise InvalidInput(f"max_epochs and patience must be at least 1, got {self.max_epochs} and {self.patience}")

    def best(self, rows: list[Row]) -> int | None:
        """Index of the first epoch with the best finite score.

        Raises
        ------
        InvalidInput
            If an epoch did not log the score.
        """
        for row in rows:
            if self.score not in row:
                logged = ", ".join(sorted(row.keys() - {"epoch", "seconds"})) or "nothing"
                raise InvalidInput(f"an epoch logged no {self.score!r}, only {logged}; log it or name another score")
        sign = 1 if self.better == "lower" else -1
        finite = [epoch for epoch, row in enumerate(rows) if math.isfinite(row[self.score])]
        return min(finite, key=lambda epoch: sign * rows[epoch][self.score], default=None)

    def verdict(self, rows: list[Row]) -> Literal["max_epochs", "max_time", "patience", "diverged"] | None:
        """Why training ends after these epochs, or None if it goes on."""
        if not rows:
            return None
        best = self.best(rows)
        if best is None or not math.isfinite(rows[-1][self.score]):
            return "diverged"
        if len(rows) >= self.max_epochs:
            return "max_epochs"
        if self.patience is not None and len(rows) - 1 - best >= self.patience:
            return "patience"
        if self.max_time is not None and rows[-1]["seconds"] >= self.max_time.total_seconds():
            return "max_time"
        return None


class Ledger(Checkpoint):
    """Seeds every epoch, writes down its scores, saves it, and ends the run when the watch says so."""

    def __init__(self, folder: Path, watch: Watch, seed: int) -> None:
        if not 0 <= seed < 2**32:
            raise InvalidInput(f"seed must be from 0 to 2**32 - 1, got {seed}")
        self.last, self.best, self.table = (folder / name for name in ("last.ckpt", "best.ckpt", "metrics.csv"))
        self.watch, self.seed = watch, seed
        self.rows: list[Row] = []
        self._seeded_epoch = -1
        self._began = self._earlier_seconds = 0.0

    def state_dict(self) -> dict[str, Any]:
        """Give what a checkpoint keeps of this ledger."""
        return {"rows": self.rows, "seed": self.seed}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue the ledger of a checkpoint."""
        if state_dict["seed"] != self.seed:
            raise InvalidInput(
                f"the run was begun with seed {state_dict['seed']}; resume it with that, not {self.seed}"
            )
        self.rows = state_dict["rows"]
        self._earlier_seconds = self.rows[-1]["seconds"]

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Seed the first epoch before Lightning makes its data iterator, which draws too."""
        self._seed_epoch(trainer)
        if self.rows and trainer.is_global_zero:  # the last session may have died between checkpoint and table
            write_rows(self.table, self.rows)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock; a run that is over already is not continued."""
        self._began = time.monotonic()
        if self.rows:
            self._step_plateaus(trainer)
            trainer.should_stop = self.watch.verdict(self.rows) is not None

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Seed the epoch, so that it does not depend on the session it is trained in."""
        if self._seeded_epoch != len(self.rows):
            self._seed_epoch(trainer)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the epoch down, save it, and stop if it was the last."""
        # Every process keeps the first one's row: clocks differ, and so may scores that were not reduced.
        self.rows.append(trainer.strategy.broadcast(self._row(trainer)))
        if self.watch.best(self.rows) == len(self.rows) - 1:
            _save(trainer, self.best)
        _save(trainer, self.last)
        if trainer.is_global_zero:
            write_rows(self.table, self.rows)
        trainer.strategy.barrier()  # nobody goes on, or ends, before the files are in place
        if self.watch.verdict(self.rows):
            trainer.should_stop = True

    def _row(self, trainer: Trainer) -> Row:
        scores = {name: float(value) for name, value in trainer.callback_metrics.items()}
        seconds = self._earlier_seconds + time.monotonic() - self._began
        return {"epoch": len(self.rows) + 1, "seconds": seconds, **scores}

    def _seed_epoch(self, trainer: Trainer) -> None:
        number = int(np.random.SeedSequence([self.seed, len(self.rows), trainer.global_rank]).generate_state(1)[0])
        random.seed(number)
        np.random.seed(number)  # noqa: NPY002 - data sets may use NumPy's global generator
        torch.manual_seed(number)
        self._seeded_epoch = len(self.rows)

    def _step_plateaus(self, trainer: Trainer) -> None:
        # Lightning steps ReduceLROnPlateau only after an epoch's checkpoint is written, so a resumed run lacks a step.
        for config in trainer.lr_scheduler_configs:
            if config.reduce_on_plateau and config.interval == "epoch" and len(self.rows) % config.frequency == 0:
                config.scheduler.step(self.rows[-1][str(config.monitor)])  # type: ignore[arg-type] - a plateau takes the metric

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled means: in a process that Lightning spawned, where nobody has asked it to be quiet yet.
        self.__dict__.update(state)
        hush()


def _save(trainer: Trainer, path: Path) -> None:
    partial = path.with_stem(f".{path.stem}")
    trainer.save_checkpoint(partial)
    if trainer.is_global_zero:
        if path.is_dir():  # sharded strategies write folders, which cannot replace one another
            shutil.rmtree(path)
        partial.replace(path)


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write the table of a run, whole or not at all."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with written_whole(path) as partial, partial.open("w", newline="") as file:
        table = csv.DictWriter(file, names)
        table.writeheader()
        table.writerows(rows)


def read_rows(path: Path) -> list[Row]:
    """Read the table of a run; an absent one has no rows."""
    if not path.exists():
        return []
    try:
        with path.open(newline="") as file:
            return [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{path} is not the table of a training run: {error}") from error


LOGGERS = tuple(map(logging.getLogger, ("lightning.pytorch", "lightning.fabric")))


def hush() -> None:
    """Silence Lightning's tips and its warnings about itself, in this process."""
    for logger in LOGGERS:
        logger.setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
