import pytest
import torch

from firstlight.errors import InvalidInput
from firstlight.pde.flow import FNO, MLP, UNO, UNet
from firstlight.pde.flow.backbones import Unknown, describe, rebuild


def seeded(make):
    torch.manual_seed(0)
    return make()


GRIDS = {
    "UNet-1": (lambda boundary: UNet(2, 1, boundary, widths=(4, 8)), (32,)),
    "UNet-2": (lambda boundary: UNet(2, 2, boundary, widths=(4, 8)), (16, 24)),
    "FNO-1": (lambda boundary: FNO(2, [6], boundary, width=8, layers=2), (32,)),
    "FNO-2": (lambda boundary: FNO(2, [4, 6], boundary, width=8, layers=2), (16, 24)),
}


@pytest.mark.parametrize("name", GRIDS)
def test_periodic_networks_commute_with_shifts(name):
    make, grid = GRIDS[name]
    network = seeded(lambda: make("periodic"))
    u = torch.randn(3, 2, *grid)
    shifted = network(u.roll(6, dims=-1)).roll(-6, dims=-1)
    torch.testing.assert_close(shifted, network(u), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in GRIDS if name.startswith("UNet")])
def test_no_flux_is_what_the_mirror_image_beyond_the_wall_gives(name):
    """A field and its even continuation on a periodic domain of twice the length are the same thing.

    It holds for networks that commute with reflections; the kernels are made even for that.
    """
    make, grid = GRIDS[name]
    walled, periodic = seeded(lambda: make("neumann")), seeded(lambda: make("periodic"))
    for network in (walled, periodic):
        for weight in network.parameters():
            if weight.ndim > 2:
                weight.data = (weight.data + weight.data.flip(-1)) / 2
    u = torch.randn(3, 2, *grid)
    if len(grid) == 2:  # continue along y alone: along x both pad differently, so leave the walls there out
        u = u.mean(2, keepdim=True).expand_as(u).contiguous()
    whole = torch.cat([u, u.flip(-1)], dim=-1)
    torch.testing.assert_close(walled(u), periodic(whole)[..., : grid[-1]], rtol=1e-4, atol=1e-5)


def test_a_mirrored_fourier_operator_keeps_constant_fields_constant():
    network = seeded(lambda: FNO(1, [6, 6], "neumann", width=8, layers=2))
    u = torch.randn(2, 1, 12, 1).expand(-1, -1, -1, 16).contiguous()  # constant along y, as no flux allows
    made = network(u)
    torch.testing.assert_close(made, made[..., :1].expand_as(made), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("boundary", ["periodic", "neumann"])
def test_the_u_shaped_operator_gives_the_shape_it_takes(boundary):
    network = UNO(2, [6, 4], boundary, width=8)
    u = torch.randn(2, 2, 16, 24)
    made = network(u)
    made.square().sum().backward()
    assert made.shape == u.shape
    assert all(weight.grad is not None for weight in network.parameters())


@pytest.mark.parametrize(
    "network", [MLP(3, widths=[8]), UNet(2, 1, out_channels=5), FNO(2, [4], width=8, layers=1), UNO(1, [4], width=4)]
)
def test_a_backbone_is_rebuilt_from_its_description(network):
    again = rebuild(describe(network))
    assert type(again) is type(network)
    again.load_state_dict(network.state_dict())


def test_a_foreign_backbone_is_only_named():
    assert describe(torch.nn.Linear(2, 2)) == {"kind": "torch.nn.modules.linear.Linear"}
    assert isinstance(rebuild({"kind": "torch.nn.modules.linear.Linear"}), Unknown)


def test_grids_and_options_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInput, match="divisible by 4"):
        UNet(1, 1)(torch.zeros(1, 1, 30))
    with pytest.raises(InvalidInput, match="1 or 2 dimensions"):
        UNet(1, 3)
