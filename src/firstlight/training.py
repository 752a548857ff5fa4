"""The one training loop of the package, on Lightning.

A recipe builds its network and its data and calls `fit`; the rest is the same everywhere: a progress bar, a line of
``metrics.csv`` per epoch, the checkpoints ``last.ckpt`` and ``best.ckpt``, early stopping, Ctrl-C and resuming, on any
devices Lightning knows.

The epoch is the unit of everything. Random numbers start afresh from (seed, epoch, rank) and checkpoints are written
between epochs, so a run that was stopped anywhere and resumed equals the run that was never stopped, bit for bit on a
CPU; what is lost is the epoch under way. Where one pass over the data takes hours, ``limit_train_batches`` makes
epochs of minutes.
"""

import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import torch

from firstlight.errors import FirstlightError, Interrupted, InvalidInput, MissingExtra

try:
    from lightning.fabric.utilities.exceptions import MisconfigurationException
    from lightning.pytorch import LightningModule, Trainer, seed_everything
    from lightning.pytorch.callbacks import RichProgressBar
    from lightning.pytorch.utilities.seed import isolate_rng
except ModuleNotFoundError as error:
    raise MissingExtra("lightning", "train") from error

from firstlight.training_ledger import LOGGERS, Ledger, Watch, hush, read_rows


@dataclass(frozen=True)
class TrainingRun:
    """What a finished training left behind.

    Attributes
    ----------
    best, last : the checkpoints of the best and of the last epoch.
    table : ``metrics.csv``, one line per epoch.
    score : the best value of the watched metric.
    epoch, epochs : the epoch that reached it, counted from 1, and how many were trained.
    seconds : time spent training, over all sessions of the run.
    stopped : why it ended. "diverged": the watched metric became NaN or infinite; "trainer": an option or callback
        of Lightning's ended it.
    """

    best: Path
    last: Path
    table: Path
    score: float
    epoch: int
    epochs: int
    seconds: float
    stopped: Literal["max_epochs", "max_time", "patience", "diverged", "trainer"]


def fit(
    module: LightningModule,
    train: Any,
    valid: Any = None,
    *,
    folder: str | Path,
    max_epochs: int,
    max_time: timedelta | None = None,
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
    max_epochs, max_time : when to stop at the latest. Time counts over all sessions of the run and is looked at
        after each epoch.
    patience : stop after this many epochs without a better score; never, unless given.
    score, better : the logged metric that tells which epoch is best, and which way is better. Unless given,
        ``"valid_loss"`` with and ``"train_loss"`` without validation data.
    seed : seed of shuffling, dropout and everything random in training. The weights that `module` starts from were
        drawn by its maker: call ``torch.manual_seed`` before building it.
    resume : continue the run in `folder` after its last finished epoch, or begin if there is none.
    **trainer : passed to ``lightning.Trainer``: ``accelerator``, ``devices``, ``strategy``, ``precision``,
        ``gradient_clip_val``, ``accumulate_grad_batches``, ``limit_train_batches``, a list of ``callbacks``…

    Raises
    ------
    InvalidInput
        If the folder holds a run and `resume` is not set, its checkpoint is damaged or of another module or seed,
        the module does not log `score`, or Lightning does not know an option or has no such device.
    Interrupted
        On Ctrl-C; calling again with ``resume=True`` continues.
    FirstlightError
        If the score was not finite after any epoch.
    """
    watch = Watch(score or ("train_loss" if valid is None else "valid_loss"), better, max_epochs, max_time, patience)
    ledger = Ledger(Path(folder), watch, seed)
    begun = ledger.last.exists()
    if begun and not resume:
        raise InvalidInput(f"{folder} holds a run already; pass resume=True to continue it, or choose another folder")
    if not (begun and watch.verdict(read_rows(ledger.table))):
        ledger.last.parent.mkdir(parents=True, exist_ok=True)
        with _quiet(), isolate_rng():
            # What Lightning hands to data workers and to the processes it starts; the ledger seeds the epochs.
            seed_everything(seed, workers=True, verbose=False)
            _train(_trainer(ledger, {"max_epochs": max_epochs} | trainer), module, train, valid, ledger)
    rows = read_rows(ledger.table)
    best = watch.best(rows)
    if best is None:
        raise FirstlightError(f"{watch.score} was never finite: training diverged at once; try a lower learning rate")
    if ledger.best.is_file():
        load_weights(module, ledger.best)
    return TrainingRun(
        best=ledger.best,
        last=ledger.last,
        table=ledger.table,
        score=rows[best][watch.score],
        epoch=best + 1,
        epochs=len(rows),
        seconds=rows[-1]["seconds"],
        stopped=watch.verdict(rows) or "trainer",
    )


def load_weights(module: torch.nn.Module, checkpoint: str | Path) -> None:
    """Put the weights of a checkpoint that `fit` wrote into a module; only tensors and plain values are unpickled.

    Raises
    ------
    InvalidInput
        If the file is absent or damaged, holds other objects, or does not fit the module.
    """
    try:
        module.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True)["state_dict"])
    except Exception as error:  # torch has half a dozen kinds of errors for files that are no checkpoints
        reason = " ".join(str(error).split())[:300]
        raise InvalidInput(f"cannot load {checkpoint} into {type(module).__name__}: {reason}") from error


def _trainer(ledger: Ledger, options: dict[str, Any]) -> Trainer:
    callbacks = [ledger, *options.pop("callbacks", [])]
    if options.get("enable_progress_bar", True):
        callbacks.append(RichProgressBar())
    try:
        return Trainer(callbacks=callbacks, logger=False, enable_model_summary=False, **options)
    except (MisconfigurationException, ImportError, TypeError, ValueError) as error:
        raise InvalidInput(f"Lightning refuses these options: {error}") from error


def _train(trainer: Trainer, module: LightningModule, train: Any, valid: Any, ledger: Ledger) -> None:
    checkpoint = ledger.last if ledger.last.exists() else None
    if checkpoint is not None and checkpoint.is_file():
        load_weights(module, checkpoint)  # Lightning would too; this tells a wrong file from an error in training
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        trainer.fit(module, train, valid, ckpt_path=checkpoint, weights_only=True)
    except MisconfigurationException as error:
        raise InvalidInput(str(error)) from error
    except (KeyboardInterrupt, SystemExit) as stop:
        # Lightning turns Ctrl-C into SystemExit, is deaf to it from then on, and leaves spawned processes running.
        if trainer.strategy.launcher is not None:
            trainer.strategy.launcher.kill(getattr(signal, "SIGKILL", signal.SIGTERM))
        signal.signal(signal.SIGINT, on_interrupt)
        kept = f"{len(read_rows(ledger.table))} finished epochs are kept in {ledger.last.parent}"
        raise Interrupted(f"training was stopped; {kept}; resume=True continues") from stop


@contextmanager
def _quiet() -> Iterator[None]:
    levels = [logger.level for logger in LOGGERS]
    with warnings.catch_warnings():
        hush()
        try:
            yield
        finally:
            for logger, level in zip(LOGGERS, levels, strict=True):
                logger.setLevel(level)
