"""Particles reach their target, and how near they came is what an assignment solver says."""

import sys

import numpy as np
import ot
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from firstlight.errors import Interrupted, InvalidInput, MissingExtra
from firstlight.transport import tree_sliced_sobolev
from firstlight.transport.data import eight_gaussians, icosahedron
from firstlight.transport.gradient_flow import descend, exact_w2_squared, gradient_flow
from firstlight.transport.losses import TreeSlicedSobolevLoss


def start(n=60, d=2, seed=5):
    return np.random.default_rng(seed).normal(0, 0.25, (n, d))


def test_distances_on_the_way_equal_an_assignment():
    target = eight_gaussians(60, seed=1)
    flow = gradient_flow(start(), target, lr=0.1, n_iter=12, checkpoints=[3, 8], seed=0)
    np.testing.assert_array_equal(flow.iterations, [0, 3, 8, 12])
    np.testing.assert_array_equal(flow.snapshots[0], start())
    for points, distance in zip(flow.snapshots, flow.w2_squared, strict=True):
        cost = cdist(points, target, "sqeuclidean")
        assert distance == pytest.approx(cost[linear_sum_assignment(cost)].mean(), rel=1e-9)


@pytest.mark.parametrize(
    "loss",
    [
        None,
        TreeSlicedSobolevLoss(p=1.0, n_trees=10, delta=1.0, seed=0),
        TreeSlicedSobolevLoss(p=2.0, n_trees=10, delta=1.0, seed=0),
        lambda x, y: ot.sliced_wasserstein_distance(x, y, n_projections=40, seed=0),
    ],
    ids=["default", "TSW", "TS_2", "POT"],
)
def test_any_loss_leads_towards_the_target(loss):
    flow = gradient_flow(start(), eight_gaussians(60, seed=1), loss, lr=0.1, n_iter=50, seed=0)
    assert flow.w2_squared[-1] < 0.4 * flow.w2_squared[0]


def test_the_same_seed_gives_the_same_flow_and_another_does_not():
    first, again, other = (
        gradient_flow(start(), eight_gaussians(60, seed=1), n_iter=5, seed=seed).particles for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_flow_on_the_sphere_stays_there_and_comes_near_in_angles():
    target = icosahedron(96, seed=0)
    begin = start(96, 3)
    begin /= np.linalg.norm(begin, axis=1, keepdims=True)
    flow = gradient_flow(begin, target, lr=0.1, n_iter=30, domain="sphere", seed=0)
    np.testing.assert_allclose(np.linalg.norm(flow.snapshots, axis=2), 1, atol=1e-12)
    angles = np.arccos(np.clip(flow.particles @ target.T, -1, 1)) ** 2
    assert flow.w2_squared[-1] == pytest.approx(angles[linear_sum_assignment(angles)].mean(), rel=1e-6)
    assert flow.w2_squared[-1] < 0.5 * flow.w2_squared[0]


def test_particles_already_there_stay():
    target = eight_gaussians(30, seed=0)
    flow = gradient_flow(target, target, n_iter=10, seed=0)
    np.testing.assert_array_equal(flow.particles, target)
    assert flow.w2_squared[-1] == 0


def test_ctrl_c_leaves_the_flow_so_far():
    calls = []

    def loss(x, y):
        calls.append(None)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return tree_sliced_sobolev(x, y, n_trees=2, seed=len(calls))

    target = eight_gaussians(60, seed=1)
    with pytest.raises(Interrupted, match="stopped after 7 of 10 iterations") as stopped:
        gradient_flow(start(), target, loss, n_iter=10, checkpoints=[3, 6])
    calls.clear()
    whole = gradient_flow(start(), target, loss, n_iter=7, checkpoints=[3, 6])
    flow = stopped.value.finished["flow"]
    np.testing.assert_array_equal(flow.iterations, [0, 3, 6, 7])
    np.testing.assert_array_equal(flow.snapshots, whole.snapshots)
    assert len(flow.losses) == 7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_input_is_kept_as_it_is(dtype):
    begin, target = start().astype(dtype), eight_gaussians(60, seed=1).astype(dtype)
    copy = begin.copy()
    flow = gradient_flow(torch.from_numpy(begin), torch.from_numpy(target), n_iter=3, seed=0)
    np.testing.assert_array_equal(begin, copy)
    assert flow.snapshots.dtype == dtype
    assert not np.array_equal(flow.particles, begin)


def test_large_clouds_are_judged_by_samples(monkeypatch):
    monkeypatch.setattr("firstlight.transport.gradient_flow.CERTIFIED", 300)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(3200, 1)), rng.normal(size=(3200, 1)) + 2
    whole = ((np.sort(X[:, 0]) - np.sort(Y[:, 0])) ** 2).mean()
    assert exact_w2_squared(X, Y, rng=rng) == pytest.approx(whole, rel=0.1)


