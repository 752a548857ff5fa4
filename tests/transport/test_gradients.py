"""Gradients of all distances: central differences, what they must be by symmetry, and where no derivative exists."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.transport.explicit_trees import ORDERS, central_difference, on_sphere, two_clouds

from firstlight.errors import InvalidInput
from firstlight.transport import (
    TreeSystem,
    sample_spherical_trees,
    sample_tree_system,
    tree_sliced_sobolev,
    tree_sliced_sobolev_sphere,
    tree_sliced_wasserstein,
)

KINDS = ["concurrent", "chain", "sphere"]


def distance_of_kind(kind, d, seed=0, **options):
    """A distance on fixed trees, and clouds it takes."""
    X, Y, a, b = two_clouds(7, 5, d, seed)
    if kind == "sphere":
        X, Y = on_sphere(X), on_sphere(Y)
        trees = sample_spherical_trees(d, 3, 4, seed=1)
        return lambda *clouds: tree_sliced_sobolev_sphere(*clouds, trees=trees, **options), (X, Y, a, b)
    trees = sample_tree_system(Y.mean(axis=0), 3, 4, structure=kind, seed=1)
    return lambda *clouds: tree_sliced_sobolev(*clouds, trees=trees, **options), (X, Y, a, b)


def gradients(distance, clouds, dtype=torch.float64):
    tensors = [torch.tensor(part, dtype=dtype, requires_grad=True) for part in clouds]
    distance(*tensors).backward()
    return [tensor.grad.numpy() for tensor in tensors]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("splitting", ["distance", "uniform"])
@pytest.mark.parametrize("p", ORDERS)
def test_equal_central_differences(kind, splitting, p):
    rng = np.random.default_rng(2)
    distance, clouds = distance_of_kind(kind, 3, p=p, splitting=splitting)
    for k, slope in enumerate(gradients(distance, clouds)):
        direction = rng.standard_normal(slope.shape)
        if k >= 2:
            direction -= direction.mean()  # weights of both clouds must weigh the same
        elif kind == "sphere":
            direction -= np.sum(direction * clouds[k], axis=1, keepdims=True) * clouds[k]

        def along(part, k=k):
            part = on_sphere(part) if kind == "sphere" and k < 2 else part
            return distance(*clouds[:k], part, *clouds[k + 1 :])

        expected = central_difference(along, clouds[k], direction)
        assert np.sum(slope * direction) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31), kind=st.sampled_from(KINDS), p=st.sampled_from(ORDERS))
def test_weights_of_any_sum_have_the_gradient_of_their_normalised_selves(seed, kind, p):
    """The distance is that of the normalised measures, so scaling all weights of a cloud changes nothing."""
    distance, (X, Y, a, b) = distance_of_kind(kind, 3, seed, p=p)
    *_, by_a, by_b = gradients(distance, (X, Y, a, b))
    *_, by_3a, by_3b = gradients(distance, (X, Y, 3 * a, 3 * b))
    np.testing.assert_allclose(3 * by_3a, by_a, atol=1e-12)
    np.testing.assert_allclose(3 * by_3b, by_b, atol=1e-12)
    assert a @ by_a == pytest.approx(0, abs=1e-13)
    assert b @ by_b == pytest.approx(0, abs=1e-13)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31), p=st.sampled_from(ORDERS))
def test_are_tangent_to_the_sphere(seed, p):
    distance, clouds = distance_of_kind("sphere", 3, seed, p=p)
    for slope, points in zip(gradients(distance, clouds)[:2], clouds[:2], strict=True):
        np.testing.assert_allclose(np.sum(slope * points, axis=1), 0, atol=1e-12)


def test_at_order_one_a_shift_of_both_clouds_along_a_line_is_not_felt():
    X, Y, a, b = two_clouds()
    right = TreeSystem(np.array([[-50.0, 0.0, 0.0]]), np.array([[[1.0, 0.0, 0.0]]]))
    by_points, by_Y, *_ = gradients(lambda *c: tree_sliced_wasserstein(*c, trees=right), (X, Y, a, b))
    assert by_points.sum() + by_Y.sum() == pytest.approx(0, abs=1e-12)  # W₁ on a line does not feel a common shift


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", ORDERS)
def test_are_zero_at_equal_measures(kind, p):
    distance, (X, _, a, _) = distance_of_kind(kind, 3, p=p)
    for slope in gradients(distance, (X, X.copy(), a, a.copy())):
        np.testing.assert_array_equal(slope, 0)
    # The same measure, written down differently: rounding must not be taken for a difference.
    for slope in gradients(distance, (np.repeat(X, 3, axis=0), X, np.full(21, 1 / 21), np.full(7, 1 / 7)))[2:]:
        np.testing.assert_allclose(slope, 0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", ORDERS)
def test_are_finite_where_no_derivative_exists(dtype, p):
    line = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [-2.0, 0.0], [0.0, 1e-40], [3.0, 1e-9]])
    trees = TreeSystem(np.zeros((1, 2)), np.eye(2)[None])
    for X, Y in ((line, line[::-1].copy()), (line, line[:1]), (line[:1], line[:1]), (line, line + 1e-12)):
        for slope in gradients(lambda *c: tree_sliced_sobolev(*c, trees=trees, p=p), (X, Y), dtype):
            assert np.isfinite(slope).all()
    single = np.array([[0.0], [0.0], [1.0]])
    for slope in gradients(lambda *c: tree_sliced_sobolev(*c, seed=0, p=p), (single, single[:2] + 1), dtype):
        assert np.isfinite(slope).all()
    poles = sample_spherical_trees(3, 2, 3, seed=0)
    X = np.concatenate([poles.roots, -poles.roots, poles.edges[0], poles.edges[1]])
    for slope in gradients(lambda *c: tree_sliced_sobolev_sphere(*c, trees=poles, p=p), (X, -X[:3]), dtype):
        assert np.isfinite(slope).all()


def test_points_without_weight_feel_nothing():
    X, Y, a, b = two_clouds()
    a[2] = 0
    a /= a.sum()
    by_points, _, by_a, _ = gradients(lambda *c: tree_sliced_sobolev(*c, seed=0), (X, Y, a, b))
    np.testing.assert_array_equal(by_points[2], 0)
    assert by_a[2] == 0
    assert np.abs(by_points).sum(axis=1).astype(bool).sum() == len(X) - 1


def test_single_precision_holds_gradients_of_powers_it_could_not_hold():
    """Between interlaced points |D| is 1/n or 0, and (1/n)^10 far below the least single-precision number."""
    X = np.linspace(0, 1, 20_000)[:, None]
    Y = X + 0.25 * X[1]
    trees = TreeSystem(np.zeros((1, 1)), np.ones((1, 1, 1)))

    def by_points(dtype):
        x = torch.tensor(X, dtype=dtype, requires_grad=True)
        tree_sliced_sobolev(x, torch.tensor(Y, dtype=dtype), p=10, trees=trees).backward()
        return x.grad.double()

    exact, rough = by_points(torch.float64), by_points(torch.float32)
    assert exact.abs().max() > 1e-9
    assert (rough - exact).norm() < 1e-3 * exact.norm()


def test_only_what_is_asked_for_is_computed():
    X, Y, a, b = (torch.tensor(part) for part in two_clouds())
    assert not tree_sliced_sobolev(X, Y, seed=0).requires_grad
    Y.requires_grad_()
    assert tree_sliced_sobolev(X, Y, seed=0).requires_grad
    with torch.no_grad():
        assert not tree_sliced_sobolev(X, Y, seed=0).requires_grad
    a.requires_grad_()
    tree_sliced_sobolev(X, Y.detach(), a, b, seed=0).backward()
    assert a.grad is not None
    assert Y.grad is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_give_tensors_of_their_kind(dtype):
    X, Y, *_ = (torch.tensor(part) for part in two_clouds())
    x, y = X.to(dtype).requires_grad_(), Y.to(dtype)
    distance, log = tree_sliced_sobolev(x, y, seed=0, log=True)
    distance.backward()
    assert distance.dtype == x.grad.dtype == dtype
    assert distance.shape == ()
    exact = tree_sliced_sobolev(x.detach().double().numpy(), y.double().numpy(), trees=log["trees"])
    assert distance.item() == pytest.approx(exact, rel=2 * torch.finfo(dtype).eps + 1e-6)


def test_second_derivatives_are_refused_and_never_taken_for_zero():
    X, Y, *_ = (torch.tensor(part) for part in two_clouds())
    X.requires_grad_()
    (slope,) = torch.autograd.grad(tree_sliced_sobolev(X, Y, seed=0), X, create_graph=True)
    with pytest.raises(NotImplementedError, match="second derivatives"):
        (tree_sliced_sobolev(X, Y, seed=0) + slope.norm()).backward()


def test_one_graph_gives_its_gradient_again_and_again():
    X, Y, *_ = (torch.tensor(part) for part in two_clouds())
    X.requires_grad_()
    distance = tree_sliced_sobolev(X, Y, seed=0)
    once, twice, last = (torch.autograd.grad(factor * distance, X, retain_graph=True)[0] for factor in (1, 2, 1))
    torch.testing.assert_close(twice, 2 * once)
    for repeats in (1, 2, 3):
        distance.backward(retain_graph=True)
        torch.testing.assert_close(X.grad, repeats * last)


def test_tensors_without_numbers_are_refused():
    X, Y, *_ = (torch.tensor(part) for part in two_clouds())
    for refused in (
        lambda: tree_sliced_sobolev(X.to_sparse(), Y),
        lambda: tree_sliced_sobolev(X.to("meta"), Y.to("meta")),
        lambda: torch.func.grad(lambda x: tree_sliced_sobolev(x, Y))(X),
        lambda: torch.vmap(lambda x: tree_sliced_sobolev(x, Y))(X[None]),
    ):
        with pytest.raises(InvalidInput, match="dense tensors that hold numbers"):
            refused()


def test_mixtures_of_tensors_and_arrays_are_taken():
    X, Y, a, b = two_clouds()
    expected = tree_sliced_sobolev(X, Y, a, b, seed=0)
    for clouds in (
        (torch.tensor(X), Y, a, b),
        (X, torch.tensor(Y), a.tolist(), b),
        (X, Y, torch.tensor(a, requires_grad=True), b),
        (torch.tensor(X).T.contiguous().T, Y.tolist(), torch.tensor(a), None),
    ):
        distance = tree_sliced_sobolev(*clouds, seed=0)
        assert isinstance(distance, torch.Tensor)
        if clouds[3] is not None:
            assert distance.item() == pytest.approx(expected, rel=1e-14)
    whole = torch.tensor((10 * X).astype(int))
    assert tree_sliced_sobolev(whole, whole + 1, seed=0).is_floating_point()


def test_gradients_of_many_trees_and_dimensions_add_up():
    """In chunks of several trees, as in one tree after the other."""
    X, Y, a, b = two_clouds(12, 10, 100)
    trees = sample_tree_system(Y.mean(axis=0), 17, 4, seed=0)
    together = gradients(lambda *c: tree_sliced_sobolev(*c, trees=trees, p=1.5) ** 1.5, (X, Y, a, b))
    each = [
        gradients(lambda *c, k=k: tree_sliced_sobolev(*c, trees=one_of(trees, k), p=1.5) ** 1.5, (X, Y, a, b))
        for k in range(17)
    ]
    for whole, *parts in zip(together, *each, strict=True):
        np.testing.assert_allclose(whole, np.mean(parts, axis=0), rtol=1e-9, atol=1e-14)


def one_of(trees, k):
    return TreeSystem(trees.roots[k : k + 1], trees.directions[k : k + 1])
