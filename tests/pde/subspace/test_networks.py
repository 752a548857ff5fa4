import math

import numpy as np
import pytest
import torch

from firstlight.pde.subspace.networks import CoefficientMLP, FactorisedFourier, UNet, coordinates, half_waves

GRIDS = [(24,), (9, 12), (8, 9, 10)]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("kind", [FactorisedFourier, UNet])
def test_a_column_has_a_row_for_every_grid_point(kind, grid):
    network = kind(2, grid, 30, width=8, layers=2)
    out = network(torch.randn(3, 2, *grid))
    assert out.shape == (3, math.prod(grid), 30)


@pytest.mark.parametrize("kind", [FactorisedFourier, UNet])
def test_columns_are_not_held_to_the_width(kind):
    torch.manual_seed(0)
    out = kind(1, (16, 16), 30, width=8, layers=2).double()(torch.randn(1, 1, 16, 16).double())
    assert torch.linalg.matrix_rank(out[0], rtol=1e-10) == 30


@pytest.mark.parametrize("kind", [FactorisedFourier, UNet])
def test_samples_of_a_batch_do_not_see_each_other(kind):
    network, fields = kind(1, (16, 16), 4, width=8, layers=2), torch.randn(4, 1, 16, 16)
    torch.testing.assert_close(network(fields)[2:3], network(fields[2:3]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [FactorisedFourier, UNet])
def test_a_point_hears_of_the_farthest_one(kind):
    torch.manual_seed(1)
    fields = torch.randn(1, 1, 16, 16, requires_grad=True)
    corner = kind(1, (16, 16), 3, width=8, layers=4)(fields)[0, 0].sum()
    assert torch.autograd.grad(corner, fields)[0][0, 0, -1, -1].abs() > 0


def test_axes_of_the_fourier_network_are_mixed_each_by_its_own_weights():
    """Against the sum over axes written out, for one block without its pointwise maps."""
    torch.manual_seed(0)
    block = FactorisedFourier(1, (6, 7), 2, width=3, layers=1, modes=4).blocks[0]
    u = torch.randn(2, 6, 7, 3)
    for axis, size in enumerate((6, 7)):
        waves, weight = half_waves(size, 4), block.mixing[axis]
        lines = u.movedim(axis + 1, 1)
        spectrum = torch.einsum("nsm,bnrc->bmrsc", waves, lines).flatten(-2)
        mixed = torch.einsum("bmri,mij->bmrj", spectrum, weight).unflatten(-1, (2, 3))
        expected = torch.einsum("nsm,bmrsc->bnrc", waves, mixed).movedim(1, axis + 1)
        torch.testing.assert_close(block._along(u, axis, weight), expected)


def test_half_waves_begin_with_the_constant_and_the_lowest_sine():
    waves = half_waves(9, 3).double().numpy() * 3
    x = np.arange(1, 10) / 10
    np.testing.assert_allclose(waves[:, 0], np.cos(np.pi * np.outer(x, [0, 1, 2])), atol=1e-6)
    np.testing.assert_allclose(waves[:, 1], np.sin(np.pi * np.outer(x, [1, 2, 3])), atol=1e-6)


def test_coordinates_are_those_of_inner_points():
    x, y = coordinates((3, 4))
    np.testing.assert_allclose(x[:, 0], [-0.5, 0, 0.5])
    np.testing.assert_allclose(y[0], [-0.6, -0.2, 0.2, 0.6], atol=1e-7)


def test_coefficients_start_at_the_leading_columns():
    torch.manual_seed(0)
    out = CoefficientMLP(5, 20, 4)(torch.randn(3, 5))
    torch.testing.assert_close(out, torch.eye(20, 4).expand(3, -1, -1), atol=0.05, rtol=0)
