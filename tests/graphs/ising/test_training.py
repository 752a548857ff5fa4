"""Training learns, is scored on graphs it did not see, and resumes where it stopped."""

import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback

from firstlight.errors import Interrupted, InvalidInput
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.data import generate
from firstlight.graphs.ising.evaluator import logmse
from firstlight.graphs.ising.lattice_graphs import lattice_data
from firstlight.graphs.ising.radial_field import RadialFieldModel
from firstlight.graphs.ising.results import BenchmarkResult
from firstlight.graphs.ising.training import Recipe, cpu_hours, train, train_on

QUIET = {"enable_progress_bar": False, "accelerator": "cpu"}


def random_graphs(side, count, seed):
    ising = PowerLawIsing((side, side), 0.6)
    return [lattice_data(ising, spins) for spins in np.random.default_rng(seed).choice([-1, 1], (count, side * side))]


def fresh_model():
    torch.manual_seed(0)
    return RadialFieldModel()


def test_what_was_learned_on_small_lattices_holds_on_larger_ones(tmp_path):
    model = fresh_model()
    recipe = Recipe(epochs=12, lr=2e-2, batch_size=8)
    run = train(model, random_graphs(8, 200, 0), random_graphs(8, 40, 1), folder=tmp_path, recipe=recipe, **QUIET)
    constant = np.log10(np.var(np.concatenate([graph.y.numpy() for graph in random_graphs(8, 40, 2)])))
    assert logmse(model, random_graphs(8, 40, 2)) < constant - 3
    assert logmse(model, random_graphs(16, 20, 3)) < constant - 2
    assert 0 < cpu_hours(run) < 0.1


def test_a_resumed_run_is_the_run_that_never_stopped(tmp_path):
    graphs, valid = random_graphs(6, 24, 0), random_graphs(6, 8, 1)
    recipe = Recipe(epochs=3, lr=1e-2, batch_size=8)

    class CtrlC(Callback):
        def on_train_epoch_start(self, trainer, pl_module):
            if trainer.current_epoch == 1:
                raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        train(fresh_model(), graphs, valid, folder=tmp_path / "b", recipe=recipe, callbacks=[CtrlC()], **QUIET)
    resumed, straight = fresh_model(), fresh_model()
    train(resumed, graphs, valid, folder=tmp_path / "b", recipe=recipe, resume=True, **QUIET)
    train(straight, graphs, valid, folder=tmp_path / "a", recipe=recipe, **QUIET)
    for ours, theirs in zip(resumed.parameters(), straight.parameters(), strict=True):
        assert ours.equal(theirs)


def test_a_run_on_the_benchmark_leaves_result_and_weights(tmp_path):
    generate("lrim_16_0.6_20", tmp_path / "sets")
    result = train_on("lrim_16_0.6_20", root=tmp_path / "sets", folder=tmp_path / "run", epochs=1, **QUIET)
    assert BenchmarkResult.load(tmp_path / "run") == result
    assert (result.model, result.radius, result.cost) == ("radial", None, "O(N)")
    model = RadialFieldModel.from_pretrained(tmp_path / "run" / "model")
    assert result.parameters == sum(weights.numel() for weights in model.parameters())


def test_no_graphs_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="got 0 and 1"):
        train(fresh_model(), [], random_graphs(5, 1, 0), folder=tmp_path, recipe=Recipe(1, 1e-2, 1))


def test_unknown_models_are_refused_with_all_that_there_are(tmp_path):
    with pytest.raises(InvalidInput, match=r"radial, mlp, gin, gatedgcn, gatedgcn-vn, gps; got 'gcn'"):
        train_on("lrim_16_0.6_20", "gcn", root=tmp_path, folder=tmp_path / "run")
