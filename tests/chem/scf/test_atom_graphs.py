import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pyscf import gto

from firstlight.chem.scf.atom_graphs import HIGHEST_L, atom_graph, joined, radial_functions
from firstlight.chem.scf.auxiliary_basis import e3nn_order


def cloud(atoms, seed=0, size=6.0):
    rng = np.random.default_rng(seed)
    return np.zeros(atoms, dtype=np.int64), rng.uniform(0, size, (atoms, 3))


@given(atoms=st.integers(1, 12), seed=st.integers(0, 1000), cutoff=st.sampled_from([2.0, 4.0]))
def test_neighbours_are_the_atoms_within_the_cutoff(atoms, seed, cutoff):
    species, positions = cloud(atoms, seed)
    graph = atom_graph(species, positions, cutoff, 4)
    distances = np.linalg.norm(positions[:, None] - positions, axis=-1)
    for a in range(atoms):
        expected = sorted(b for b in range(atoms) if b != a and distances[a, b] < cutoff)
        present = graph.radial[a].abs().sum(dim=1) > 0
        assert sorted(graph.neighbours[a][present].tolist()) == expected


def test_radial_functions_end_smoothly_at_the_cutoff():
    r = torch.tensor([5.0, 5.5, 9.0], dtype=torch.float64, requires_grad=True)
    values = radial_functions(r, 5.0, 6)
    (slope,) = torch.autograd.grad(values.sum(), r, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), r)
    assert values.abs().max() < 1e-14
    assert slope.abs().max() < 1e-13
    assert bend.abs().max() < 1e-12


@pytest.mark.parametrize("l", range(HIGHEST_L + 1))
def test_harmonics_have_the_axes_and_the_order_of_pyscf(l):  # noqa: E741
    """Against the angular part of PySCF's own basis functions, whatever the normalisation."""
    directions = np.random.default_rng(l).standard_normal((20, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    shell = gto.M(atom="H 0 0 0", basis={"H": [[l, [1.0, 1.0]]]}, spin=1, verbose=0)
    theirs = shell.eval_gto("GTOval_sph", directions)
    theirs = theirs[:, [1, 2, 0]] if l == 1 else theirs
    for direction, expected in zip(directions, theirs, strict=True):
        pair = np.array([[0.0, 0.0, 0.0], 1.3 * direction])
        ours = atom_graph(np.zeros(2, dtype=np.int64), pair, 5.0, 1).harmonics[0, l * l : (l + 1) ** 2, 0].numpy()
        np.testing.assert_allclose(ours / np.sqrt(2 * l + 1), expected / np.linalg.norm(expected), atol=1e-12)
    assert e3nn_order("C", "def2-universal-jfit")[6:9].tolist() == [7, 8, 6]  # the same permutation for p


def test_joining_changes_no_molecule():
    graphs = [atom_graph(*cloud(atoms, seed=atoms, size=3.0), 4.0, 5) for atoms in (1, 7, 3)]
    together = joined(graphs)
    start = 0
    for graph in graphs:
        near = graph.neighbours.shape[1]
        rows = slice(start, start + graph.atoms)
        torch.testing.assert_close(together.radial[rows, :near], graph.radial)
        torch.testing.assert_close(together.harmonics[rows, :, :near], graph.harmonics)
        present = graph.radial.abs().sum(dim=-1) > 0
        assert torch.equal(together.neighbours[rows, :near][present], graph.neighbours[present] + start)
        assert not together.radial[rows, near:].any()
        start += graph.atoms
    assert together.atoms == start
