import numpy as np
import pytest
import torch
from e3nn import o3
from scipy.spatial.transform import Rotation

from firstlight.chem.scf.atom_graphs import COMPONENTS, HIGHEST_L, atom_graph
from firstlight.chem.scf.equivariant_network import (
    DensityNetwork,
    EquivariantLinear,
    SphereProduct,
    sphere_quadrature,
)

SHELLS = ("3x0e+1x1o+1x2e", "2x0e+4x1o+3x2e+1x3o+1x4e")


def network(layers=2, seed=0):
    torch.manual_seed(seed)
    return DensityNetwork(SHELLS, channels=6, layers=layers, functions=5, heads=2).double()


def molecule(seed=0, atoms=6):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, atoms), rng.uniform(-1.5, 1.5, (atoms, 3))


def turning(shells, turn):
    """How coefficients of shells turn, from how the harmonics do: Y(R ω) = D Y(ω), in the axes of e3nn."""
    directions = np.random.default_rng(9).standard_normal((60, 3))
    blocks = []
    for count, irrep in o3.Irreps(shells):
        before, after = (
            o3.spherical_harmonics(irrep.l, torch.from_numpy(points[:, [1, 2, 0]]), normalize=True)
            for points in (directions, directions @ turn.T)
        )
        blocks += count * [torch.linalg.lstsq(before, after).solution.T]
    return torch.block_diag(*blocks)


def outputs(model, species, positions):
    with torch.no_grad():
        return model(atom_graph(species, positions, 4.0, 5))


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_outputs_turn_with_the_molecule(layers, mirrored):
    turn = Rotation.random(random_state=3).as_matrix() * (-1 if mirrored else 1)
    model, (species, positions) = network(layers), molecule()
    before, after = outputs(model, species, positions), outputs(model, species, positions @ turn.T)
    for shells, one, other in zip(SHELLS, before, after, strict=True):
        torch.testing.assert_close(one @ turning(shells, turn).T, other, atol=1e-10, rtol=1e-10)
        assert one.std() > 1e-2


def test_renumbered_atoms_get_the_same_outputs():
    model, (species, positions) = network(), molecule(1)
    order = np.random.default_rng(0).permutation(len(species))
    before, after = outputs(model, species, positions), outputs(model, species[order], positions[order])
    for number in range(2):
        places = np.flatnonzero(species == number)
        moved = [places.tolist().index(a) for a in order[species[order] == number]]
        torch.testing.assert_close(before[number][:, moved], after[number], atol=1e-12, rtol=1e-12)


def test_atoms_out_of_reach_do_not_matter():
    model, (species, positions) = network(layers=2), molecule(2)
    far = np.append(positions, [[30.0, 0.0, 0.0]], axis=0)
    before, after = outputs(model, species, positions), outputs(model, np.append(species, 1), far)
    torch.testing.assert_close(before[0], after[0], atol=1e-13, rtol=0)
    torch.testing.assert_close(before[1], after[1][:, :-1], atol=1e-13, rtol=0)


def test_second_neighbours_are_heard_in_the_second_layer():
    """Three atoms in a row, the outer ones out of each other's reach."""
    chain = np.array([[0.0, 0, 0], [3.0, 0, 0], [6.0, 0, 0]])
    for layers, heard in ((1, False), (2, True)):
        first = [outputs(network(layers), np.array([0, 1, last]), chain)[0][:, 0] for last in (0, 1)]
        assert bool((first[0] - first[1]).abs().max() > 1e-6) is heard


def test_product_is_the_product_of_functions_of_direction():
    """Two functions of l ≤ 2 have a product of l ≤ 4, which must hold at directions that no quadrature knows."""
    torch.manual_seed(0)
    product = SphereProduct(3).double()
    x = torch.zeros(COMPONENTS, 4, 3, dtype=torch.float64)
    x[:9] = torch.randn(9, 4, 3, dtype=torch.float64)
    directions = torch.nn.functional.normalize(torch.randn(50, 3, dtype=torch.float64), dim=1)
    harmonics = o3.spherical_harmonics(list(range(HIGHEST_L + 1)), directions, normalize=True, normalization="norm")

    def read(features):
        return torch.einsum("dm,mac->dac", harmonics[:, : len(features)], features)

    factors = read(product.left(x)) * read(product.right(x)) / (3 + 1)
    torch.testing.assert_close(read(product(x)), factors, atol=1e-12, rtol=1e-12)


def test_product_of_high_degrees_is_a_projection():
    """Against a quadrature of twice the degree."""
    torch.manual_seed(0)
    product = SphereProduct(2).double()
    x = torch.randn(COMPONENTS, 3, 2, dtype=torch.float64)
    directions, weights = sphere_quadrature(24)
    harmonics = o3.spherical_harmonics(list(range(HIGHEST_L + 1)), directions, normalize=True, normalization="norm")
    left, right = (torch.einsum("dm,mac->dac", harmonics[:, :16], side(x)) for side in (product.left, product.right))
    degrees = torch.repeat_interleave(2 * torch.arange(5) + 1, 2 * torch.arange(5) + 1)
    expected = torch.einsum("d,dm,dac->mac", weights, harmonics, left * right / 4) * degrees[:, None, None]
    torch.testing.assert_close(product(x), expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("degree", [2, 7, 10])
def test_quadrature_averages_polynomials_exactly(degree):
    """⟨x^a y^b z^c⟩ = (a−1)!! (b−1)!! (c−1)!! / (a+b+c+1)!! for even exponents, else 0 (Folland 2001)."""
    directions, weights = sphere_quadrature(degree)
    for a in range(degree + 1):
        for b in range(degree + 1 - a):
            for c in range(degree + 1 - a - b):
                odd = a % 2 or b % 2 or c % 2
                odd_factorials = [np.prod(np.arange(n, 0, -2.0)) for n in (a - 1, b - 1, c - 1, a + b + c + 1)]
                expected = 0.0 if odd else np.prod(odd_factorials[:3]) / odd_factorials[3]
                found = weights @ (directions ** torch.tensor([a, b, c])).prod(dim=1)
                assert abs(float(found) - expected) < 1e-14


def test_linear_mixes_channels_of_one_l_only():
    torch.manual_seed(0)
    linear = EquivariantLinear(2, 3).double()
    x = torch.zeros(COMPONENTS, 1, 2, dtype=torch.float64)
    x[6, 0, 1] = 1.0  # l = 2, m = 0
    mixed = linear(x)
    torch.testing.assert_close(mixed[6, 0], linear.matrices[2, 1])
    mixed[6] = 0
    assert not mixed.any()
