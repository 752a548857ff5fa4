import math

import numpy as np
import pytest
import torch
from tests.pde.flow.linear_fields import ROTATION, Heat, Matrix, circles, rotation
from torchdiffeq import odeint

from firstlight.errors import InvalidInput
from firstlight.pde.flow import MLP, FlowOperator, UNet
from firstlight.pde.flow.temporal_spline import PathPoints

START = torch.tensor([[1.0, 0.0], [0.0, 0.5]], dtype=torch.float64)


def test_the_operator_is_a_function_for_odeint_and_agrees_with_it():
    torch.manual_seed(0)
    model = FlowOperator(MLP(2, widths=[16]), 2, grid=()).double()
    model.spacing.fill_(0.05)
    t = torch.tensor([0.0, 0.331, 1.07, 2.0], dtype=torch.float64)
    with torch.no_grad():
        theirs = odeint(model, START, t, method="dopri5", rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(model.predict(START, t).u, theirs, rtol=1e-6, atol=1e-6)
    with torch.no_grad():
        back = odeint(model, theirs[-1], t.flip(0), method="dopri5", rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(back[-1], START, rtol=1e-6, atol=1e-6)


def test_a_rotation_arrives_where_it_should_at_irregular_times():
    t = np.array([0.0, 0.1, math.pi / 2, 2.3])
    found = rotation().predict(START, t, nfe=400)
    np.testing.assert_allclose(found.u[:, 0], np.stack([np.cos(t), np.sin(t)], axis=1), atol=1e-6)
    assert found.evaluations <= 401


def test_one_time_gives_back_exactly_the_state_with_its_gradient():
    model = rotation()
    u0 = START.clone().requires_grad_()
    found = model.predict(u0, [0.7]).u
    assert torch.equal(found, u0[None])
    found.sum().backward()
    assert torch.equal(u0.grad, torch.ones_like(u0))


def test_gradients_reach_the_initial_state_only_when_asked():
    model = rotation()
    u0 = START.clone().requires_grad_()
    model.predict(u0, [0.0, math.pi], nfe=200).u[-1, 0, 0].backward()
    np.testing.assert_allclose(u0.grad, [[-1, 0], [0, 0]], atol=1e-6)
    assert not model.predict(START, [0.0, 1.0]).u.requires_grad


def test_the_blur_moves_velocities_as_the_derivative_of_what_it_does_to_states():
    """Along a segment the blurred state is s + γ(τ) z; its velocity, by autograd, is the label of the loss."""
    model = rotation(gamma0=0.3)
    seen = {}
    model.forward = lambda t, u: seen.setdefault("u", u) * 0  # type: ignore[method-assign] - what would the net see?
    tau = torch.linspace(0.01, 0.99, 7, dtype=torch.float64)
    width, zeros = torch.full_like(tau, 0.2), torch.zeros(7, 2, dtype=torch.float64)
    torch.manual_seed(0)
    loss = model.loss(PathPoints(tau, zeros, zeros, tau, width))
    torch.manual_seed(0)
    noise = 0.3 * torch.randn(7, 2, dtype=torch.float64)
    torch.testing.assert_close(seen["u"], (tau * (1 - tau))[:, None] ** 3 * noise)
    time = tau.clone().requires_grad_()
    (slope,) = torch.autograd.grad(((time * (1 - time)) ** 3).sum(), time)
    torch.testing.assert_close(loss, (slope[:, None] / 0.2 * noise).square().mean())


def test_the_blur_vanishes_at_the_frames():
    model = rotation(gamma0=1.0)
    ends = torch.tensor([0.0, 1.0], dtype=torch.float64)
    exact = START @ torch.tensor(ROTATION, dtype=torch.float64).T
    points = PathPoints(ends, START, exact, ends, torch.ones_like(ends))
    assert float(model.loss(points)) == pytest.approx(0, abs=1e-28)


def test_the_exact_field_is_the_minimum_of_the_loss_up_to_the_label_error():
    data = circles(frames=40)
    model, doubled = rotation(), FlowOperator(Matrix(2 * torch.tensor(ROTATION)), 2, grid=())
    torch.manual_seed(0)
    losses = []
    for field in (model, doubled):
        batch = field.training_data(data, spline="c4").draw(2000)
        field.u_mean.zero_(), field.u_scale.fill_(1), field.rate_scale.fill_(1)
        losses.append(float(field.loss(batch)))
    # A field twice too fast is wrong by its own size, |u|² / 2 per channel; the exact one by that of the labels.
    assert losses[0] < 1e-3 * losses[1]
    assert losses[1] == pytest.approx(float(batch.u.square().mean()), rel=0.01)


def test_scales_are_those_of_the_data():
    data = circles()
    model = rotation()
    model.training_data(data)
    frames = torch.cat(data.u)
    np.testing.assert_allclose(model.u_mean, frames.mean(0), rtol=1e-5)
    np.testing.assert_allclose(model.u_scale, frames.std(0, correction=0), rtol=1e-5)
    assert float(model.spacing) == pytest.approx(data.mean_spacing)
    np.testing.assert_allclose(model.rate_scale, frames.flip(1).square().mean(0).sqrt(), rtol=0.15)


def test_a_channel_that_never_changes_does_no_harm():
    data = circles()
    still = [torch.cat([u, torch.full_like(u[:, :1], 7.0)], dim=1) for u in data.u]
    model = FlowOperator(MLP(3), 3, grid=())
    sampler = model.training_data(type(data).from_list(list(zip(data.t, still, strict=True))))
    assert torch.isfinite(model.loss(sampler.draw(10)._replace(u=torch.zeros(10, 3), v=torch.zeros(10, 3))))


def test_the_integration_error_is_that_of_halved_steps_and_falls_with_them():
    model, t = rotation(), [0.0, 1.0, 2.0]
    coarse, fine = (float(model.integration_error(START, t, nfe=nfe).max()) for nfe in (40, 80))
    exact = np.stack([np.cos(t), np.sin(t)], axis=1)
    true = np.linalg.norm((model.predict(START, t, nfe=40).u[:, 0].numpy() - exact)[1:]) / np.sqrt(2)
    assert coarse == pytest.approx(true, rel=0.1)
    assert coarse / fine == pytest.approx(16, rel=0.15)


def test_dynamics_that_depend_on_time_see_it_and_stay_within_their_training():
    torch.manual_seed(0)
    model = FlowOperator(MLP(2 + 2 * 3, 2, widths=[8]), 2, grid=(), time_features=3).double()
    model.time_range.copy_(torch.tensor([1.7e9, 1.7e9 + 2], dtype=torch.float64))
    early, late = (model(torch.tensor(1.7e9 + t, dtype=torch.float64), START) for t in (0.25, 0.75))
    assert float((early - late).detach().abs().max()) > 1e-3
    each = model(torch.tensor([1.7e9 + 0.25, 1.7e9 + 0.75], dtype=torch.float64), START)
    torch.testing.assert_close(each, torch.stack([early[0], late[1]]))
    model.predict(START, [1.7e9, 1.7e9 + 2])
    with pytest.raises(InvalidInput, match=r"trained from t = 1.7e\+09"):
        model.predict(START, [1.7e9, 1.7e9 + 3])


def test_autonomous_dynamics_go_beyond_the_training():
    model = rotation()
    model.time_range.copy_(torch.tensor([0.0, 1.0]))
    t = [50.0, 50 + 2 * math.pi]
    np.testing.assert_allclose(model.predict(START, t, nfe=800).u[-1], START, atol=1e-6)


@pytest.mark.parametrize(
    ("u0", "t", "message"),
    [
        (torch.zeros(2, 3), [0, 1], "expected states"),
        (torch.zeros(2), [0, 1], "u\\[None\\]"),
        (torch.full((1, 2), torch.nan), [0, 1], "NaN or infinity"),
        (torch.zeros(1, 2), [0, 2, 1], "all increase, or all decrease"),
        (torch.zeros(1, 2), [], "begins with the time"),
        (torch.zeros(1, 2), [0, 1, 1], "drop duplicates"),
    ],
)
def test_states_and_times_that_do_not_fit_are_refused(u0, t, message):
    with pytest.raises(InvalidInput, match=message):
        rotation().predict(u0, t)


def test_another_grid_is_refused_unless_the_model_was_made_for_any():
    model = FlowOperator(UNet(1, 1), 1, grid=[32])
    with pytest.raises(InvalidInput, match=r"on the grid \(32,\)"):
        model.predict(torch.zeros(1, 1, 64), [0, 1])
    assert FlowOperator(Heat(), 1).predict(torch.zeros(1, 1, 64), [0, 1]).u.shape == (2, 1, 1, 64)


def test_negative_options_are_refused():
    with pytest.raises(InvalidInput, match="cannot be negative"):
        rotation(gamma0=-1.0)
