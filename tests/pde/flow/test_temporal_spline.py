import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly, CubicSpline, make_interp_spline

from firstlight.errors import InvalidInput
from firstlight.pde.flow import TemporalSpline
from firstlight.pde.flow.stencils import stencils

KINDS = ("linear", "quintic", "hermite5", "cubic", "c4")


def uneven(n, seed=0, span=6.0):
    return np.sort(np.concatenate([[0, span], np.random.default_rng(seed).uniform(0, span, n - 2)]))


def velocity_error(kind, n):
    t = np.linspace(0, 6, n)
    asked = np.linspace(0, 6, 4001)
    found = TemporalSpline.fit(t, np.sin(t)[:, None], kind).derivative(asked)[:, 0].numpy()
    return np.sqrt(np.mean((found - np.cos(asked)) ** 2))


@pytest.mark.parametrize(("kind", "order"), [("linear", 1), ("quintic", 2), ("hermite5", 4), ("cubic", 3), ("c4", 5)])
def test_velocities_of_a_sine_converge_at_the_order_of_the_path(kind, order):
    measured = np.log2(velocity_error(kind, 161) / velocity_error(kind, 321))
    # At the ends stencils are one-sided and splines adjust, so the global order may be a little higher.
    assert order - 0.15 < measured < order + 1


@pytest.mark.parametrize(("kind", "degree"), [("linear", 1), ("quintic", 2), ("hermite5", 4), ("cubic", 3), ("c4", 5)])
@given(seed=st.integers(0, 100))
def test_polynomials_up_to_the_degree_of_the_path_are_reproduced(kind, degree, seed):
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.5, 2.0, 12))
    polynomial = np.polynomial.Polynomial(rng.normal(size=degree + 1), domain=[t[0], t[-1]])
    spline = TemporalSpline.fit(t, polynomial(t)[:, None], kind)
    asked = rng.uniform(t[0], t[-1], 50)
    size = np.abs(polynomial.deriv()(asked)).max() + 1
    np.testing.assert_allclose(spline.value(asked)[:, 0], polynomial(asked), atol=1e-9 * size)
    np.testing.assert_allclose(spline.derivative(asked)[:, 0], polynomial.deriv()(asked), atol=1e-8 * size)


def test_the_papers_stencils_come_out_of_the_parabola():
    t = uneven(9)
    start, first, second = stencils(t, 3)
    h0, h1 = t[4] - t[3], t[5] - t[4]
    np.testing.assert_array_equal(start, [0, 0, 1, 2, 3, 4, 5, 6, 6])
    np.testing.assert_allclose(first[4], [-h1 / (h0 * (h0 + h1)), (h1 - h0) / (h0 * h1), h0 / (h1 * (h0 + h1))])
    np.testing.assert_allclose(second[4], np.array([1 / h0, -1 / h0 - 1 / h1, 1 / h1]) * 2 / (h0 + h1))
    a, b = t[1] - t[0], t[2] - t[1]
    np.testing.assert_allclose(first[0], [-(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))])
    np.testing.assert_allclose(second[0], second[1])


@pytest.mark.parametrize("seed", [0, 1])
def test_the_quintic_equals_scipys_hermite_polynomial_with_the_same_derivatives(seed):
    t = uneven(10, seed)
    u = np.random.default_rng(seed).normal(size=(10, 4))
    spline = TemporalSpline.fit(t, u, "quintic")
    oracle = BPoly.from_derivatives(t, np.stack([u, spline.first.numpy(), spline.second.numpy()], axis=1))
    asked = np.linspace(0, 6, 200)
    velocity = oracle.derivative()(asked)
    np.testing.assert_allclose(spline.value(asked), oracle(asked), atol=1e-12 * np.abs(oracle(asked)).max())
    np.testing.assert_allclose(spline.derivative(asked), velocity, atol=1e-12 * np.abs(velocity).max())


def test_global_paths_equal_scipys_splines():
    t = uneven(15)
    u = np.random.default_rng(1).normal(size=(15, 3))
    asked = np.linspace(0, 6, 200)
    peers = {"cubic": CubicSpline(t, u), "c4": make_interp_spline(t, u, k=5)}
    for kind, peer in peers.items():
        expected = peer.derivative()(asked)
        found = TemporalSpline.fit(t, u, kind).derivative(asked).numpy()
        np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("kind", KINDS)
def test_ragged_trajectories_are_treated_as_each_alone(kind):
    times = [uneven(8, 1), uneven(13, 2)]
    frames = [np.random.default_rng(k).normal(size=(len(t), 2, 5)) for k, t in enumerate(times)]
    both = TemporalSpline.fit(times, frames, kind)
    asked = np.linspace(0, 6, 40)
    for b in range(2):
        alone = TemporalSpline.fit(times[b], frames[b], kind)
        torch.testing.assert_close(both.derivative(asked, b), alone.derivative(asked))
    assert len(both.segments) == 7 + 12


