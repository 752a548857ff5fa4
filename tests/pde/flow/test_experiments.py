"""The protocol: the same for all methods, repeatable, resumed from its folder."""

import json
from functools import partial

import numpy as np
import pytest
import torch

from firstlight.errors import InvalidInput
from firstlight.pde.flow import Autoregressive, FlowOperator
from firstlight.pde.flow.backbones import MLP
from firstlight.pde.flow.experiments import (
    EXPERIMENTS,
    METHODS,
    Experiment,
    build,
    error_against_evaluations,
    field_error,
    run,
    step_cost,
    summary,
    trajectories,
    truth,
)
from firstlight.pde.flow.problems import Lorenz

SMALL = Experiment(
    "small", Lorenz(duration=0.2, spin_up=0.5), partial(MLP, 3, widths=[8]), (6, 2, 3),
    steps=20, batch_size=8, steps_per_epoch=10,
)  # fmt: skip


class TrueField(FlowOperator):
    """The solver's own right-hand side in place of a network."""

    def forward(self, t, u):
        return torch.from_numpy(SMALL.problem.right_hand_side(u.double().numpy())).to(u)


@pytest.fixture
def true_field():
    model = TrueField(MLP(3), 3, grid=())
    model.spacing.fill_(0.005)
    return model.double()


def test_the_true_field_has_no_error_and_its_rollout_that_of_the_integrator(true_field):
    test = trajectories(SMALL)[2]
    assert field_error(true_field, SMALL.problem, test) < 1e-6  # frames are in single precision
    coarse, fine = error_against_evaluations(true_field, test, [0.5, 1.0])
    assert coarse[0] == pytest.approx(0.5, abs=0.1)
    assert fine[0] == pytest.approx(1.0, abs=0.1)
    assert 8 < coarse[1] / fine[1] < 32  # Runge and Kutta's order 4 at half the steps; float32 frames are the floor


def test_methods_start_from_the_same_weights():
    flow, state = (build(SMALL, method, seed=3) for method in ("flow-quintic-25", "state-100"))
    assert isinstance(flow, FlowOperator)
    assert isinstance(state, Autoregressive)
    for ours, theirs in zip(flow.backbone.parameters(), state.backbone.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    other = build(SMALL, "state-100", seed=4)
    assert not torch.equal(next(other.backbone.parameters()), next(state.backbone.parameters()))


def test_parts_share_no_trajectory():
    starts = [u[0].numpy() for part in trajectories(SMALL) for u in part.u]
    assert len(np.unique(np.array(starts), axis=0)) == sum(SMALL.sizes)


def test_a_run_is_kept_and_read_back(tmp_path):
    rows = run(SMALL, ["flow-linear-25", "state-100"], seeds=[1], folder=tmp_path)
    assert [(row["method"], row["seed"]) for row in rows] == [("flow-linear-25", 1), ("state-100", 1)]
    assert all(np.isfinite(row["error"]) for row in rows)
    assert rows[1]["evaluations"] == 1
    model = FlowOperator.from_pretrained(tmp_path / "runs" / "small_flow-linear-25_1" / "model")
    t, u = truth(trajectories(SMALL)[2])
    wrong = (model.predict(u[0], t).u - u)[1:].norm(dim=(0, 2)) / u[1:].norm(dim=(0, 2))
    assert float(wrong.mean()) == pytest.approx(rows[0]["error"], rel=1e-5)
    again = run(SMALL, ["flow-linear-25", "state-100"], seeds=[1], folder=tmp_path)
    assert json.dumps(again) == json.dumps(rows)  # the very same, times included: nothing was done again


def test_ratios_are_taken_seed_by_seed():
    def row(method, seed, error):
        zeros = dict.fromkeys(("evaluations", "milliseconds", "ms per step", "field error"), 0.0)
        return {"method": method, "seed": seed, "error": error, **zeros}

    rows = [row("flow", 0, 1.0), row("flow", 1, 3.0), row("state-100", 0, 2.0), row("state-100", 1, 4.0)]
    flow, state = summary(rows)
    assert flow["error"] == 2.0
    assert flow["spread"] == pytest.approx(2**0.5)
    assert flow["over state-100"] == pytest.approx((1 / 2 + 3 / 4) / 2)
    assert state["over state-100"] == 1.0


def test_cost_of_a_step_leaves_the_model_as_it_was():
    model, data = build(SMALL, "flow-c4-100", 0), trajectories(SMALL)[0]
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    assert step_cost(model, data, 4, data=METHODS["flow-c4-100"].data, repeats=3) > 0
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_unknown_methods_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"'flow-magic'.*state-100"):
        run(SMALL, ["flow-magic"], folder=tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda experiment: experiment.name)
def test_backbones_fit_their_problems(experiment):
    u = torch.from_numpy(experiment.problem.initial_states(1, np.random.default_rng(0))).float()
    assert build(experiment, "flow-quintic-25", 0)(0.0, u).shape == u.shape
