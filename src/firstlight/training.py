"""The one training loop of the package, on Lightning.

A recipe builds its network and its data and calls `fit`; the rest is the same everywhere: a progress bar, a line of
``metrics.csv`` per epoch, the checkpoints ``last.ckpt`` and ``best.ckpt``, early stopping, Ctrl-C and resuming, on any
devices Lightning knows.

The epoch is the unit of everything. Random numbers start afresh from (seed, epoch, rank) and checkpoints are written
between epochs, so a run that was stopped anywhere and resumed equals the run that was never stopped, bit for bit on a
CPU; what is lost is the epoch under way. Where one pass over the data takes hours, ``limit_train_batches`` makes
epochs of minutes.
"""

import csv
import logging
import math
import random
import shutil
import signal
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from firstlight.errors import FirstlightError, Interrupted, InvalidInput, MissingExtra
from firstlight.files import written_whole

try:
    from lightning.fabric.utilities.exceptions import MisconfigurationException
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.callbacks import Checkpoint
    from lightning.pytorch.utilities.seed import isolate_rng
except ModuleNotFoundError as error:
    raise MissingExtra("lightning", "train") from error

for library in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(library).setLevel(logging.WARNING)  # not its tips and its lists of absent devices

Row = dict[str, float | int]


@dataclass(frozen=True)
class TrainingRun:
    """What a finished training left behind.

    Attributes
    ----------
    best, last : the checkpoints of the best and of the last epoch.
    table : ``metrics.csv``, one line per epoch.
    score : the best value of the watched metric.
    epoch, epochs : the epoch that reached it, counted from 1, and how many were trained.
    """

    best: Path
    last: Path
    table: Path
    score: float
    epoch: int
    epochs: int


def fit(
    module: LightningModule,
    train: Any,
    valid: Any = None,
    *,
    folder: str | Path,
    max_epochs: int,
    patience: int | None = None,
    score: str | None = None,
    better: Literal["lower", "higher"] = "lower",
    seed: int = 0,
    resume: bool = False,
    **trainer: Any,
) -> TrainingRun:
    """Train a module and leave it with the weights of its best epoch.

    Only strategies that shard a model over several files leave it with its last ones.

    Parameters
    ----------
    module : what to train. It logs its scores with ``self.log(name, value, on_epoch=True, sync_dist=True)``.
    train, valid : data loaders; or a ``LightningDataModule`` in place of `train`, with `score` given.
    folder : where checkpoints and the table go; made if absent.
    max_epochs, patience : stop after so many epochs; after so many without a better score, never unless given. It also
        stops when the score is not finite.
    score, better : the logged metric that tells which epoch is best, and which way is better. Unless given,
        ``"valid_loss"`` with and ``"train_loss"`` without validation data.
    seed : seed of shuffling, dropout and everything random in training. The weights that `module` starts from were
        drawn by its maker: call ``torch.manual_seed`` before building it.
    resume : continue the run in `folder` after its last finished epoch, or begin if there is none.
    **trainer : passed to ``lightning.Trainer``: ``accelerator``, ``devices``, ``strategy``, ``precision``,
        ``max_time``, ``gradient_clip_val``, ``limit_train_batches``, a list of ``callbacks``…

    Raises
    ------
    InvalidInput
        If the folder holds a run and `resume` is not set, that run has another seed or its checkpoint does not fit the
        module, the module does not log `score`, or Lightning refuses an option.
    Interrupted
        On Ctrl-C; calling again with ``resume=True`` continues.
    FirstlightError
        If the score was not finite after any epoch.
    """
    folder = Path(folder)
    ledger = _Ledger(folder, score or ("train_loss" if valid is None else "valid_loss"), better, patience, seed)
    begun = ledger.last.exists()
    if begun and not resume:
        raise InvalidInput(f"{folder} holds a run already; pass resume=True to continue it, or choose another folder")
    if ledger.last.is_file():
        load_weights(module, ledger.last)  # Lightning will too; this tells a wrong file from an error in training
    folder.mkdir(parents=True, exist_ok=True)
    options = {"logger": False, "enable_model_summary": False, **trainer}
    options["callbacks"] = [ledger, *options.get("callbacks", [])]
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        loop = Trainer(max_epochs=max_epochs, **options)
        with isolate_rng(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning")  # about itself
            loop.fit(module, train, valid, ckpt_path=ledger.last if begun else None, weights_only=True)
    except (KeyboardInterrupt, SystemExit) as stop:
        signal.signal(
            signal.SIGINT, on_interrupt
        )  # Lightning makes SystemExit of Ctrl-C and is deaf to it from then on
        raise Interrupted(f"training was stopped; {folder} keeps its epochs; resume=True continues") from stop
    except MisconfigurationException as error:
        raise InvalidInput(f"Lightning refuses: {error}") from error
    rows = ledger.read()
    best = ledger.best_of(rows)
    if not math.isfinite(rows[best][ledger.score]):
        raise FirstlightError(f"{ledger.score} was never finite: training diverged; try a lower learning rate")
    if ledger.best.is_file():
        load_weights(module, ledger.best)
    return TrainingRun(ledger.best, ledger.last, ledger.table, rows[best][ledger.score], best + 1, len(rows))


def load_weights(module: torch.nn.Module, checkpoint: str | Path) -> None:
    """Put the weights of a checkpoint that `fit` wrote into a module; only tensors and plain values are unpickled.

    Raises
    ------
    InvalidInput
        If the file is damaged, holds other objects, or does not fit the module.
    """
    try:
        module.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True)["state_dict"])
    except Exception as error:  # torch has half a dozen kinds of errors for files that are no checkpoints
        reason = " ".join(str(error).split())[:300]
        raise InvalidInput(f"cannot load {checkpoint} into {type(module).__name__}: {reason}") from error


