"""Couplings, fields and energies equal their definitions, written out pair by pair."""

from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.couplings import PowerLawIsing

CASES = Path(__file__).parents[4] / "shared" / "cases" / "12"
TRIANGULAR = np.array([[1, 0], [0.5, np.sqrt(3) / 2]])

lengths = st.integers(2, 5)
shapes = st.one_of(st.tuples(st.integers(2, 20)), st.tuples(lengths, lengths), st.tuples(*[st.integers(2, 3)] * 3))


@st.composite
def lattices(draw):
    """What `PowerLawIsing` is called with; it is called in the test, since run-time type checks draw random numbers."""
    lattice = draw(st.sampled_from(["hypercubic", "triangular"]))
    boundary = draw(st.sampled_from(["periodic", "open"]))
    shape = draw(shapes)
    if lattice == "triangular":
        shape = (draw(lengths),) * 2 if boundary == "periodic" else (draw(lengths), draw(lengths))
    occupied = draw(st.one_of(st.just(np.ones(shape, bool)), stn.arrays(bool, shape)))
    occupied.flat[:2] = True
    sigma = draw(st.sampled_from([0.6, 1.5]))
    return {"shape": shape, "sigma": sigma, "lattice": lattice, "boundary": boundary, "occupied": occupied}


def written_out_couplings(model):
    """r^-(d+σ) between every two sites, with the nearest of all images."""
    d = len(model.shape)
    basis = TRIANGULAR if model.lattice == "triangular" else np.eye(d)
    images = list(product((-2, -1, 0, 1, 2), repeat=d)) if model.boundary == "periodic" else [(0,) * d]
    cells = np.argwhere(model.occupied)
    steps = cells[:, None, None] - cells[:, None] + np.multiply(images, model.shape)
    distance = np.linalg.norm(steps @ basis, axis=-1).min(axis=2)
    np.fill_diagonal(distance, np.inf)
    return distance ** -(d + model.sigma)


def random_spins(model, n=3, seed=0):
    return 2 * np.random.default_rng(seed).integers(0, 2, (n, model.n_sites)) - 1


@settings(max_examples=30)
@given(lattice=lattices())
def test_couplings_equal_their_definition_on_every_lattice(lattice):
    model = PowerLawIsing(**lattice)
    np.testing.assert_allclose(model.couplings(), written_out_couplings(model), rtol=1e-12)


@settings(max_examples=40)
@given(lattice=lattices(), seed=st.integers(0, 99))
def test_fields_by_fourier_transform_equal_direct_sums(lattice, seed):
    model = PowerLawIsing(**lattice)
    spins = random_spins(model, seed=seed)
    direct = spins @ model.couplings()
    scale = np.abs(direct).max()
    np.testing.assert_allclose(model.local_field(spins), direct, atol=1e-12 * scale, rtol=0)
    np.testing.assert_allclose(model.local_field(spins, "direct"), direct, atol=1e-12 * scale, rtol=0)


@settings(max_examples=30)
@given(lattice=lattices(), seed=st.integers(0, 99))
def test_flip_cost_is_the_difference_of_two_energies_and_energy_half_the_sum_of_labels(lattice, seed):
    model = PowerLawIsing(**lattice)
    spins = random_spins(model, n=1, seed=seed)[0]
    site = seed % model.n_sites
    flipped = spins.copy()
    flipped[site] *= -1
    pairs = -np.tril(model.couplings() * np.outer(spins, spins)).sum()  # each pair once
    assert float(model.energy(spins)) == pytest.approx(pairs, abs=1e-10)
    assert model.target(spins).sum() / 2 == pytest.approx(pairs, abs=1e-10)
    cost = float(model.energy(flipped)) - float(model.energy(spins))
    assert model.flip_cost(spins)[site] == pytest.approx(cost, abs=1e-10)
    assert model.target(spins)[site] == pytest.approx(-cost / 2, abs=1e-10)