def test_chords_turn_into_angles_without_loss_of_digits():
    tiny = np.array([[np.cos(1e-9), np.sin(1e-9)]])
    assert exact_w2_squared(np.array([[1.0, 0.0]]), tiny, "sphere") == pytest.approx(1e-18, rel=1e-6)
    assert exact_w2_squared(np.array([[1.0, 0.0]]), np.array([[-1.0, 0.0]]), "sphere") == pytest.approx(np.pi**2)


def test_descending_equals_adam_written_out():
    target = torch.from_numpy(eight_gaussians(20, seed=1))

    def loss(x, y):
        return tree_sliced_sobolev(x, y, n_trees=3, seed=0)

    x = torch.from_numpy(start(20)).requires_grad_()
    (slope,) = torch.autograd.grad(loss(x, target), x)
    expected = x.detach() - 0.1 * slope / (slope.abs() + 1e-8)  # the first step of Adam
    moved, value = next(descend(torch.from_numpy(start(20)), target, loss, 0.1))
    assert value == loss(x, target).item()
    np.testing.assert_allclose(moved.numpy(), expected.numpy(), atol=1e-9)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"X_s": np.zeros((5, 3))}, "X_s has 3 columns and X_t 2"),
        ({"X_t": np.full((5, 2), np.inf)}, "X_t must be finite"),
        ({"lr": 0.0}, "positive lr"),
        ({"n_iter": 0}, "n_iter of at least 1"),
        ({"checkpoints": [0, 3]}, "between 1 and n_iter=5"),
        ({"checkpoints": [6]}, "between 1 and n_iter=5"),
        ({"domain": "sphere"}, "must lie on the unit sphere"),
        ({"loss": lambda x, _: x.sum().item()}, "returns a tensor .* this one a float"),
        ({"loss": lambda x, _: x.sum() * np.nan}, "not finite after iteration 1"),
    ],
)
def test_bad_input_is_refused(change, complaint):
    arguments = {"X_s": start(5), "X_t": start(5, seed=6), "n_iter": 5} | change
    with pytest.raises(InvalidInput, match=complaint):
        gradient_flow(**arguments)


def test_a_missing_judge_is_named_before_the_flow(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(MissingExtra, match=r"firstlight\[transport\]"):
        gradient_flow(start(5), start(5), lambda x, y: pytest.fail("the flow began"))


def test_pictures_have_labelled_axes():
    flow = gradient_flow(start(), eight_gaussians(60, seed=1), n_iter=4, seed=0)
    curve, points = flow.plot(), flow.plot_snapshot(0)
    assert "W_2^2" in curve.get_ylabel()
    np.testing.assert_allclose(curve.lines[0].get_ydata(), flow.w2_squared)
    np.testing.assert_allclose(points.collections[1].get_offsets(), start())
    on_sphere = gradient_flow(icosahedron(24, seed=0), icosahedron(24, seed=1), n_iter=2, domain="sphere", seed=0)
    axes = on_sphere.plot_snapshot()
    longitude, latitude = np.radians(axes.collections[0].get_offsets().T)
    back = np.stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], 1)
    np.testing.assert_allclose(back, icosahedron(24, seed=1), atol=1e-9)