class _Ledger(Checkpoint):
    """Seeds every epoch, writes down its scores, saves it, and ends the run when patience does.

    The rows travel inside the checkpoints, which are the truth; the table is written after them.
    """

    def __init__(self, folder: Path, score: str, better: str, patience: int | None, seed: int) -> None:
        self.last, self.best, self.table = (folder / name for name in ("last.ckpt", "best.ckpt", "metrics.csv"))
        self.score, self.better, self.patience, self.seed = score, better, patience, seed
        self.rows: list[Row] = []
        self._seeded = -1  # the epoch that was seeded last

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows, "seed": self.seed}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if state_dict["seed"] != self.seed:
            raise InvalidInput(f"the run was begun with seed {state_dict['seed']}, which cannot become {self.seed}")
        self.rows = state_dict["rows"]

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._seed(trainer)  # before Lightning makes the data iterator of the first epoch, which draws too
        if self.rows:
            self._write(trainer)  # the last session may have died between checkpoint and table

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.rows:
            # Lightning steps ReduceLROnPlateau after an epoch's checkpoint is written, so a resumed run lacks a step.
            for config in trainer.lr_scheduler_configs:
                if config.reduce_on_plateau and config.interval == "epoch" and len(self.rows) % config.frequency == 0:
                    config.scheduler.step(self.rows[-1][str(config.monitor)])  # type: ignore[arg-type] - a plateau's
            trainer.should_stop = self._over()

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._seeded != len(self.rows):
            self._seed(trainer)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        scores = {name: float(value) for name, value in trainer.callback_metrics.items()}
        # Every process keeps the first one's row, since scores may differ that were not reduced.
        self.rows.append(trainer.strategy.broadcast({"epoch": len(self.rows) + 1, **scores}))
        if self.best_of(self.rows) == len(self.rows) - 1:
            _save(trainer, self.best)
        _save(trainer, self.last)
        self._write(trainer)
        trainer.strategy.barrier()  # nobody goes on, or ends, before the files are in place
        trainer.should_stop = trainer.should_stop or self._over()

    def best_of(self, rows: list[Row]) -> int:
        """Index of the first epoch with the best score; one that is not finite is worse than any other."""
        if missing := [row for row in rows if self.score not in row]:
            logged = ", ".join(sorted(missing[0].keys() - {"epoch"})) or "nothing"
            raise InvalidInput(f"an epoch logged no {self.score!r}, only {logged}; log it or name another score")
        sign = 1 if self.better == "lower" else -1
        losses = [sign * row[self.score] if math.isfinite(row[self.score]) else math.inf for row in rows]
        return losses.index(min(losses))

    def read(self) -> list[Row]:
        """Read the table back; the processes that a strategy starts keep their rows to themselves."""
        with self.table.open(newline="") as file:
            return [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]

    def _write(self, trainer: Trainer) -> None:
        if trainer.is_global_zero:
            names = dict.fromkeys(name for row in self.rows for name in row)
            with written_whole(self.table) as partial, partial.open("w", newline="") as file:
                table = csv.DictWriter(file, list(names))
                table.writeheader()
                table.writerows(self.rows)

    def _over(self) -> bool:
        stale = len(self.rows) - 1 - self.best_of(self.rows)
        return not math.isfinite(self.rows[-1][self.score]) or (self.patience is not None and stale >= self.patience)

    def _seed(self, trainer: Trainer) -> None:
        number = int(np.random.SeedSequence([self.seed, len(self.rows), trainer.global_rank]).generate_state(1)[0])
        random.seed(number)
        np.random.seed(number)  # noqa: NPY002 - data sets may use NumPy's global generator
        torch.manual_seed(number)
        self._seeded = len(self.rows)


def _save(trainer: Trainer, path: Path) -> None:
    partial = path.with_stem(f".{path.stem}")
    trainer.save_checkpoint(partial)
    if trainer.is_global_zero:
        if path.is_dir():  # sharded strategies write folders, which cannot replace one another
            shutil.rmtree(path)
        partial.replace(path)
