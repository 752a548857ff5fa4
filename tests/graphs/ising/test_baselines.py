"""The baselines are graph networks that see what they say they see."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.baselines import ARCHITECTURES, GraphBaseline
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.model_range import range_measure


def torus(seed, side=8):
    spins = np.random.default_rng(seed).choice([-1.0, 1.0], (side * side, 1))
    edges = PowerLawIsing((side, side), 0.6).edge_index
    return Data(x=torch.tensor(spins, dtype=torch.float32), edge_index=torch.tensor(edges))


def build(architecture, depth=2):
    torch.manual_seed(0)
    model = GraphBaseline(architecture, width=8, depth=depth)
    for _ in range(3):  # some statistics for the norms
        model(Batch.from_data_list([torus(seed) for seed in range(4)]))
    return model.eval()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_receptive_radius_is_where_derivatives_end(architecture):
    model = build(architecture)
    influence = range_measure(model, torus(0), nodes=[0, 27]).influence
    seen = model.receptive_radius if model.receptive_radius is not None else influence.shape[1] - 1
    assert (influence[:, : seen + 1] > 0).all()
    assert (influence[:, seen + 1 :] == 0).all()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_numbering_of_the_nodes_does_not_matter(architecture):
    model, graph = build(architecture), torus(1)
    order = torch.tensor(np.random.default_rng(0).permutation(64))
    renumbered = Data(x=graph.x[order], edge_index=order.argsort()[graph.edge_index])
    torch.testing.assert_close(model(renumbered), model(graph)[order], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_graphs_of_a_batch_do_not_hear_each_other(architecture):
    model, graphs = build(architecture), [torus(1), torus(2, side=6)]
    together = model(Batch.from_data_list(graphs))
    torch.testing.assert_close(together, torch.cat([model(graph) for graph in graphs]), rtol=1e-4, atol=1e-5)


def test_weights_come_back_as_they_were_saved(tmp_path):
    model = build("gatedgcn-vn")
    model.save_pretrained(tmp_path / "model")
    again = GraphBaseline.from_pretrained(tmp_path / "model")
    assert again.receptive_radius is None
    assert again(torus(3)).equal(model(torus(3)))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"architecture": "gcn"}, "expected an architecture of mlp, gin"),
        ({"depth": 0}, "at least one layer"),
        ({"architecture": "gps", "width": 6}, "a multiple of 4"),
    ],
)
def test_impossible_networks_are_refused(arguments, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        GraphBaseline(**arguments)
