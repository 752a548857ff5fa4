import math

import numpy as np
import pytest
import torch
from tests.pde.flow.linear_fields import ROTATION, Matrix, circles

from firstlight.errors import InvalidInput
from firstlight.pde.flow import Autoregressive, NeuralODE, Persistence

STEP = 3 / 24  # between the frames of even circles
TURN = [[math.cos(STEP), -math.sin(STEP)], [math.sin(STEP), math.cos(STEP)]]


def exact_map(target):
    """The rotation by one frame, as the state or the increment of an autoregressive model without scales."""
    matrix = np.array(TURN) - (np.eye(2) if target == "increment" else 0)
    model = Autoregressive(Matrix(matrix), 2, grid=(), target=target)
    model.spacing.fill_(STEP)
    return model


@pytest.mark.parametrize("target", ["state", "increment"])
def test_the_exact_map_has_no_loss_and_arrives(target):
    data = circles(even=True)
    model = exact_map(target)
    windows = Autoregressive(Matrix(TURN), 2, grid=()).training_data(data).draw(100)
    assert float(model.loss(windows)) < 1e-25
    found = model.predict(data.u[0][:1], data.t[0])
    torch.testing.assert_close(found.u[:, 0], data.u[0], rtol=1e-6, atol=1e-6)
    assert found.evaluations == 24


def test_between_frames_a_map_knows_only_the_straight_line():
    data = circles(even=True)
    t = data.t[0][0] + STEP * torch.tensor([0.0, 0.5, 1.0, 2.25], dtype=torch.float64)
    u = data.u[0]
    found = exact_map("state").predict(u[:1], t).u[:, 0]
    expected = torch.stack([u[0], (u[0] + u[1]) / 2, u[1], 0.75 * u[2] + 0.25 * u[3]])
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_the_pushforward_trains_the_last_of_its_steps():
    """A map that is 1 % too large has grown by 1.01² when its third step is trained."""
    data = circles(even=True)
    model = Autoregressive(Matrix(1.01 * np.array(TURN)), 2, grid=(), target="state", pushforward=2)
    windows = model.training_data(data).draw(500)
    model.u_mean.zero_(), model.u_scale.fill_(1)
    assert windows.u.shape[1] == 4
    size = windows.u[:, 0].square().mean()
    assert float(model.loss(windows)) == pytest.approx(float((1.01**3 - 1) ** 2 * size), rel=1e-6)


def test_noise_on_the_input_is_of_the_size_that_was_asked_for():
    data = circles(even=True)
    model = Autoregressive(Matrix(TURN), 2, grid=(), target="state", noise=0.1)
    windows = model.training_data(data).draw(4000)
    model.u_mean.zero_(), model.u_scale.fill_(2.0)
    model.backbone.matrix.data *= 1 / 1.0
    torch.manual_seed(0)
    # The backbone sees u / 2 and gives half the state; noise of 0.2 comes out as 0.1 of the scale.
    assert float(model.loss(windows)) == pytest.approx(0.01, rel=0.05)


def test_increments_have_the_size_of_one():
    data = circles(even=True)
    model = Autoregressive(Matrix(TURN), 2, grid=())
    model.training_data(data)
    increments = torch.cat([u.diff(dim=0) for u in data.u])
    np.testing.assert_allclose(model.rate_scale, increments.square().mean(0).sqrt(), rtol=1e-5)
    assert float(model.spacing) == pytest.approx(STEP)


@pytest.mark.parametrize("steps", [1, 4])
def test_a_neural_ode_with_the_exact_field_meets_the_next_frames(steps):
    data = circles(frames=40)
    model = NeuralODE(Matrix(ROTATION), 2, grid=(), window=3, steps=steps)
    windows = model.training_data(data).draw(200)
    model.u_mean.zero_(), model.u_scale.fill_(1), model.rate_scale.fill_(1)
    assert windows.width.shape == (200, 3)
    assert float(model.loss(windows)) < 1e-5 / steps**8
    loss = model.loss(windows)
    loss.backward()
    assert model.backbone.matrix.grad is not None


def test_persistence_repeats_the_first_state():
    u0 = torch.randn(3, 2, 8)
    found = Persistence().predict(u0, [0.0, 1.0, 5.0])
    assert torch.equal(found.u, u0.expand(3, 3, 2, 8))


def test_maps_from_frame_to_frame_refuse_what_they_cannot_do():
    with pytest.raises(InvalidInput, match="needs equally spaced frames"):
        Autoregressive(Matrix(TURN), 2).training_data(circles())
    with pytest.raises(InvalidInput, match="cannot run backwards"):
        exact_map("state").predict(torch.zeros(1, 2), [1.0, 0.0])
    with pytest.raises(InvalidInput, match="pushforward and noise of at least 0"):
        Autoregressive(Matrix(TURN), 2, noise=-1.0)
    with pytest.raises(InvalidInput, match="no trajectory has the 30 frames"):
        Autoregressive(Matrix(TURN), 2, pushforward=28).training_data(circles(even=True))