@pytest.mark.parametrize(("size", "sigma", "energy"), [
    (16, 0.6, -1322.91115806528), (16, 1.5, -876.853042616684),
    (64, 0.6, -24437.8379656431), (64, 1.5, -14315.9083544747),
])  # fmt: skip
def test_the_ordered_state_has_its_known_energy(size, sigma, energy):
    model = PowerLawIsing((size, size), sigma)
    assert float(model.energy(np.ones((size, size)))) == pytest.approx(energy, rel=1e-13)


@pytest.mark.parametrize(("size", "energy", "cost"), [
    (5, 13.569536061796539, 0.4936270901760075), (16, 18.846308748183674, -0.5707909137975418),
])  # fmt: skip
def test_labels_of_known_spins(size, energy, cost):
    if not CASES.is_dir():
        pytest.skip("the shared cases are not here")
    spins, labels = (np.load(CASES / f"i01_{kind}_{size}.npy") for kind in ("spins", "target"))
    model = PowerLawIsing((size, size), 0.6)
    np.testing.assert_allclose(model.target(spins), labels, rtol=1e-11)
    assert float(model.energy(spins)) == pytest.approx(energy, rel=1e-12)
    assert model.flip_cost(spins)[0] == pytest.approx(cost, rel=1e-11)


@settings(max_examples=30)
@given(lattice=lattices())
def test_the_graph_is_symmetric_and_joins_what_is_one_spacing_apart(lattice):
    model = PowerLawIsing(**lattice)
    edges = model.edge_index
    pairs = {tuple(pair) for pair in edges.T.tolist()}
    assert len(pairs) == edges.shape[1]
    assert pairs == {(j, i) for i, j in pairs}
    assert all(i != j for i, j in pairs)
    nearest = np.isclose(model.couplings(), 1.0)  # r = 1 has J = 1, whatever the exponent
    assert pairs == set(zip(*(side.tolist() for side in np.nonzero(nearest)), strict=True))
    assert edges.T.tolist() == sorted(edges.T.tolist())


