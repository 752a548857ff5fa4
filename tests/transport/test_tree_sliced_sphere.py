"""Distances on spherical trees: exact values, optimal transport on the explicit tree, and the poles."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.transport.explicit_trees import ORDERS, by_definition, earth_movers_distance, laid_out, on_sphere, two_clouds

from firstlight.errors import InvalidInput
from firstlight.transport import (
    SphericalTreeSystem,
    dual_certificate,
    sample_spherical_trees,
    sample_tree_system,
    tree_sliced_sobolev_sphere,
    tree_sliced_sobolev_sphere_unif,
)

POLAR = SphericalTreeSystem(
    np.array([[0.0, 0.0, 1.0]]), np.array([[[1, 0, 0], [0, 1, 0], [-np.sqrt(0.5), -np.sqrt(0.5), 0]]])
)


def spherical_clouds(n=9, m=7, d=3, seed=0):
    X, Y, a, b = two_clouds(n, m, d, seed)
    return on_sphere(X), on_sphere(Y), a, b


@pytest.mark.parametrize(("p", "value"), [(1, 0.9366858065424375), (1.5, 0.357885612824501), (2, 0.2258709472842424)])
def test_clouds_with_points_at_both_poles_and_on_a_ray(p, value, reference_clouds):
    X, Y = reference_clouds
    assert tree_sliced_sobolev_sphere(X, Y, trees=POLAR, p=p) == pytest.approx(value, rel=1e-13)


@pytest.fixture
def reference_clouds():
    """Nine points, among them the root of `POLAR`, its antipode and an edge point, and seven others."""
    X = [
        [-0.02218582250284707, 0.22506574124216083, -0.9740909615631329],
        [0.41602929228381125, 0.7442207955573394, -0.5225466825287783],
        [0.6528601162730505, 0.72161548872382, -0.23031446983162224],
        [0.3336801542524172, -0.5459613653468285, 0.7684944646558686],
        [-0.6906760056542641, -0.6562752530134651, 0.3037588640609245],
        [-0.1448069441270742, -0.9865923346313975, 0.07527625242496472],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, -1.0],
        [1.0, 0.0, 0.0],
    ]
    Y = [
        [0.025749551976335713, 0.9600938150228345, -0.27849026361421886],
        [-0.045441314632082216, 0.4420954390387244, -0.8958162254087976],
        [-0.7253304646923815, -0.6670437749910275, 0.1701420560439229],
        [-0.01127405664487998, 0.9879222350897209, 0.15453981060587102],
        [-0.028221875771139493, 0.7855350518512824, 0.618173283182767],
        [0.11449094223766972, -0.9732287927451632, -0.19929260176264116],
        [-0.6269880598232302, -0.1506600854644895, 0.7643216021328548],
    ]
    return np.array(X), np.array(Y)


@pytest.mark.parametrize(("p", "value"), [(1, np.pi), (1.5, 1.126242071332852), (2, np.sqrt(np.log1p(np.pi) / 3))])
def test_from_pole_to_pole(p, value):
    assert tree_sliced_sobolev_sphere(POLAR.roots, -POLAR.roots, trees=POLAR, p=p) == pytest.approx(value, rel=1e-14)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 12), m=st.integers(1, 12), d=st.integers(2, 5))
def test_order_one_equals_optimal_transport_on_the_explicit_tree(seed, n, m, d):
    X, Y, a, b = spherical_clouds(n, m, d, seed)
    trees = sample_spherical_trees(d, 1, 3, seed=seed)
    for splitting, delta in (("distance", 2.0), ("uniform", 0.0)):
        distance = tree_sliced_sobolev_sphere(X, Y, a, b, trees=trees, p=1, splitting=splitting)
        exact = earth_movers_distance(*laid_out(trees, 0, X, Y, a, b, delta))
        assert distance == pytest.approx(exact, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("p", ORDERS)
def test_equals_the_integral_that_defines_it_and_a_dual_function_attains_it(p):
    X, Y, a, b = spherical_clouds()
    trees = sample_spherical_trees(3, 2, 4, seed=0)
    distance = tree_sliced_sobolev_sphere(X, Y, a, b, trees=trees, p=p)
    exact = np.mean([by_definition(*laid_out(trees, tree, X, Y, a, b), p) ** p for tree in range(2)]) ** (1 / p)
    assert distance == pytest.approx(exact, rel=1e-12)
    certificate = dual_certificate(X, Y, a, b, trees=trees, p=p)
    assert certificate.bound == pytest.approx(distance, rel=1e-12)
    assert certificate.largest_norm_error < 1e-12


@pytest.mark.parametrize("d", [60, 200])
def test_many_dimensions_project_on_trees_together(d):
    X, Y, a, b = spherical_clouds(10, 8, d)
    trees = sample_spherical_trees(d, 9, 3, seed=0)
    X[0], X[1], X[2] = trees.roots[4], -trees.roots[5], trees.edges[3, 1]
    _, log = tree_sliced_sobolev_sphere(X, Y, a, b, trees=trees, p=1.5, log=True)
    exact = [by_definition(*laid_out(trees, tree, X, Y, a, b), 1.5) ** 1.5 for tree in range(9)]
    np.testing.assert_allclose(log["tree_values"], exact, rtol=1e-12)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31), p=st.sampled_from(ORDERS))
def test_moves_with_rotations_and_is_symmetric(seed, p):
    X, Y, a, b = spherical_clouds(seed=seed)
    trees = sample_spherical_trees(3, 3, 4, seed=seed)
    turn, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    turned = SphericalTreeSystem(trees.roots @ turn, trees.edges @ turn)
    distance = tree_sliced_sobolev_sphere(X, Y, a, b, trees=trees, p=p)
    assert tree_sliced_sobolev_sphere(X @ turn, Y @ turn, a, b, trees=turned, p=p) == pytest.approx(distance, rel=1e-10)
    assert tree_sliced_sobolev_sphere(Y, X, b, a, trees=trees, p=p) == pytest.approx(distance, rel=1e-12)
    assert tree_sliced_sobolev_sphere(X, X, a, a, trees=trees, p=p) == 0


def test_points_near_a_pole_are_told_apart():
    """Cosines clamped at 1 - 1e-6 would put all points within 1.4e-3 of a pole at the same place."""
    for angle in (1e-3, 1e-8, 1e-15):
        near = np.array([[np.sin(angle), 0.0, np.cos(angle)]])
        assert tree_sliced_sobolev_sphere(near, POLAR.roots, trees=POLAR, p=1) == pytest.approx(angle, rel=1e-12)


def test_rows_off_the_sphere_are_refused_unless_normalised():
    X, Y, a, b = spherical_clouds()
    with pytest.raises(InvalidInput, match=r"row \d of X_s has norm 2; .*normalize=True"):
        tree_sliced_sobolev_sphere(2 * X, Y)
    distance = tree_sliced_sobolev_sphere(X, Y, a, b, seed=0)
    assert tree_sliced_sobolev_sphere(2 * X, 3 * Y, a, b, seed=0, normalize=True) == pytest.approx(distance, rel=1e-12)
    with pytest.raises(InvalidInput, match="row 1 of X_t is 0"):
        tree_sliced_sobolev_sphere(X, np.array([[1.0, 0, 0], [0, 0, 0]]), normalize=True)
    scaled = torch.tensor(2 * X, requires_grad=True)
    value = tree_sliced_sobolev_sphere(
        scaled, torch.tensor(Y), torch.tensor(a), torch.tensor(b), seed=0, normalize=True
    )
    value.backward()
    assert value.item() == pytest.approx(distance, rel=1e-12)
    np.testing.assert_allclose(torch.sum(scaled.grad * scaled, dim=1).detach(), 0, atol=1e-12)
    whole = torch.tensor([[3, 0, 0], [0, 4, 0]])
    assert tree_sliced_sobolev_sphere(whole, torch.tensor(Y), normalize=True, seed=0) > 0
    for kind in (torch.bool, torch.complex64):
        with pytest.raises(InvalidInput, match="must hold real numbers"):
            tree_sliced_sobolev_sphere(whole.to(kind), Y, normalize=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_normalised_in_single(dtype):
    """Rows of norm 1 to three digits are refused, so they must not be made again when normalised."""
    X, Y, *_ = spherical_clouds()
    half = (3 * torch.tensor(X)).to(dtype).requires_grad_()
    distance = tree_sliced_sobolev_sphere(half, Y, seed=0, normalize=True)
    distance.backward()
    exact = tree_sliced_sobolev_sphere(half.detach().double(), Y, seed=0, normalize=True)
    assert distance.item() == pytest.approx(exact.item(), rel=1e-5)
    assert half.grad.dtype == dtype
    assert half.grad.isfinite().all()
    assert tree_sliced_sobolev_sphere_unif(half.detach(), seed=0, normalize=True) > 0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.ones((2, 1)), np.ones((2, 1))), {}, "at least 2 coordinates"),
        ((np.eye(3), np.eye(3)), {"trees": sample_spherical_trees(2, 1, seed=0)}, "live in 2 dimensions"),
        ((np.array([[np.nan, 1, 0]]), np.eye(3)), {}, "found nan in row 0"),
        ((np.eye(3), np.eye(3)), {"p": 0}, "p must be"),
        ((np.eye(3), np.eye(3)[0]), {}, "points need shape"),
    ],
)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(InvalidInput, match=message):
        tree_sliced_sobolev_sphere(*arguments, **options)


@pytest.mark.usefixtures("unchecked_shapes")
def test_trees_of_lines_are_not_taken_for_spherical_ones():
    with pytest.raises(InvalidInput, match="must be a SphericalTreeSystem, got TreeSystem"):
        tree_sliced_sobolev_sphere(np.eye(3), np.eye(3), trees=sample_tree_system(np.zeros(3), seed=0))


def test_points_drawn_with_the_same_seed_are_not_the_uniform_ones():
    X = on_sphere(np.random.default_rng(0).standard_normal((50, 3)))
    other = tree_sliced_sobolev_sphere_unif(X, seed=1, p=1)
    assert 0.3 < tree_sliced_sobolev_sphere_unif(X, seed=0, p=1) / other < 3


def test_uniform_points_stand_beside_points_and_weights_of_any_kind():
    axes = np.eye(3)
    expected = tree_sliced_sobolev_sphere_unif(axes, seed=0)
    assert tree_sliced_sobolev_sphere_unif(np.eye(3, dtype=int).tolist(), seed=0) == expected
    assert tree_sliced_sobolev_sphere_unif(torch.eye(3, dtype=torch.int64), seed=0).item() == pytest.approx(expected)
    a = torch.full((3,), 1 / 3, requires_grad=True)
    distance = tree_sliced_sobolev_sphere_unif(torch.eye(3), a, seed=0)
    distance.backward()
    assert distance.item() == pytest.approx(expected, rel=1e-6)
    assert a.grad.isfinite().all()
    for points, options, message in (
        (torch.ones(3), {}, "points need shape"),
        (np.ones((0, 3)), {}, "X_s is empty"),
        (axes, {"a": [1, 2]}, "a must hold one weight per point"),
    ):
        with pytest.raises(InvalidInput, match=message):
            tree_sliced_sobolev_sphere_unif(points, **options)


@pytest.mark.usefixtures("unchecked_shapes")
def test_certificates_refuse_what_they_cannot_prove():
    with pytest.raises(InvalidInput, match="trees must be a TreeSystem or a SphericalTreeSystem, got ndarray"):
        dual_certificate(np.eye(3), np.eye(3), trees=np.eye(3))
    with pytest.raises(InvalidInput, match=r"row \d of X_t has norm 2"):
        dual_certificate(np.eye(3), 2 * np.eye(3), trees=POLAR)


def test_certificates_take_tensors():
    X, Y, a, _ = spherical_clouds()
    tensor = torch.tensor(X, requires_grad=True)
    assert dual_certificate(tensor, torch.tensor(Y), torch.tensor(a), trees=POLAR).bound == (
        dual_certificate(X, Y, a, trees=POLAR).bound
    )


def test_uniform_points_are_nearer_to_the_uniform_distribution_than_a_cap():
    rng = np.random.default_rng(0)
    even = on_sphere(rng.standard_normal((400, 3)))
    cap = on_sphere(even + np.array([0.0, 0.0, 2.0]))
    assert tree_sliced_sobolev_sphere_unif(even, n_trees=50, seed=0) < 0.2 * tree_sliced_sobolev_sphere_unif(
        cap, n_trees=50, seed=0
    )
    weighted = tree_sliced_sobolev_sphere_unif(even, 3 * np.ones(400), n_samples=200, n_trees=50, seed=0, p=1.5)
    unweighted = tree_sliced_sobolev_sphere_unif(even, n_samples=200, n_trees=50, seed=0, p=1.5)
    assert weighted == pytest.approx(unweighted, rel=1e-12)
    cap_tensor = torch.tensor(cap, requires_grad=True)
    distance, log = tree_sliced_sobolev_sphere_unif(cap_tensor, n_trees=50, seed=0, log=True)
    distance.backward()
    assert log["trees"].n_trees == 50
    assert (cap_tensor.grad[:, 2] >= 0).double().mean() > 0.9  # down, against the gradient, the cap spreads
    with pytest.raises(InvalidInput, match="n_samples must be a whole number of at least 1"):
        tree_sliced_sobolev_sphere_unif(even, n_samples=0)
