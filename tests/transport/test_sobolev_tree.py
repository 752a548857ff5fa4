import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from tests.transport.explicit_trees import ORDERS, by_definition, earth_movers_distance

from firstlight.errors import InvalidInput
from firstlight.transport.sobolev_tree import sobolev_critic, sobolev_ipm_tree
from firstlight.transport.tree_passes import density, edge_weight


def random_tree(n, seed, longest=2.0):
    """A random tree whose vertices stand in random order, and a balanced difference of masses."""
    rng = np.random.default_rng(seed)
    name = rng.permutation(n)
    parent = np.full(n, -1)
    for vertex in range(1, n):
        parent[name[vertex]] = name[rng.integers(vertex)]
    mass = rng.standard_normal(n)
    return parent, longest * rng.random(n), mass - mass.mean()


@settings(max_examples=40)
@given(n=st.integers(2, 40), seed=st.integers(0, 2**31))
def test_order_one_is_optimal_transport_on_the_tree(n, seed):
    parent, length, mass = random_tree(n, seed)
    length[parent == -1] = 0
    assert sobolev_ipm_tree(parent, length, mass, p=1) == pytest.approx(
        earth_movers_distance(parent, length, mass), rel=1e-12, abs=1e-14
    )


@pytest.mark.parametrize("p", ORDERS)
def test_equals_the_integral_that_defines_it(p):
    parent, length, mass = random_tree(25, seed=3)
    length[parent == -1] = 0
    assert sobolev_ipm_tree(parent, length, mass, p) == pytest.approx(by_definition(parent, length, mass, p), rel=1e-12)


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("longest", [1e-6, 1.0, 1e3])
def test_critic_attains_the_distance_with_norm_one(p, longest):
    parent, length, mass = random_tree(60, seed=1, longest=longest)
    critic = sobolev_critic(parent, length, mass, p)
    assert critic.norm == pytest.approx(1, rel=1e-12)
    assert critic.bound == pytest.approx(sobolev_ipm_tree(parent, length, mass, p), rel=1e-12)
    assert critic.values[parent == -1] == 0


@settings(max_examples=40)
@given(seed=st.integers(0, 2**31), p=st.floats(1, 6))
def test_no_other_function_of_norm_one_does_better(seed, p):
    """Any slopes, constant on edges, divided by their norm bound the distance from below."""
    parent, length, mass = random_tree(15, seed)
    slope = np.random.default_rng(seed + 1).standard_normal(15)
    slope /= np.abs(slope[parent >= 0]).max()  # so that no power overflows, however near 1 the order
    order = list(nx.bfs_tree(nx.DiGraph([(u, v) for v, u in enumerate(parent) if u >= 0]), int(np.argmin(parent))))
    below = np.zeros(15)
    for vertex in reversed(order[1:]):
        below[parent[vertex]] += below[vertex] + length[vertex]
    values, power = np.zeros(15), 0.0
    for vertex in order[1:]:
        values[vertex] = values[parent[vertex]] + slope[vertex] * length[vertex]
        hat = length[vertex] * (1 + below[vertex]) + length[vertex] ** 2 / 2  # ∫ ŵ over the edge
        power += hat * abs(slope[vertex]) ** (p / (p - 1)) if p > 1 else 0
    norm = power ** (1 - 1 / p) if p > 1 else np.abs(slope[parent >= 0]).max()
    assert values @ mass / norm <= sobolev_ipm_tree(parent, length, mass, p) * (1 + 1e-12)


@pytest.mark.parametrize("p", [1.0, 1.2, 1.5, 2.0, 2.0 + 1e-9, 3.0, 10.0])
@pytest.mark.parametrize("relative", [1e-12, 1e-6, 0.9e-4, 1.1e-4, 1e-2, 1.0, 1e3])
def test_edge_weights_do_not_cancel(p, relative):
    below = 0.7
    length = relative * (1 + below)
    exact, _ = quad(lambda u: np.exp((2 - p) * u), np.log(1 + below), np.log1p(below + length), epsabs=0, epsrel=2e-14)
    if relative < 1e-3:  # the limits of that integral cancel; the midpoint rule is exact to the fourth order
        exact = length * (1 + below + length / 2) ** (1 - p) * (1 + p * (p - 1) * (length / (1 + below)) ** 2 / 24)
    ends = density(below, p), density(below + length, p)
    assert edge_weight(below, length, *ends, p) == pytest.approx(exact, rel=5e-13)


def test_is_of_degree_one_in_mass_and_zero_for_equal_measures():
    parent, length, mass = random_tree(30, seed=5)
    assert sobolev_ipm_tree(parent, length, 3 * mass, 1.7) == pytest.approx(
        3 * sobolev_ipm_tree(parent, length, mass, 1.7), rel=1e-13
    )
    assert sobolev_ipm_tree(parent, length, 0 * mass, 1.7) == 0
    assert sobolev_critic(parent, length, 0 * mass, 1.7).bound == 0


def test_a_long_path_is_no_trouble():
    n = 200_000
    mass = np.zeros(n)
    mass[[0, -1]] = 1, -1
    assert sobolev_ipm_tree(np.arange(n) - 1, np.full(n, 1 / (n - 1)), mass, p=1) == pytest.approx(1, rel=1e-10)


@pytest.mark.parametrize(
    ("parent", "length", "mass", "p", "message"),
    [
        ([-1, 0, 0], [0, 1, 1], [0, 1, -1], 0.5, "p must be at least 1"),
        ([-1, 0, 0], [0, 1, 1], [0, 1, -1], np.nan, "p must be at least 1"),
        ([-1, 0], [0, 1, 1], [0, 1, -1], 2, "three arrays of one length"),
        ([], [], [], 2, "three arrays of one length"),
        ([-1, -1, 0], [0, 1, 1], [0, 1, -1], 2, "one root"),
        ([-1, 3, 0], [0, 1, 1], [0, 1, -1], 2, "one root"),
        ([-1, 2, 1], [0, 1, 1], [0, 1, -1], 2, "vertex 1 does not lead up to the root"),
        ([-1, 0, 0], [0, -1, 1], [0, 1, -1], 2, "at least 0"),
        ([-1, 0, 0], [0, np.inf, 1], [0, 1, -1], 2, "finite"),
        ([-1, 0, 0], [0, 1, 1], [0, np.nan, -1], 2, "finite"),
        ([-1, 0, 0], [0, 1, 1], [0, 1, 1], 2, "sums to 2"),
    ],
)
def test_what_is_no_tree_is_refused(parent, length, mass, p, message):
    with pytest.raises(InvalidInput, match=message):
        sobolev_ipm_tree(np.array(parent, int), np.array(length, float), np.array(mass, float), p)
