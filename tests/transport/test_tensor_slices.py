"""Tensor operations on any device give what the compiled kernels give; run here on the processor."""

import numpy as np
import pytest
import torch
from tests.transport.explicit_trees import ORDERS, on_sphere, two_clouds

from firstlight.errors import InvalidInput
from firstlight.transport import sample_spherical_trees, sample_tree_system
from firstlight.transport import tensor_slices as slices
from firstlight.transport.line_slices import LineSlices
from firstlight.transport.measures import weighed_clouds
from firstlight.transport.ray_slices import RaySlices
from firstlight.transport.streaming import Gradients, stream
from firstlight.transport.tensor_slices import TensorLineSlices, TensorRaySlices
from firstlight.transport.tensors import clouds_on_device, with_derivatives

KINDS = ["concurrent", "chain", "sphere"]


def solved_both_ways(kind, d, p, delta, dtype=np.float64):
    X, Y, a, b = two_clouds(40, 25, d)
    a[3] = 0
    a /= a.sum()
    if kind == "sphere":
        X, Y = on_sphere(X), on_sphere(Y)
        trees = sample_spherical_trees(d, 6, 4, sampling="independent", seed=1)  # no right angles, no ties
        X[2], Y[3], X[5] = trees.roots[0], -trees.roots[0], trees.edges[1, 1]
        kernels, tensors = RaySlices, TensorRaySlices
    else:
        trees = sample_tree_system(Y.mean(axis=0), 6, 4, structure=kind, seed=1)
        X[5] = trees.roots[0] + 0.3 * trees.directions[0, 1]
        kernels, tensors = LineSlices, TensorLineSlices
    X, Y = X.astype(dtype), Y.astype(dtype)
    both, p = [], float(p)
    for kind_of_slices, clouds, zeros in (
        (kernels, weighed_clouds(X, Y, a, b), np.zeros_like),
        (tensors, clouds_on_device(*map(torch.tensor, (X, Y, a, b))), torch.zeros_like),
    ):
        gradients = Gradients(*map(zeros, (clouds.X_s, clouds.X_t, clouds.a, clouds.b)))
        values = stream(kind_of_slices(clouds, trees, p, delta, gradients), p)
        both.append((values, *(np.asarray(part) for part in gradients.by_given(clouds))))
    return both


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 40])
@pytest.mark.parametrize("delta", [1.0, None])
@pytest.mark.parametrize("p", ORDERS)
def test_values_and_gradients_equal_those_of_the_kernels(kind, d, delta, p):
    by_kernels, by_tensors = solved_both_ways(kind, d, p, delta)
    np.testing.assert_allclose(by_tensors[0], by_kernels[0], rtol=1e-12)
    for one, other in zip(by_tensors[1:], by_kernels[1:], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_agrees_too(kind):
    by_kernels, by_tensors = solved_both_ways(kind, 3, 1.5, 1.0, np.float32)
    np.testing.assert_allclose(by_tensors[0], by_kernels[0], rtol=2e-6)
    np.testing.assert_allclose(by_tensors[3], by_kernels[3], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_of_trees_do_not_change_the_result(kind, monkeypatch):
    _, whole = solved_both_ways(kind, 3, 1.5, 1.0)
    monkeypatch.setattr(slices, "ENTRIES_AT_ONCE", 4 * 64 * 2)
    _, in_chunks = solved_both_ways(kind, 3, 1.5, 1.0)
    for one, other in zip(whole, in_chunks, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)


def test_clouds_are_checked_where_they_are():
    X, Y, a, b = map(torch.tensor, two_clouds())
    clouds = clouds_on_device(X.half(), (10 * Y).int(), torch.nn.functional.pad(a[1:], (1, 0)) / a[1:].sum(), b)
    assert clouds.X_s.dtype == clouds.X_t.dtype == torch.float64  # integers are as wide as they come
    assert len(clouds.X_s) == len(X) - 1
    for wrong, message in (
        ((X[0], Y, a, b), "points need shape"),
        ((X[:0], Y, a, b), "empty"),
        ((X, Y[:, :2], a, b), "X_s has 3 columns and X_t 2"),
        ((torch.where(X[1, 2] == X, torch.nan, X), Y, a, b), "found nan in row 1, column 2"),
        ((X, 1e200 * Y, a, b), "reaches"),
        ((X.to(torch.complex64), Y, a, b), "real numbers"),
        ((X, Y, -a, b), "a must be finite and at least 0"),
        ((X, Y, 2 * a, b), "same mass"),
    ):
        with pytest.raises(InvalidInput, match=message):
            clouds_on_device(*wrong)


def test_a_distance_on_a_device_is_differentiable_there():
    X, Y, a, b = map(torch.tensor, two_clouds())
    X.requires_grad_()
    trees = sample_tree_system(np.zeros(3), 5, 4, seed=0)
    clouds = clouds_on_device(X.detach(), Y, a, b)
    _, distance = with_derivatives(
        (X, Y, a, b), clouds, lambda gradients: stream(TensorLineSlices(clouds, trees, 2.0, 1.0, gradients), 2.0), 2.0
    )
    distance.backward()
    assert X.grad.abs().sum() > 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_gives_what_the_processor_gives(kind):
    from firstlight.transport import tree_sliced_sobolev, tree_sliced_sobolev_sphere

    X, Y, a, b = two_clouds(300, 200)
    options = {"seed": 0, "p": 1.5, "n_trees": 30}
    if kind == "sphere":
        X, Y, distance = on_sphere(X), on_sphere(Y), tree_sliced_sobolev_sphere
    else:
        distance = tree_sliced_sobolev
        options["structure"] = kind
    results = []
    for device in ("cpu", "cuda"):
        tensors = [torch.tensor(part, device=device, requires_grad=True) for part in (X, Y, a, b)]
        value = distance(*tensors, **options)
        value.backward()
        assert value.device.type == device
        results.append([value.item(), *(tensor.grad.cpu().numpy() for tensor in tensors)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
