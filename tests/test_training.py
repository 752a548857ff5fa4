"""The training loop, on a linear network whose best weights are known."""

import csv
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from lightning.pytorch import LightningDataModule, LightningModule, Trainer
from lightning.pytorch.callbacks import Callback, EarlyStopping
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from firstlight.errors import FirstlightError, Interrupted, InvalidInput
from firstlight.training import fit, load_weights

QUICK = {"accelerator": "cpu", "devices": 1, "enable_progress_bar": False}


class Line(LightningModule):
    """A linear network; with dropout and a schedule, everything a resumed run has to get right."""

    def __init__(self, rate: float = 0.1, dropout: float = 0.0, width: int = 3) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Dropout(dropout), torch.nn.Linear(width, 1))

    def training_step(self, batch, _):
        x, y = batch
        loss = (self.net(x) - y).square().mean()
        self.log("train_loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("valid_loss", (self.net(x) - y).square().mean(), sync_dist=True)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), self.hparams["rate"])
        # Falls in some epochs and not in others, so that a resumed run that forgot a step of it would show.
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0, threshold=0.3)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plateau, "monitor": "train_loss"}}


class Descent(Line):
    """The same network under plain gradient descent."""

    def on_train_epoch_end(self):
        self.log("processes", float(self.trainer.world_size))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.hparams["rate"])


class Scripted(Line):
    """Logs scores given beforehand, one per epoch."""

    def __init__(self, scores: list[float]) -> None:
        super().__init__()
        self.scores = scores

    def validation_step(self, batch, _):
        self.log("valid_loss", self.scores[self.current_epoch])


class Noisy(Dataset):
    """Samples with fresh noise from NumPy's global generator, as augmentations draw it."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int):
        return self.x[index] + 0.1 * float(np.random.standard_normal()), self.y[index]  # noqa: NPY002


class Shared(IterableDataset):
    """Batches of eight samples, dealt out evenly to the processes that train together."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.x, self.y = x, y

    def __iter__(self):
        rank, processes = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        for start in range(0, len(self.x), 8):
            mine = slice(start + rank, start + 8, processes)
            yield self.x[mine], self.y[mine]


