"""The range of a model equals what its derivatives, written out, say."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.model_range import range_measure


def hops_by_networkx(edges, n):
    lengths = dict(nx.all_pairs_shortest_path_length(nx.Graph(edges.T.tolist())))
    return np.array([[lengths[u][v] for v in range(n)] for u in range(n)])


def torus_with_spins(side):
    edges = PowerLawIsing((side, side), 0.6).edge_index
    spins = np.random.default_rng(side).choice([-1.0, 1.0], (side * side, 1))
    return Data(x=torch.tensor(spins), edge_index=torch.tensor(edges))


@pytest.mark.parametrize("sigma", [0.6, 1.5])
def test_range_of_the_task_is_the_closed_form(sigma):
    data = torus_with_spins(8)
    J = torch.tensor(PowerLawIsing((8, 8), sigma).couplings())
    distances = hops_by_networkx(data.edge_index.numpy(), 64)
    measured = range_measure(lambda graph: -graph.x * (J @ graph.x), data)
    np.testing.assert_allclose(measured.absolute, (J.numpy() * distances).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(
        measured.normalized, (J.numpy() * distances).sum(axis=1) / J.numpy().sum(axis=1), rtol=1e-12
    )
    fields = (J @ data.x).numpy().ravel()
    np.testing.assert_allclose(measured.influence[:, 0], np.abs(fields), rtol=1e-12)


def test_derivatives_agree_with_finite_differences():
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3]])
    data = Data(x=torch.randn(5, 2, dtype=torch.float64), edge_index=edges)
    first, second = GCNConv(2, 4).double(), GCNConv(4, 3).double()

    def model(graph):
        return second(torch.tanh(first(graph.x, graph.edge_index)), graph.edge_index)

    slopes = np.zeros((5, 5))
    for v in range(5):
        for feature in range(2):
            up, down = data.clone(), data.clone()
            up.x[v, feature] += 1e-6
            down.x[v, feature] -= 1e-6
            slopes[:, v] += ((model(up) - model(down)).detach() / 2e-6).abs().sum(dim=1).numpy()
    distances = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    np.testing.assert_allclose(range_measure(model, data).absolute, (slopes * distances).sum(axis=1), rtol=1e-6)


def test_message_passing_reaches_as_many_hops_as_it_has_layers():
    torch.manual_seed(1)
    data = torus_with_spins(9)
    layers = [GCNConv(1 if i == 0 else 4, 4).double() for i in range(3)]

    def model(graph):
        state = graph.x
        for layer in layers:
            state = torch.tanh(layer(state, graph.edge_index))
        return state

    influence = range_measure(model, data, nodes=[0, 40]).influence
    assert (influence[:, 1:4] > 0).all()
    assert (influence[:, 4:] == 0).all()


def test_a_model_of_single_nodes_has_no_range():
    measured = range_measure(lambda graph: graph.x**2, torus_with_spins(5), nodes=[3])
    assert measured.absolute.tolist() == measured.normalized.tolist() == [0.0]


def test_a_module_is_measured_in_evaluation_mode_and_left_as_it_was():
    class Dropping(torch.nn.Module):
        def forward(self, graph):
            return torch.nn.functional.dropout(graph.x, 0.5, self.training) * 3

    module = Dropping()
    assert range_measure(module, torus_with_spins(5)).influence[:, 0].tolist() == [3.0] * 25
    assert module.training


def test_distances_follow_the_edges_as_messages_do():
    chain = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]]))
    measured = range_measure(lambda graph: graph.x.cumsum(0), chain)
    assert measured.influence.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_pieces_that_do_not_hear_each_other_can_be_measured_others_not():
    pairs = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]))
    near = torch.block_diag(torch.ones(2, 2), torch.ones(2, 2))
    assert range_measure(lambda graph: near @ graph.x, pairs).absolute.tolist() == [1, 1, 1, 1]
    with pytest.raises(InvalidInput, match="in one piece"):
        range_measure(lambda graph: graph.x + graph.x.sum(), pairs)


def test_batch_norm_mixes_no_nodes_and_stays_as_it_was():
    data = torus_with_spins(5)
    norm = torch.nn.BatchNorm1d(1).double()
    model = torch.nn.Sequential(norm, torch.nn.Dropout(0.5).eval())
    model.forward = lambda graph: model[1](norm(graph.x))
    assert range_measure(model, data).absolute.max() == 0
    assert (norm.training, model[1].training) == (True, False)
    assert norm.num_batches_tracked == 0


@pytest.mark.usefixtures("unchecked_shapes")
def test_bad_input_is_refused():
    data = torus_with_spins(5)
    with pytest.raises(InvalidInput, match="one graph"):
        range_measure(lambda graph: graph.x, Batch.from_data_list([data, data]))
    with pytest.raises(InvalidInput, match="float type"):
        range_measure(lambda graph: graph.x, Data(x=data.x.long(), edge_index=data.edge_index))
    with pytest.raises(InvalidInput, match="from 0 to 24"):
        range_measure(lambda graph: graph.x, data, nodes=[25])
    with pytest.raises(InvalidInput, match="predictions of 25 rows"):
        range_measure(lambda graph: graph.x.sum()[None], data)
    with pytest.raises(InvalidInput, match=r"differentiable in data.x"):
        range_measure(lambda graph: torch.ones(25, 1), data)
    with pytest.raises(InvalidInput, match=r"25 rows.*got shape \(\)"):
        range_measure(lambda graph: graph.x.sum(), data)
    with pytest.raises(InvalidInput, match="a tensor of predictions, got tuple"):
        range_measure(lambda graph: (graph.x, graph.x), data)
    for nodes in (torch.ones(25, dtype=torch.bool), [0.7]):
        with pytest.raises(InvalidInput, match="numbers of nodes"):
            range_measure(lambda graph: graph.x, data, nodes=nodes)
