"""Sums over a radial kernel on a square torus, Σ_j φ(r_ij) q_j at every site, in linear time: multilevel summation.

The kernel is split by distance, φ = (φ - S_a) + (S_a - S_2a) + … + S_top, where S_a is φ softened within radius a
(`PowerMixture.softened`). Each bracket vanishes beyond its radius, and all but the first are smooth on its scale. So
the first is summed directly over the `RADIUS` nearest spacings, the second over a lattice of twice the spacing, and so
on: every level has a quarter of the sites of the one below and the same stencil. Between levels sources are
gathered by the transposed interpolation, and fields are interpolated, as in a V-cycle of multigrid. On the coarsest
lattice, of fewer than 32 × 32 sites whatever N is, S_top is summed over all pairs.

Source: Brandt and Lubrecht, Multilevel matrix multiplication, J. Comput. Phys. 90 (1990); Hardy, Wu, Phillips, Stone,
Skeel, Schulten, Multilevel summation method, J. Chem. Theory Comput. 11 (2015).
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from firstlight.graphs.ising.power_mixture import PowerMixture
from firstlight.graphs.ising.spectral import convolve, torus_distances

RADIUS = 8  # of the stencils, in the spacing of their level
COARSEST = 2 * RADIUS  # a level of this side still holds a stencil without wrapping round

# Deslauriers-Dubuc interpolation of order 6: fields at even sites are kept, those halfway are 6-point Lagrange.
INTERPOLATION = (3 / 256, 0.0, -25 / 256, 0.0, 150 / 256, 1.0, 150 / 256, 0.0, -25 / 256, 0.0, 3 / 256)


def multilevel_sum(
    sources: Float[Tensor, "graphs channels rows columns"], mixture: PowerMixture
) -> Float[Tensor, "graphs channels rows columns"]:
    """Σ_j φ_c(r_ij) q_cj at every site of a torus, to about 1e-3 of the field's size.

    The cost is linear in the number of sites as long as the sides can be halved down to less than 32; a side that
    becomes odd before is summed there by Fourier transform.
    """
    return _from_level(sources, mixture, 0)


def _from_level(
    sources: Float[Tensor, "graphs channels rows columns"], mixture: PowerMixture, level: int
) -> Float[Tensor, "graphs channels rows columns"]:
    shape, spacing = tuple(sources.shape[2:]), 2**level
    if any(length % 2 or length // 2 < COARSEST for length in shape):
        distances = spacing * torus_distances(shape, sources)
        return convolve(sources, _still_to_sum(distances, mixture, level))
    steps = torch.arange(-RADIUS, RADIUS + 1, device=sources.device, dtype=sources.dtype)
    distances = spacing * torch.hypot(steps[:, None], steps)
    stencil = _still_to_sum(distances, mixture, level) - mixture.softened(distances, RADIUS * spacing)
    # In the corners of the square, beyond the radius, both are the same and rounding errors would be left.
    stencil = stencil * (distances < RADIUS * spacing)
    near = functional.conv2d(
        functional.pad(sources, (RADIUS,) * 4, mode="circular"), stencil[:, None], groups=len(stencil)
    )
    return near + _interpolated(_from_level(_gathered(sources), mixture, level + 1))


def _still_to_sum(distances: Float[Tensor, "..."], mixture: PowerMixture, level: int) -> Float[Tensor, "channels ..."]:
    """What the levels below have left: all of the kernel at first, then the kernel softened by the level before."""
    return mixture.at(distances) if level == 0 else mixture.softened(distances, RADIUS * 2 ** (level - 1))


def _gathered(
    sources: Float[Tensor, "graphs channels rows columns"],
) -> Float[Tensor, "graphs channels half_rows half_columns"]:
    """Sources on every second site: each site's own and, by the transposed interpolation, shares of its neighbours'."""
    mask = sources.new_tensor(INTERPOLATION)
    reach, flat = len(mask) // 2, sources.flatten(0, 1)[:, None]
    flat = functional.conv2d(
        functional.pad(flat, (reach,) * 4, mode="circular"), torch.outer(mask, mask)[None, None], stride=2
    )
    return flat.unflatten(0, sources.shape[:2]).squeeze(2)


def _interpolated(
    fields: Float[Tensor, "graphs channels half_rows half_columns"],
) -> Float[Tensor, "graphs channels rows columns"]:
    """Fields on all sites from those on every second one."""
    mask = fields.new_tensor(INTERPOLATION)
    reach, flat = len(mask) // 2, fields.flatten(0, 1)[:, None]
    # Sites are spread with zeros between them on the torus, and then convolved as when gathering.
    spread = flat.new_zeros(len(flat), 1, 2 * flat.shape[2], 2 * flat.shape[3])
    spread[:, :, ::2, ::2] = flat
    flat = functional.conv2d(functional.pad(spread, (reach,) * 4, mode="circular"), torch.outer(mask, mask)[None, None])
    return flat.unflatten(0, fields.shape[:2]).squeeze(2)