class Repeated(IterableDataset):
    """The whole data set as one batch, several times."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor, times: int) -> None:
        self.x, self.y, self.times = x, y, times

    def __iter__(self):
        return iter([(self.x, self.y)] * self.times)


def samples(count: int = 40, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(count, 3, generator=generator, dtype=dtype)
    noise = torch.randn(count, 1, generator=generator, dtype=dtype)
    return x, x @ torch.tensor([[1.0], [-2.0], [0.5]], dtype=dtype) + 0.3 + 0.1 * noise


def loaders(workers: int = 0) -> tuple[DataLoader, DataLoader]:
    x, y = samples()
    return DataLoader(Noisy(x, y), 8, shuffle=True, num_workers=workers), DataLoader(TensorDataset(x, y), 40)


def stochastic_run(folder: Path, max_epochs: int, *, workers: int = 0, **options):
    torch.manual_seed(1)
    module = Line(rate=0.05, dropout=0.2)
    return module, fit(module, *loaders(workers), folder=folder, max_epochs=max_epochs, **(QUICK | options))


def saved(checkpoint: Path) -> dict:
    return torch.load(checkpoint, weights_only=True)


def table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def assert_same_run(run, reference) -> None:
    """Weights, optimiser, schedule and scores are equal bit for bit."""
    ours, theirs = saved(run.last), saved(reference.last)
    for part in ("state_dict", "optimizer_states"):
        torch.testing.assert_close(ours[part], theirs[part], rtol=0, atol=0)
    assert (ours["lr_schedulers"], ours["global_step"]) == (theirs["lr_schedulers"], theirs["global_step"])
    torch.testing.assert_close(saved(run.best)["state_dict"], saved(reference.best)["state_dict"], rtol=0, atol=0)
    assert table(run.table) == table(reference.table)
    assert (run.score, run.epoch, run.epochs) == (reference.score, reference.epoch, reference.epochs)


def test_finds_the_least_squares_solution(tmp_path):
    x, y = samples(dtype=torch.float64)
    data = DataLoader(Repeated(x, y, times=200), batch_size=None)
    module = Descent(rate=0.2)
    run = fit(module, data, folder=tmp_path, max_epochs=2, precision="64-true", **QUICK)
    design = np.column_stack([x.numpy(), np.ones(len(x))])
    exact, residual, _, _ = np.linalg.lstsq(design, y.numpy()[:, 0])
    layer = module.net[1]
    np.testing.assert_allclose(np.append(layer.weight.detach().numpy(), layer.bias.detach().numpy()), exact, rtol=1e-9)
    np.testing.assert_allclose(run.score, residual[0] / len(x), rtol=1e-9)


@pytest.mark.parametrize("finished", [1, 2, 4])
def test_run_continued_later_equals_uninterrupted_run(tmp_path, finished):
    _, reference = stochastic_run(tmp_path / "at once", 5)
    stochastic_run(tmp_path / "in two", finished)
    torch.manual_seed(99)
    module = Line(rate=0.05, dropout=0.2)  # other initial weights, to be replaced by the checkpoint's
    np.random.seed(7)  # noqa: NPY002 - and another state of the generators
    run = fit(module, *loaders(), folder=tmp_path / "in two", max_epochs=5, resume=True, **QUICK)
    assert_same_run(run, reference)


def test_data_module_and_trainer_options_are_lightnings_and_continue_exactly_too(tmp_path):
    class Samples(LightningDataModule):
        def train_dataloader(self):
            return loaders()[0]

        def val_dataloader(self):
            return loaders()[1]

    options = {"score": "valid_loss", "limit_train_batches": 3, "accumulate_grad_batches": 2, "gradient_clip_val": 0.5}
    runs = {}
    for name, stops in (("at once", [4]), ("in three", [1, 3, 4])):
        for epochs in stops:
            torch.manual_seed(1)
            module = Line(rate=0.05, dropout=0.2)
            where = {"folder": tmp_path / name, "max_epochs": epochs, "resume": True}
            runs[name] = fit(module, Samples(), **where, **options, **QUICK)
    assert saved(runs["at once"].last)["global_step"] == 8  # two steps of two batches and of one
    assert_same_run(runs["in three"], runs["at once"])


def test_run_with_data_workers_continues_exactly(tmp_path):
    _, reference = stochastic_run(tmp_path / "at once", 2, workers=1)
    stochastic_run(tmp_path / "in two", 1, workers=1)
    _, run = stochastic_run(tmp_path / "in two", 2, workers=1, resume=True)
    assert_same_run(run, reference)


class Stopped(Callback):
    """Somebody presses Ctrl-C in the middle of the third epoch."""

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if (trainer.current_epoch, batch_idx) == (2, 3):
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_leaves_a_run_that_continues_exactly(tmp_path):
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match=r"training was stopped; .* keeps its epochs"):
        stochastic_run(tmp_path / "run", 4, callbacks=[Stopped()])
    assert signal.getsignal(signal.SIGINT) is handler
    assert len(table(tmp_path / "run" / "metrics.csv")) == 2
    _, run = stochastic_run(tmp_path / "run", 4, resume=True)
    assert_same_run(run, stochastic_run(tmp_path / "at once", 4)[1])


def test_two_processes_equal_one_on_the_same_global_batch(tmp_path, monkeypatch):
    # Two gloo processes that see half of each batch must average their gradients to that of the whole batch.
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    runs = {}
    for devices, strategy in ((1, "auto"), (2, "ddp_spawn")):
        torch.manual_seed(1)
        module = Descent(rate=0.1).double()
        data = DataLoader(Shared(*samples(dtype=torch.float64)), batch_size=None)
        options = QUICK | {"devices": devices, "strategy": strategy, "precision": "64-true"}
        runs[devices] = fit(module, data, data, folder=tmp_path / str(devices), max_epochs=2, **options)
    one, two = (saved(runs[devices].last) for devices in (1, 2))
    assert [row["processes"] for devices in (1, 2) for row in table(runs[devices].table)] == ["1.0"] * 2 + ["2.0"] * 2
    assert one["global_step"] == two["global_step"] == 10
    torch.testing.assert_close(two["state_dict"], one["state_dict"], rtol=1e-13, atol=1e-13)
    assert runs[2].score == pytest.approx(runs[1].score, rel=1e-13)
    torch.testing.assert_close(module.state_dict(), saved(runs[2].best)["state_dict"], rtol=0, atol=0)


def test_finished_run_is_left_alone_and_still_gives_the_best_weights(tmp_path):
    module, first = stochastic_run(tmp_path, 3)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    again = Line(rate=0.05, dropout=0.2)
    second = fit(again, *loaders(), folder=tmp_path, max_epochs=3, resume=True, **QUICK)
    assert second == first
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert sorted(before) == ["best.ckpt", "last.ckpt", "metrics.csv"]
    torch.testing.assert_close(again.state_dict(), module.state_dict(), rtol=0, atol=0)


def test_table_lost_after_the_last_checkpoint_is_written_again(tmp_path):
    _, first = stochastic_run(tmp_path, 2)
    lines = first.table.read_text().splitlines(keepends=True)
    first.table.write_text("".join(lines[:-1]))
    _, second = stochastic_run(tmp_path, 2, resume=True)
    assert second == first
    assert first.table.read_text() == "".join(lines)


@pytest.mark.parametrize("scores", [[3, 2, 2.5, 1, 1, 1, 0.5, 0.1], [1, 2, 3, 4, 5, 6, 7, 8], [5, 4, 5, 4, 5, 4, 5, 4]])
def test_patience_stops_where_lightning_stops(tmp_path, scores):
    _, valid = loaders()
    ours = fit(Scripted(scores), valid, valid, folder=tmp_path, max_epochs=8, patience=2, **QUICK)
    stopping = EarlyStopping("valid_loss", patience=2, min_delta=0.0)
    theirs = Trainer(max_epochs=8, callbacks=[stopping], logger=False, enable_checkpointing=False, **QUICK)
    theirs.fit(Scripted(scores), valid, valid)
    assert ours.epochs == theirs.current_epoch
    again = fit(Scripted(scores), valid, valid, folder=tmp_path, max_epochs=8, patience=2, resume=True, **QUICK)
    assert again == ours
    assert (ours.score, scores[ours.epoch - 1]) == (min(scores[: ours.epochs]),) * 2


def test_divergence_ends_the_run_with_the_best_epoch_before_it(tmp_path):
    _, valid = loaders()
    run = fit(Scripted([2.0, 1.0, float("nan")]), valid, valid, folder=tmp_path / "late", max_epochs=9, **QUICK)
    assert (run.score, run.epoch, run.epochs) == (1.0, 2, 3)
    with pytest.raises(FirstlightError, match="valid_loss was never finite"):
        fit(Scripted([float("inf")]), valid, valid, folder=tmp_path / "at once", max_epochs=9, **QUICK)


def test_higher_may_be_better(tmp_path):
    _, valid = loaders()
    run = fit(Scripted([1.0, 3.0, 2.0]), valid, valid, folder=tmp_path, max_epochs=3, better="higher", **QUICK)
    assert (run.score, run.epoch) == (3.0, 2)


def test_same_seed_same_run_and_global_generators_untouched(tmp_path):
    torch.manual_seed(11)
    module = Line(dropout=0.2)
    state = torch.get_rng_state()
    start = {name: value.clone() for name, value in module.state_dict().items()}
    runs = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        module.load_state_dict(start)
        runs.append(fit(module, loaders()[0], folder=tmp_path / name, max_epochs=1, seed=seed, **QUICK))
        torch.testing.assert_close(torch.get_rng_state(), state)
    assert runs[0].score == runs[1].score != runs[2].score


class Payload:
    """What a pickle that runs code when opened looks like."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self):
        return os.mkdir, (str(self.victim),)