@pytest.mark.parametrize(("size", "n_edges"), [(2, 8), (3, 36), (4, 64), (16, 1024)])
def test_tiny_lattices_have_no_double_edges(size, n_edges):
    edges = PowerLawIsing((size, size), 0.6).edge_index
    assert edges.shape == (2, n_edges)
    assert (np.bincount(edges[0]) == min(4, n_edges // size**2)).all()


@settings(max_examples=20)
@given(lattice=lattices())
def test_hops_equal_networkx(lattice):
    model = PowerLawIsing(**lattice)
    graph = nx.Graph(model.edge_index.T.tolist())
    graph.add_nodes_from(range(model.n_sites))
    paths = nx.single_source_shortest_path_length(graph, 1)
    assert model.hop_distances(1).tolist() == [paths.get(site, model.n_sites) for site in range(model.n_sites)]


def test_scattered_points_are_coupled_by_their_distance_and_joined_within_the_radius():
    positions = np.random.default_rng(0).random((30, 2)) * 5
    model = PowerLawIsing.from_positions(positions, 0.6, radius=1.2)
    distance = np.linalg.norm(positions[:, None] - positions, axis=2)
    np.testing.assert_allclose(model.couplings()[3, 7], distance[3, 7] ** -2.6)
    assert {tuple(edge) for edge in model.edge_index.T.tolist()} == {
        (i, j) for i in range(30) for j in range(30) if i != j and distance[i, j] <= 1.2
    }
    spins = random_spins(model)
    np.testing.assert_allclose(model.local_field(spins), spins @ model.couplings())
    grid = np.argwhere(np.ones((6, 6))).astype(float)
    in_box = PowerLawIsing.from_positions(grid, 0.6, radius=1, box=(6, 6))
    torus = PowerLawIsing((6, 6), 0.6)
    np.testing.assert_allclose(in_box.couplings(), torus.couplings(), rtol=1e-12)
    np.testing.assert_array_equal(in_box.edge_index, torus.edge_index)


def test_spins_may_come_in_the_shape_of_the_lattice_or_flat():
    model = PowerLawIsing((4, 6), 0.6)
    flat = random_spins(model, n=2)
    shaped = flat.reshape(2, 4, 6)
    np.testing.assert_array_equal(model.target(shaped), model.target(flat).reshape(2, 4, 6))
    np.testing.assert_array_equal(model.energy(shaped), model.energy(flat))


@pytest.mark.parametrize(("arguments", "complaint"), [
    ({"shape": (1, 4)}, "at least 2"),
    ({"shape": (2, 2, 2, 2)}, "one to three"),
    ({"shape": (4, 2.5)}, "whole numbers"),
    ({"sigma": 0.0}, "sigma must be positive, got 0.0.*allow_nonextensive=True"),
    ({"sigma": float("nan")}, "sigma must be positive"),
    ({"lattice": "honeycomb"}, "'honeycomb'"),
    ({"lattice": "triangular", "shape": (4, 6)}, "equal ones"),
    ({"occupied": np.ones((3, 3), bool)}, r"mask of shape \(4, 4\)"),
    ({"occupied": np.ones((4, 4))}, "float64"),
    ({"couplings": np.ones((16, 16))}, "zero diagonal"),
    ({"couplings": np.triu(np.ones((16, 16)), 1)}, "symmetric"),
    ({"couplings": np.zeros((4, 4))}, r"shape \(16, 16\), got \(4, 4\)"),
])  # fmt: skip
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_is_no_model_is_refused(arguments, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        PowerLawIsing(**{"shape": (4, 4), "sigma": 0.6} | arguments)


def test_energies_that_grow_with_the_size_must_be_asked_for():
    assert PowerLawIsing((4, 4), -1.0, allow_nonextensive=True).sigma == -1.0


@pytest.mark.parametrize(("spins", "complaint"), [
    (np.zeros(16), r"found values \[0.0\]; map spins of 0 and 1 by 2\*s - 1"),
    (np.full(16, np.nan), "found values"),
    (np.ones(15), r"16 sites along the last axis, got shape \(15,\)"),
])  # fmt: skip
def test_what_are_no_spins_is_refused(spins, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        PowerLawIsing((4, 4), 0.6).energy(spins)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("convert", [np.ndarray.tolist, torch.tensor])
def test_lists_and_tensors_are_spins_too(convert):
    model = PowerLawIsing((3, 4), 0.6)
    spins = random_spins(model)
    for quantity in (model.energy, model.local_field, model.target, model.flip_cost):
        np.testing.assert_array_equal(quantity(convert(spins)), quantity(spins))


@pytest.mark.usefixtures("unchecked_shapes")
def test_other_misuse_is_refused():
    glass = PowerLawIsing((2, 2), 0.6, couplings=np.zeros((4, 4)))
    with pytest.raises(InvalidInput, match="use 'direct'"):
        glass.local_field(np.ones(4), "fft")
    with pytest.raises(InvalidInput, match="'fft' or 'direct', got 'FFT'"):
        PowerLawIsing((2, 2), 0.6).local_field(np.ones(4), "FFT")
    with pytest.raises(InvalidInput, match=r"shape such as \(16, 16\), got 16"):
        PowerLawIsing(16, 0.6)
    with pytest.raises(InvalidInput, match="do not depend on the displacement"):
        _ = glass.kernel
    with pytest.raises(InvalidInput, match="lrim, delta_e, field, got 'energy'"):
        glass.target(np.ones(4), "energy")
    with pytest.raises(InvalidInput, match="coincide"):
        PowerLawIsing.from_positions(np.zeros((3, 2)), 0.6, radius=1)
    with pytest.raises(InvalidInput, match="positive radius"):
        PowerLawIsing.from_positions(np.eye(2), 0.6, radius=0)
    with pytest.raises(InvalidInput, match="too many for a matrix"):
        PowerLawIsing((256, 256), 0.6).couplings()
