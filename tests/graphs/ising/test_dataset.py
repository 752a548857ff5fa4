"""The data set behaves as PyTorch Geometric's own do, and hands out what the model says."""

import numpy as np
import pytest
import torch
from torch_geometric.data import InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import contains_self_loops, degree, is_undirected

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.data import generate
from firstlight.graphs.ising.dataset import LRIM

NAME = "lrim_16_0.6_40"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    generate(NAME, folder)
    return folder


@pytest.fixture
def whole(root):
    return LRIM(root, NAME, split=None)


def test_labels_are_site_energies_by_direct_sums(whole):
    model = PowerLawIsing((16, 16), 0.6)
    for graph in (whole[0], whole[39]):
        spins = graph.x.numpy().ravel()
        energies = -spins * (model.couplings() @ spins)
        np.testing.assert_allclose(graph.y.numpy().ravel(), energies, rtol=1e-6)


def test_targets_differ_by_their_factor(root, whole):
    costs = LRIM(root, NAME, split=None, target="delta_e")
    fields = LRIM(root, NAME, split=None, target="field")
    torch.testing.assert_close(costs[3].y, -2 * whole[3].y)
    torch.testing.assert_close(fields[3].y, -whole[3].x * whole[3].y)


def test_labels_keep_double_precision_if_torch_does(whole):
    torch.set_default_dtype(torch.float64)
    try:
        graph = whole[0]
    finally:
        torch.set_default_dtype(torch.float32)
    expected = PowerLawIsing((16, 16), 0.6).target(graph.x.numpy().ravel())
    np.testing.assert_array_equal(graph.y.numpy().ravel(), expected)


def test_graph_is_the_torus_with_four_neighbours(whole):
    graph = whole[0]
    assert graph.edge_index.shape == (2, 4 * 256)
    assert is_undirected(graph.edge_index)
    assert not contains_self_loops(graph.edge_index)
    assert (degree(graph.edge_index[0]) == 4).all()
    assert len(graph.edge_index.unique(dim=1).T) == 4 * 256


def test_a_split_is_the_part_of_the_whole_that_its_index_says(root, whole):
    split = whole.get_idx_split()
    assert torch.cat(list(split.values())).equal(torch.arange(40))
    for name, part in split.items():
        dataset = LRIM(root, NAME, split=name)
        assert len(dataset) == len(part)
        for i, number in enumerate(part.tolist()):
            assert dataset[i].graph_id == number
            assert dataset[i].x.equal(whole[number].x)


def test_a_graph_can_be_drawn_again_alone(whole):
    graph = whole[17]
    assert (graph.seed, graph.chain, graph.draw) == (0, 0, 17)
    np.testing.assert_array_equal(whole.samples.regenerate(graph.graph_id), graph.x.numpy().ravel())


def test_changing_a_graph_changes_no_other(whole):
    first = whole[0]
    first.edge_index[0, 0] = 99
    first.x.zero_()
    first.y.zero_()
    assert whole[1].edge_index[0, 0] == whole[0].edge_index[0, 0] == 0
    assert (whole[0].x.abs() == 1).all()
    assert whole[0].y.abs().max() > 0


def test_a_transform_in_place_is_applied_once(root):
    class Shift(BaseTransform):
        def forward(self, data):
            data.edge_index += 1000
            return data

    dataset = LRIM(root, NAME, transform=Shift())
    assert dataset[0].edge_index.min() == dataset[0].edge_index.min() == dataset[1].edge_index.min() == 1000


def test_subsets_shuffles_and_copies_are_data_sets(whole):
    assert isinstance(whole, InMemoryDataset)
    assert (len(whole), len(whole[:10]), len(whole[torch.tensor([3, 5])]), len(whole[::2])) == (40, 10, 2, 20)
    assert whole[torch.tensor([3, 5])][1].x.equal(whole[5].x)
    mask = torch.zeros(40, dtype=torch.bool)
    mask[7] = True
    assert whole[mask][0].graph_id == 7
    shuffled, order = whole.shuffle(return_perm=True)
    assert [graph.graph_id for graph in shuffled] == order.tolist()
    assert whole.copy()[4].x.equal(whole[4].x)
    assert whole.copy([4])[0].x.equal(whole[4].x)
    assert (whole.num_node_features, whole.num_classes) == (1, 1)
    assert whole[:2].y.equal(torch.cat([whole[0].y, whole[1].y]))


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_count_nodes_on(whole, workers):
    batch = next(iter(DataLoader(whole, batch_size=4, num_workers=workers)))
    assert batch.num_graphs == 4
    for number in range(4):
        assert (batch.edge_index[:, number * 1024 : (number + 1) * 1024] - number * 256).equal(whole[number].edge_index)
        assert batch.y[batch.batch == number].equal(whole[number].y)
    assert batch.graph_id.tolist() == [0, 1, 2, 3]


def test_a_pre_transform_is_called_once_and_kept(root):
    calls = []

    class AddDegree(BaseTransform):
        def forward(self, data):
            calls.append(data.graph_id)
            data.deg = degree(data.edge_index[0])
            return data

        def __repr__(self):
            return "AddDegree()"

    first = LRIM(root, NAME, pre_transform=AddDegree())
    again = LRIM(root, NAME, split="test", pre_transform=AddDegree())
    assert calls == list(range(40))
    assert (first[0].deg == 4).all()
    assert again[0].graph_id == 36
    first[0].deg.zero_()
    assert (first[0].deg == 4).all()
    assert first[0].edge_index.equal(LRIM(root, NAME)[0].edge_index)


def test_memory_is_that_of_bits(whole):
    assert whole.samples.packed.nbytes == 40 * 256 // 8
    assert whole._data is None


def test_wrong_arguments_are_refused(root):
    with pytest.raises(InvalidInput, match=r"lrim_16_0\.6_10k"):
        LRIM(root, "lrim_17_0.6_10k")
    with pytest.raises(InvalidInput, match="'train', 'val' or 'test'"):
        LRIM(root, NAME, split="valid")
    with pytest.raises(InvalidInput, match="expected a target of lrim, delta_e, field"):
        LRIM(root, NAME, target="energy")
    with pytest.raises(InvalidInput, match="drawn with seed 0, not 5"):
        LRIM(root, NAME, seed=5)


def test_a_file_under_a_wrong_name_is_refused(root, tmp_path):
    (tmp_path / "lrim_16_1.5_40.npz").write_bytes((root / f"{NAME}.npz").read_bytes())
    with pytest.raises(InvalidInput, match=r"40 configurations of PowerLawIsing\(\(16, 16\), 0\.6\)"):
        LRIM(tmp_path, "lrim_16_1.5_40")


def test_a_damaged_file_is_named_with_the_remedy(root, tmp_path):
    healthy = (root / f"{NAME}.npz").read_bytes()
    (tmp_path / f"{NAME}.npz").write_bytes(healthy[: len(healthy) // 2])
    with pytest.raises(InvalidInput, match=rf"{NAME}\.npz.*generate it again"):
        LRIM(tmp_path, NAME)
