"""The authors' files are read without unpickling code, and only if their labels are what they should be."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.dataset import LRIM

NAME = "lrim_16_0.6_10"
MODEL = PowerLawIsing((16, 16), 0.6)


@pytest.fixture
def graphs():
    """Ten graphs as the authors store them, with edges in an order of their own."""
    rng = np.random.default_rng(0)
    edges = torch.tensor(MODEL.edge_index)[:, torch.tensor(rng.permutation(1024))]
    spins = rng.choice([-1.0, 1.0], (10, 256))
    labels = -spins * (spins @ MODEL.couplings())
    return [
        Data(x=torch.tensor(s, dtype=torch.float32)[:, None], y=torch.tensor(y)[:, None], edge_index=edges.clone())
        for s, y in zip(spins, labels, strict=True)
    ]


def save_list(graphs, path):
    torch.save(graphs, path)


def save_collated(graphs, path):
    InMemoryDataset.save(graphs, str(path))


def save_old_pair(graphs, path):
    torch.save(InMemoryDataset.collate(graphs), path)


@pytest.mark.parametrize("save", [save_list, save_collated, save_old_pair])
def test_every_layout_gives_the_same_graphs(graphs, tmp_path, save):
    save(graphs, tmp_path / f"{NAME}.pt")
    dataset = LRIM(tmp_path, NAME, split=None)
    assert len(dataset) == 10
    with pytest.raises(InvalidInput, match="does not say how"):
        _ = dataset.samples
    for ours, theirs in zip(dataset, graphs, strict=True):
        assert ours.x.equal(theirs.x)
        assert ours.edge_index.equal(theirs.edge_index)
        torch.testing.assert_close(ours.y.double(), theirs.y, rtol=1e-6, atol=1e-6)


def test_labels_with_another_factor_are_refused(graphs, tmp_path):
    graphs[3].y *= -2
    save_list(graphs, tmp_path / f"{NAME}.pt")
    with pytest.raises(InvalidInput, match=r"labels of graph 3 are not y_i = -s_i"):
        LRIM(tmp_path, NAME)


def test_another_lattice_is_refused(graphs, tmp_path):
    graphs[0].edge_index[0, 0] = 77
    save_list(graphs[:1], tmp_path / f"{NAME}.pt")
    with pytest.raises(InvalidInput, match="edges are not those of the"):
        LRIM(tmp_path, NAME)


class Opened:
    """Would run code when unpickled."""

    def __reduce__(self):
        return (print, ("code of a stranger",))


def test_code_in_a_file_is_not_run(tmp_path, capsys):
    torch.save([Opened()], tmp_path / f"{NAME}.pt")
    with pytest.raises(InvalidInput, match=f"{NAME}.pt is no readable file"):
        LRIM(tmp_path, NAME)
    assert "stranger" not in capsys.readouterr().out