def test_checkpoints_with_code_are_refused_unexecuted(tmp_path):
    torch.save({"state_dict": Payload(tmp_path / "harm")}, tmp_path / "last.ckpt")
    with pytest.raises(InvalidInput, match="cannot load"):
        load_weights(Line(), tmp_path / "last.ckpt")
    with pytest.raises(InvalidInput, match="cannot load"):
        fit(Line(), *loaders(), folder=tmp_path, max_epochs=1, resume=True, **QUICK)
    assert not (tmp_path / "harm").exists()


def test_resuming_the_wrong_run_is_refused(tmp_path):
    stochastic_run(tmp_path, 1)
    with pytest.raises(InvalidInput, match="holds a run already"):
        stochastic_run(tmp_path, 2)
    with pytest.raises(InvalidInput, match="begun with seed 0"):
        stochastic_run(tmp_path, 2, resume=True, seed=1)
    with pytest.raises(InvalidInput, match="no 'accuracy', only train_loss, valid_loss"):
        stochastic_run(tmp_path, 2, resume=True, score="accuracy")
    with pytest.raises(InvalidInput, match="size mismatch"):
        fit(Line(width=4), *loaders(), folder=tmp_path, max_epochs=2, resume=True, **QUICK)
    whole = (tmp_path / "last.ckpt").read_bytes()
    (tmp_path / "last.ckpt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInput, match="cannot load"):
        stochastic_run(tmp_path, 2, resume=True)


def test_a_score_that_is_not_logged_and_options_lightning_refuses_give_one_clear_error(tmp_path):
    with pytest.raises(InvalidInput, match=r"no 'accuracy'.*valid_loss"):
        stochastic_run(tmp_path, 1, score="accuracy")
    with pytest.raises(InvalidInput, match="Lightning refuses"):
        stochastic_run(tmp_path, 1, limit_train_batches=-1)
