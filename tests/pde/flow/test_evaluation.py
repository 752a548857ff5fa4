import numpy as np
import pytest
import torch
from tests.pde.flow.linear_fields import Heat, circles, rotation

from firstlight.errors import InvalidInput
from firstlight.pde.flow import FlowOperator, Persistence, Trajectories, evaluate, relative_error


def test_the_relative_error_leaves_out_the_given_frame():
    truth = torch.ones(4, 2, 1, 8)
    wrong = truth.clone()
    wrong[0] = 100.0
    wrong[1:, 1] *= 1.5
    np.testing.assert_allclose(relative_error(wrong, truth), [0, 0.5])
    wrong[2, 0, 0, 0] = torch.nan
    assert relative_error(wrong, truth)[0] == torch.inf


def test_the_exact_field_has_no_error_on_ragged_trajectories():
    found = evaluate(rotation(), circles(5), nfe=400)
    assert found.errors.shape == (5,)
    assert found.errors.max() < 1e-6
    assert found.evaluations == pytest.approx(400 / 24, rel=0.05)


def test_persistence_is_as_wrong_as_the_states_are_far_apart():
    data = circles(1, even=True)
    found = evaluate(Persistence(), data)
    u = data.u[0]
    assert found.errors[0] == pytest.approx(float((u[1:] - u[0]).norm() / u[1:].norm()))


def test_a_drift_of_the_mean_is_seen_and_heat_has_none():
    t, x = torch.linspace(0, 0.2, 6).double(), torch.arange(16).double() / 16
    decay = torch.exp(-0.01 * (2 * torch.pi) ** 2 * t)[:, None]
    data = Trajectories.from_list([(t, (1 + decay * torch.sin(2 * torch.pi * x))[:, None])])
    assert evaluate(FlowOperator(Heat(), 1), data, nfe=80).mean_drift < 1e-12
    lifted = Trajectories.from_list([(t, (1 + t[:, None] + decay * torch.sin(2 * torch.pi * x))[:, None])])
    size = float(lifted.u[0].square().mean().sqrt())
    assert evaluate(FlowOperator(Heat(), 1), lifted, nfe=80).mean_drift == pytest.approx(0.2 / size)


def test_a_single_frame_is_nothing_to_predict():
    with pytest.raises(InvalidInput, match="0000 has one frame"):
        evaluate(Persistence(), Trajectories.from_list([([0.0], np.zeros((1, 2)))]))


@pytest.mark.parametrize(
    ("shape", "label"), [((2,), "time"), ((1, 8), "grid point"), ((1, 8, 6), "grid point along x")]
)
def test_rollouts_are_drawn(shape, label):
    u0 = torch.randn(2, *shape)
    assert Persistence().predict(u0, [0.0, 1.0]).plot().get_xlabel() == label
