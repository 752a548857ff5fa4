"""The model of linear cost is a graph network: the numbering of the nodes does not matter, nor must it be a torus."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.lattice_graphs import lattice_data
from firstlight.graphs.ising.model_range import range_measure
from firstlight.graphs.ising.radial_field import RadialFieldModel


def exact_model(sigma, summation):
    """The weights that are the labels' formula: one power, sources s, gates -s."""
    model = RadialFieldModel(channels=1, powers=1, summation=summation).double()
    with torch.no_grad():
        for layer, value in ((model.sources, 1.0), (model.gates, -1.0), (model.readout, 1.0)):
            layer.weight.fill_(value)
        model.readout.bias.zero_()
        model.kernel.weights.fill_(1.0)
        model.kernel.raw_exponents.fill_(float(np.log(np.expm1(2 + sigma))))
    return model.eval()


def graph_of(model, seed=0):
    data = lattice_data(model, np.random.default_rng(seed).choice([-1, 1], model.n_sites))
    data.x = data.x.double()
    return data


def without_positions(data):
    for key in ("pos", "sides", "periodic"):
        del data[key]
    return data


def diluted():
    return np.random.default_rng(0).random((40, 24)) < 0.7


@pytest.mark.parametrize(
    "ising",
    [
        PowerLawIsing((16, 16), 0.6),
        PowerLawIsing((20, 12), 1.5),
        PowerLawIsing((17, 9), 0.6, boundary="open"),
        PowerLawIsing((40, 24), 0.6, occupied=diluted()),
        PowerLawIsing((40, 24), 1.5, occupied=diluted(), boundary="open"),
    ],
    ids=repr,
)
def test_labels_are_within_reach_on_every_square_lattice(ising):
    data = graph_of(ising)
    expected = torch.tensor(ising.target(data.x.numpy().ravel()))[:, None]
    torch.testing.assert_close(exact_model(ising.sigma, "fft")(data), expected, rtol=1e-9, atol=1e-9)
    error = exact_model(ising.sigma, "multilevel")(data) - expected
    assert error.square().mean() < 1e-5 * expected.square().mean()


@torch.no_grad()
def test_positions_are_not_needed_on_a_torus_and_numbering_does_not_matter():
    data = graph_of(PowerLawIsing((32, 32), 0.6))
    torch.manual_seed(0)
    model = RadialFieldModel(summation="fft").double()
    expected = model(data)
    order = torch.tensor(np.random.default_rng(1).permutation(1024))
    bare = without_positions(data.clone())
    bare.x, bare.edge_index = bare.x[order], order.argsort()[bare.edge_index]
    torch.testing.assert_close(model(bare), expected[order])
    # Another numbering may lay the coarse levels elsewhere, within the accuracy of the multilevel sum.
    model.summation = "multilevel"
    assert (model(bare) - expected[order]).square().mean() < 1e-5 * expected.square().mean()


@torch.no_grad()
def test_batches_of_equal_and_of_different_graphs():
    torch.manual_seed(0)
    model = RadialFieldModel().double()
    small, large, other = (
        PowerLawIsing((8, 8), 0.6),
        PowerLawIsing((6, 12), 0.6),
        PowerLawIsing((8, 8), 0.6, boundary="open"),
    )
    for lattices in ((small, small), (small, large), (small, other)):
        graphs = [graph_of(lattice, seed) for seed, lattice in enumerate(lattices)]
        expected = torch.cat([model(graph) for graph in graphs])
        torch.testing.assert_close(model(Batch.from_data_list(graphs)), expected)
    bare = [without_positions(graph_of(lattice, seed)) for seed, lattice in enumerate((small, small, large))]
    expected = torch.cat([model(graph) for graph in bare])
    torch.testing.assert_close(model(Batch.from_data_list(bare)), expected)
    torch.testing.assert_close(model(Batch.from_data_list(bare[:2])), expected[:128])


def test_range_is_that_of_the_task():
    ising = PowerLawIsing((16, 16), 0.6)
    data = graph_of(ising)
    expected = ising.coupling_row(0) @ ising.hop_distances(0) / ising.coupling_row(0).sum()
    measured = range_measure(exact_model(0.6, "multilevel"), data, nodes=[0, 100])
    np.testing.assert_allclose(measured.normalized, expected, rtol=1e-6)


@pytest.mark.parametrize(("name", "sigma"), [(None, 0.6), ("easy", 1.5)])
@torch.no_grad()
def test_shipped_model_holds_on_lattices_it_never_saw(name, sigma):
    """Trained on 16 × 16 alone; random spins, at no temperature it saw either."""
    model = RadialFieldModel.from_pretrained(name)
    for side in (16, 24, 32, 64):
        ising = PowerLawIsing((side, side), sigma)
        data = without_positions(lattice_data(ising, np.random.default_rng(side).choice([-1, 1], side * side)))
        assert (model(data) - data.y).square().mean().log10() < -5


def test_graphs_without_positions_must_be_toruses():
    bare = without_positions(graph_of(PowerLawIsing((8, 8), 0.6, boundary="open")))
    with pytest.raises(InvalidInput, match="make the graph by lattice_data"):
        RadialFieldModel().double()(bare)


def test_impossible_models_are_refused():
    with pytest.raises(InvalidInput, match="at least one channel"):
        RadialFieldModel(channels=0)


def test_other_lattices_get_graphs_too():
    rng = np.random.default_rng(0)
    for ising in (
        PowerLawIsing((6, 6), 0.6, lattice="triangular"),
        PowerLawIsing((3, 4, 5), 0.6),
        PowerLawIsing((9,), 0.6),
        PowerLawIsing.from_positions(rng.random((20, 2)), 0.6, radius=0.4),
    ):
        data = graph_of(ising)
        spins = data.x.numpy().ravel()
        np.testing.assert_allclose(data.y.numpy().ravel(), -spins * (ising.couplings() @ spins), rtol=1e-5)
        assert data.edge_index.numpy().tolist() == ising.edge_index.tolist()
        assert "pos" not in data
