"""Networks that map a coefficient field to a basis of a subspace, one grid function per column.

On a grid: `FactorisedFourier`, whose layers mix along one axis at a time in Fourier space, and `UNet`. On any mesh:
`CoefficientMLP`, which sees a few numbers per sample and combines the columns of a fixed basis. Fields have the shape
(batch, channels, *grid), bases (batch, n, p) with the grid points numbered row by row.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn


class FactorisedFourier(nn.Module):
    """Factorised Fourier neural operator: u ← u + gelu(C₂ gelu(C₁ Σ_d F_d⁻¹ R_d F_d u)), between pointwise maps.

    F_d is the Fourier transform along axis d, cut off after some modes, and R_d a complex matrix for each mode (Tran et
    al. 2023, in the form of Fanaskov et al. 2026). Coordinates are further input channels.

    Parameters
    ----------
    channels : of the fields.
    grid : points along each axis.
    out_dim : columns of the basis, p.
    width : channels inside.
    layers : how many times the formula is applied.
    modes : Fourier modes kept along each axis, at most half the points and one.
    """

    def __init__(
        self, channels: int, grid: Sequence[int], out_dim: int, width: int = 32, layers: int = 4, modes: int = 12
    ) -> None:
        super().__init__()
        self.register_buffer("coordinates", coordinates(grid), persistent=False)
        self.lift = nn.Linear(channels + len(grid), width)
        self.blocks = nn.ModuleList([_FourierBlock(grid, width, modes) for _ in range(layers)])
        self.project = nn.Linear(width, out_dim)

    def forward(self, fields: Float[Tensor, "batch channels ..."]) -> Float[Tensor, "batch n p"]:
        """Return a basis for each sample, not orthonormal."""
        points = self.coordinates.expand(len(fields), *self.coordinates.shape)
        u = self.lift(torch.cat([fields, points], dim=1).movedim(1, -1))  # channels last, where pointwise maps are fast
        for block in self.blocks:
            u = u + block(u)
        return self.project(u).flatten(1, -2)


class _FourierBlock(nn.Module):
    def __init__(self, grid: Sequence[int], width: int, modes: int) -> None:
        super().__init__()
        kept = [min(modes, size // 2 + 1) for size in grid]
        # Complex weights are kept as pairs of real ones, so that they can be saved in half precision.
        self.mixing = nn.ParameterList([nn.Parameter(torch.randn(m, width, width, 2) / math.sqrt(width)) for m in kept])
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, u: Float[Tensor, "batch ... width"]) -> Float[Tensor, "batch ... width"]:
        mixed = torch.zeros_like(u)
        for axis, weight in enumerate(self.mixing, start=1):
            spectrum = torch.fft.rfft(u, dim=axis, norm="ortho").narrow(axis, 0, len(weight)).movedim(axis, 0)
            flat = spectrum.flatten(1, -2) @ torch.view_as_complex(weight)
            spectrum = flat.reshape(spectrum.shape).movedim(0, axis)
            mixed = mixed + torch.fft.irfft(spectrum, n=u.shape[axis], dim=axis, norm="ortho")
        return nn.functional.gelu(self.second(nn.functional.gelu(self.first(mixed))))


def coordinates(grid: Sequence[int]) -> Float[Tensor, "dim ..."]:
    """Return the coordinates of the inner points of a grid on the unit box, one channel per axis, from -1 to 1."""
    axes = [torch.linspace(-1, 1, size + 2)[1:-1] for size in grid]
    return torch.stack(torch.meshgrid(*axes, indexing="ij"))