def test_frames_that_a_mask_leaves_out_may_hold_anything():
    t = torch.from_numpy(np.stack([uneven(8, 1), uneven(8, 2)]))
    u = torch.randn(2, 8, 3, dtype=torch.float64)
    mask = torch.ones(2, 8, dtype=torch.bool)
    mask[1, 5:] = False
    u[1, 5:], t[1, 5:] = torch.nan, -1.0
    masked = TemporalSpline.fit(t, u, mask=mask)
    alone = TemporalSpline.fit(t[1, :5], u[1, :5])
    torch.testing.assert_close(masked.derivative(t[1, :5], 1), alone.derivative(t[1, :5]))


def test_clock_time_in_single_precision_data_costs_nothing():
    t = np.arange(21) * 0.05
    u = np.exp(-0.7 * t)[:, None].astype(np.float32)
    early, late = (TemporalSpline.fit(t + begin, u, "c4") for begin in (0.0, 1.7e9))
    found = late.derivative(late.t)[:, 0].double().numpy()
    np.testing.assert_allclose(found, early.derivative(early.t)[:, 0], rtol=1e-4)
    np.testing.assert_allclose(found, -0.7 * np.exp(-0.7 * t), rtol=1e-3)


def test_samples_are_uniform_in_time_or_over_segments_as_asked():
    t = np.array([0.0, 0.1, 1.0])
    spline = TemporalSpline.fit(t, np.zeros((3, 1)), "linear")
    generator = torch.Generator().manual_seed(0)
    by_time, by_segment = (spline.sample(20_000, generator, measure) for measure in ("time", "segment"))
    assert float((by_time.t < 0.1).double().mean()) == pytest.approx(0.1, abs=0.01)
    assert float((by_segment.t < 0.1).double().mean()) == pytest.approx(0.5, abs=0.02)
    assert float(by_time.t.mean()) == pytest.approx(0.5, abs=0.01)


def test_samples_lie_on_the_path():
    spline = TemporalSpline.fit([uneven(8, 1)], [np.random.default_rng(0).normal(size=(8, 2))], "hermite5")
    points = spline.sample(50, torch.Generator().manual_seed(1))
    torch.testing.assert_close(points.u, spline.value(points.t))
    torch.testing.assert_close(points.v, spline.derivative(points.t))


@pytest.mark.parametrize("kind", ["quintic", "hermite5", "cubic"])
def test_the_label_error_estimate_is_near_the_true_error(kind):
    t = np.linspace(0, 6, 40)
    spline = TemporalSpline.fit(t, np.sin(t)[:, None], kind)
    nodes = (np.sqrt(0.6) * np.array([-1, 0, 1]) + 1) / 2
    asked = (t[:-1, None] + np.diff(t)[:, None] * nodes).ravel()
    wrong = (spline.derivative(asked)[:, 0].numpy() - np.cos(asked)).reshape(-1, 3)
    true = np.sqrt((wrong**2 * np.array([5, 8, 5]) / 18).sum(1))
    estimate = spline.label_error_estimate().numpy()
    assert np.sqrt(np.mean(estimate**2)) == pytest.approx(np.sqrt(np.mean(true**2)), rel=0.25)


def test_label_errors_are_larger_where_frames_are_missing():
    t = np.delete(np.linspace(0, 6, 41), [20, 21, 22])
    estimate = TemporalSpline.fit(t, np.sin(3 * t)[:, None]).label_error_estimate()
    assert int(estimate.argmax()) == 19


@pytest.mark.parametrize(
    ("t", "u", "kind", "message"),
    [
        ([0, 1, 1, 2], np.zeros((4, 1)), "quintic", "frames 1 and 2 both have t = 1"),
        ([0, 2, 1, 3], np.zeros((4, 1)), "quintic", "frames 1 and 2 time goes back from 2 to 1"),
        ([5.0] * 4, np.zeros((4, 1)), "quintic", "all 4 times equal 5"),
        ([0, 1, np.nan, 2], np.zeros((4, 1)), "quintic", "time of frame 2 is not finite"),
        ([0, 1], np.zeros((2, 1)), "quintic", "has 2 frames; a quintic path needs 3"),
        ([0, 1, 2], np.array([[0.0], [np.nan], [1.0]]), "quintic", "frame 1 holds NaN"),
        ([0, 1, 2], np.zeros((2, 1)), "quintic", "expected times"),
    ],
)
def test_bad_snapshots_are_refused_by_name(t, u, kind, message):
    with pytest.raises(InvalidInput, match=message):
        TemporalSpline.fit(np.array(t, dtype=np.float64), u, kind)


def test_ragged_errors_name_the_trajectory():
    with pytest.raises(InvalidInput, match="trajectory 1: frame 2"):
        TemporalSpline.fit([np.arange(4.0)] * 2, [np.zeros((4, 1)), np.array([[0], [1], [np.inf], [2.0]])])
    with pytest.raises(InvalidInput, match="each of shape"):
        TemporalSpline.fit([np.arange(4.0)] * 2, [np.zeros((4, 1)), np.zeros((4, 2))])
    with pytest.raises(InvalidInput, match="lists of equal length"):
        TemporalSpline.fit([np.arange(4.0)], [])


def test_a_path_is_not_continued_beyond_its_snapshots():
    with pytest.raises(InvalidInput, match="does not extrapolate"):
        TemporalSpline.fit(np.arange(4.0), np.zeros((4, 1))).derivative(np.array([3.5]))
