"""Fast sums equal direct sums: exactly by Fourier transform, to their stated accuracy by levels."""

import numpy as np
import pytest
import torch

from firstlight.graphs.ising.multilevel import multilevel_sum
from firstlight.graphs.ising.power_mixture import TAYLOR_DEGREE, PowerMixture
from firstlight.graphs.ising.spectral import convolve, torus_distances


def mixture(weights, exponents):
    kernel = PowerMixture(len(weights), len(exponents)).double()
    with torch.no_grad():
        kernel.weights.copy_(torch.tensor(weights, dtype=torch.float64))
        kernel.raw_exponents.copy_(torch.tensor(np.log(np.expm1(exponents))))
    return kernel.requires_grad_(False)


def direct_sums(sources, kernel_of):
    """Σ_j φ(r_ij) q_j with distances to the nearest image, written out."""
    rows, columns = sources.shape
    cells = np.argwhere(np.ones((rows, columns)))
    steps = np.abs(cells[:, None] - cells[None])
    steps = np.minimum(steps, np.array([rows, columns]) - steps)
    lengths = np.hypot(*np.moveaxis(steps, 2, 0))
    with np.errstate(divide="ignore", invalid="ignore"):  # at distance 0
        return (np.where(lengths > 0, kernel_of(lengths), 0) @ sources.ravel()).reshape(rows, columns)


@pytest.mark.parametrize("shape", [(7, 7), (6, 10), (16, 16)])
def test_fourier_sums_are_direct_sums(shape):
    sources = np.random.default_rng(0).normal(size=(2, 2, *shape))
    kernel = mixture([[1.0, 0.0], [0.3, -2.0]], [2.6, 1.2])
    q = torch.tensor(sources)
    found = convolve(q, kernel.at(torus_distances(shape, q))).numpy()
    for graph in range(2):
        for channel, of in enumerate((lambda r: r**-2.6, lambda r: 0.3 * r**-2.6 - 2 * r**-1.2)):
            expected = direct_sums(sources[graph, channel], of)
            np.testing.assert_allclose(found[graph, channel], expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shape", [(32, 32), (64, 32), (40, 72)])
@pytest.mark.parametrize("exponent", [2.1, 2.6, 3.5])
def test_multilevel_sums_are_direct_sums_to_a_thousandth(shape, exponent):
    sources = np.random.default_rng(1).choice([-1.0, 1.0], shape)
    expected = direct_sums(sources, lambda r: r**-exponent)
    found = multilevel_sum(torch.tensor(sources)[None, None], mixture([[1.0]], [exponent]))[0, 0].numpy()
    assert 1e-9 < np.sqrt(np.mean((found - expected) ** 2) / np.mean(expected**2)) < 1e-3


def test_multilevel_sums_of_constants_grow_as_they_must():
    """All sources equal is where errors of one sign would add up."""
    q = torch.ones(1, 1, 128, 128, dtype=torch.float64)
    kernel = mixture([[1.0]], [2.6])
    exact = convolve(q, kernel.at(torus_distances((128, 128), q)))
    torch.testing.assert_close(multilevel_sum(q, kernel), exact, rtol=2e-3, atol=0.0)


def test_lattices_that_cannot_be_halved_are_summed_exactly():
    q = torch.tensor(np.random.default_rng(2).normal(size=(1, 1, 33, 37)))
    kernel = mixture([[1.0]], [2.6])
    assert multilevel_sum(q, kernel).equal(convolve(q, kernel.at(torus_distances((33, 37), q))))


def test_channels_and_graphs_do_not_mix():
    q = torch.tensor(np.random.default_rng(3).normal(size=(2, 2, 32, 32)))
    both = multilevel_sum(q, mixture([[1.0, 0.0], [0.5, 0.5]], [2.6, 1.9]))
    alone = multilevel_sum(q[1:, 1:], mixture([[0.5, 0.5]], [2.6, 1.9]))
    torch.testing.assert_close(both[1:, 1:], alone)


@pytest.mark.parametrize("exponent", [1.2, 2.6])
def test_softened_power_joins_the_power_smoothly(exponent):
    """Just inside the radius it leaves the power as slowly as one derivative more than it matches allows."""
    kernel = mixture([[1.0]], [exponent])
    gaps = []
    for inside in (0.2, 0.1, 0.05):
        r = torch.tensor([8 * (1 - inside), 8.0, 20.0], dtype=torch.float64)
        softened = kernel.softened(r, 8)[0]
        torch.testing.assert_close(softened[1:], r[1:] ** -exponent)
        gaps.append(float((softened[0] - r[0] ** -exponent).abs()))
    assert gaps[1] / gaps[2] == pytest.approx(2 ** (TAYLOR_DEGREE + 1), rel=0.3)
    centre = kernel.softened(torch.tensor([0.0], dtype=torch.float64), 8)
    assert torch.isfinite(centre).all()


def test_nothing_acts_on_itself():
    kernel = mixture([[1.0]], [2.6]).requires_grad_(True)
    value = kernel.at(torch.tensor([0.0, 1.0], dtype=torch.float64))
    assert value[0].tolist() == [0.0, 1.0]
    value.sum().backward()
    assert all(torch.isfinite(weights.grad).all() for weights in kernel.parameters())
