import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback
from tests.pde.flow.linear_fields import ROTATION, Matrix, circles

from firstlight.errors import Interrupted, InvalidInput
from firstlight.pde.flow import Autoregressive, FlowOperator, NeuralODE, Trajectories, fit, load_model, save_model

QUIET = {"enable_progress_bar": False}


def untrained(kind=FlowOperator, **options):
    return kind(torch.nn.Linear(2, 2), 2, grid=(), **options)


def field(model):
    """The matrix of a linear model, in the units of the data."""
    return model.rate_scale[:, None] * model.backbone.weight.detach() / model.u_scale[None]


@pytest.mark.parametrize("kind", [FlowOperator, NeuralODE])
def test_the_field_of_a_rotation_is_learned_from_frames_at_irregular_times(kind, tmp_path):
    torch.manual_seed(0)
    model = untrained(kind)
    valid = circles(4, seed=1, even=True)
    options = {"data": {"spline": "c4"}} if kind is FlowOperator else {}
    options = {"steps": 300, "steps_per_epoch": 100, "learning_rate": 0.05, **options, **QUIET}
    run = fit(model, circles(40), valid, folder=tmp_path / "run", **options)
    np.testing.assert_allclose(field(model), ROTATION, atol=0.05)
    assert run.score < 0.1
    assert run.epochs == 3


def test_a_map_is_learned_from_equally_spaced_frames(tmp_path):
    torch.manual_seed(0)
    model = untrained(Autoregressive, target="increment")
    fit(model, circles(40, even=True), folder=tmp_path, steps=300, learning_rate=0.05, steps_per_epoch=150, **QUIET)
    step = 3 / 24
    turn = [[np.cos(step) - 1, -np.sin(step)], [np.sin(step), np.cos(step) - 1]]
    np.testing.assert_allclose(field(model), turn, atol=5e-3)


class CtrlC(Callback):
    """Presses it in the middle of the second epoch."""

    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step == 15:
            raise KeyboardInterrupt


def test_a_resumed_run_equals_one_that_was_never_stopped(tmp_path):
    options = {"steps": 30, "steps_per_epoch": 10, **QUIET}
    models = []
    for name in ("whole", "parts"):
        torch.manual_seed(0)
        models.append(untrained())
        if name == "parts":
            with pytest.raises(Interrupted):
                fit(models[-1], circles(), folder=tmp_path / name, callbacks=[CtrlC()], **options)
        fit(models[-1], circles(), folder=tmp_path / name, resume=name == "parts", **options)
    torch.testing.assert_close(field(models[0]), field(models[1]), rtol=0, atol=0)


@pytest.mark.parametrize("kind", [FlowOperator, Autoregressive, NeuralODE])
def test_a_saved_model_comes_back_as_what_it_is(kind, tmp_path):
    from firstlight.pde.flow import MLP

    torch.manual_seed(0)
    model = kind(MLP(2, widths=[8]), 2, grid=())
    model.training_data(circles(even=True))
    save_model(model, tmp_path / "model", data="circles")
    for place in (tmp_path / "model", tmp_path):  # a run's folder stands for the model in it
        again = load_model(place)
        assert type(again) is kind
        asked = circles(even=True).u[0][:1].float(), [0.0, 0.5, 1.0]
        torch.testing.assert_close(again.predict(*asked).u, model.predict(*asked).u, rtol=0, atol=0)


def test_a_model_with_a_foreign_backbone_is_loaded_with_its_owners_help(tmp_path):
    model = FlowOperator(Matrix(ROTATION).float(), 2, grid=())
    model.save_pretrained(tmp_path / "m")
    with pytest.raises(InvalidInput, match="from_pretrained\\(folder, backbone="):
        FlowOperator.from_pretrained(tmp_path / "m")
    again = FlowOperator.from_pretrained(tmp_path / "m", backbone=Matrix(np.zeros((2, 2))).float())
    torch.testing.assert_close(again.backbone.matrix, model.backbone.matrix)


def test_a_neuralop_model_of_the_users_own_trains_and_is_saved(tmp_path):
    """Its state dict holds an entry that is no tensor, which would spoil checkpoints and weights."""
    from neuralop.models import FNO

    def own():
        torch.manual_seed(0)
        return FNO(n_modes=(4,), in_channels=1, out_channels=1, hidden_channels=4, n_layers=1)

    t, x = np.linspace(0, 1, 9), np.linspace(0, 2 * np.pi, 16, endpoint=False)
    data = Trajectories.from_list([(t, np.sin(x - t[:, None])[:, None].astype(np.float32))])
    model = FlowOperator(own(), 1, grid=[16])
    fit(model, data, folder=tmp_path / "run", steps=4, steps_per_epoch=2, batch_size=4, **QUIET)
    model.save_pretrained(tmp_path / "m")
    again = FlowOperator.from_pretrained(tmp_path / "m", backbone=own())
    torch.testing.assert_close(again.predict(data.u[0][:1], [0, 1]).u, model.predict(data.u[0][:1], [0, 1]).u)


def test_data_that_do_not_fit_the_model_are_refused_before_training(tmp_path):
    three = Trajectories.from_list([(np.arange(4.0), np.zeros((4, 3)))])
    with pytest.raises(InvalidInput, match="2 channels"):
        fit(untrained(), three, folder=tmp_path / "run")
    with pytest.raises(InvalidInput, match="must have the same times"):
        fit(untrained(), circles(), circles(), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()
