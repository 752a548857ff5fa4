"""Networks that map a coefficient field to a basis of a subspace.

On a grid: `FactorisedFourier`, whose layers mix along one axis at a time in Fourier space, and `UNet`. On any mesh:
`CoefficientMLP`, which combines the columns of a fixed basis. Fields have the shape (batch, channels, *grid); what
comes out has one column per basis vector and is not orthonormal.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu, interpolate


class FactorisedFourier(nn.Module):
    """Factorised Fourier neural operator: u ← u + gelu(C₂ gelu(C₁ Σ_d F_dᵀ R_d F_d u)), between pointwise maps.

    F_d takes the products with the longest waves along axis d, and R_d is a matrix for each of them (Tran et al. 2023,
    in the form of Fanaskov et al. 2026). Waves count by halves, since neither fields nor eigenvectors repeat beyond the
    box; on the flattop problem that took a tenth off the error. Coordinates are further input channels.

    Parameters
    ----------
    channels : of the fields.
    grid : points along each axis.
    out_dim : columns of the basis, p.
    width : channels inside.
    layers : how many times the formula is applied.
    modes : cosines and sines kept along each axis, at most as many as points.
    """

    coordinates: Tensor

    def __init__(
        self, channels: int, grid: Sequence[int], out_dim: int, width: int = 32, layers: int = 4, modes: int = 12
    ) -> None:
        super().__init__()
        self.register_buffer("coordinates", coordinates(grid), persistent=False)
        self.lift = nn.Linear(channels + len(grid), width)
        self.blocks = nn.ModuleList([_FourierBlock(grid, width, modes) for _ in range(layers)])
        self.project = columns(width, out_dim)

    def forward(self, fields: Float[Tensor, "batch channels ..."]) -> Float[Tensor, "batch n p"]:
        """Return a basis for each sample, grid points numbered row by row."""
        u = self.lift(with_coordinates(fields, self.coordinates).movedim(1, -1))  # pointwise maps like channels last
        for block in self.blocks:
            u = u + block(u)
        return self.project(u).flatten(1, -2)


class _FourierBlock(nn.Module):
    def __init__(self, grid: Sequence[int], width: int, modes: int) -> None:
        super().__init__()
        self.mixing = nn.ParameterList()
        for axis, size in enumerate(grid):
            transform = half_waves(size, min(modes, size))
            self.register_buffer(f"transform_{axis}", transform, persistent=False)
            # A real matrix for cosines and sines together, of which complex multiplication is a special case.
            shape = (transform.shape[-1], 2 * width, 2 * width)
            self.mixing.append(nn.Parameter(torch.randn(shape) / math.sqrt(2 * width)))
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, u: Float[Tensor, "batch ... width"]) -> Float[Tensor, "batch ... width"]:
        mixed = torch.stack([self._along(u, axis, weight) for axis, weight in enumerate(self.mixing)]).sum(dim=0)
        return gelu(self.second(gelu(self.first(mixed))))

    def _along(self, u: Tensor, axis: int, weight: Tensor) -> Tensor:
        transform = getattr(self, f"transform_{axis}")  # size × 2 × modes
        size, parts, modes = transform.shape
        lines = u.movedim(axis + 1, 1)
        batch, rest = lines.shape[0], lines.shape[2:-1]
        # On axes of some dozen points a product with the matrix of the transform is twice as fast as an FFT.
        spectrum = transform.flatten(1).T @ lines.reshape(batch, size, -1)
        spectrum = spectrum.reshape(batch, parts, modes, -1, u.shape[-1]).permute(2, 0, 3, 1, 4)
        spectrum = spectrum.reshape(modes, -1, parts * u.shape[-1]) @ weight
        spectrum = spectrum.reshape(modes, batch, -1, parts, u.shape[-1]).permute(1, 3, 0, 2, 4)
        lines = transform.flatten(1) @ spectrum.reshape(batch, parts * modes, -1)
        return lines.reshape(batch, size, *rest, u.shape[-1]).movedim(1, axis + 1)


class UNet(nn.Module):
    """U-Net: convolutions on ever coarser grids and back, joined level by level; coordinates are input channels.

    Parameters
    ----------
    channels : of the fields.
    grid : points along each of 1 to 3 axes.
    out_dim : columns of the basis, p.
    width : channels on the finest grid, doubled on the second and the third.
    layers : grids, each of half the points of the one before.
    """

    coordinates: Tensor

    def __init__(self, channels: int, grid: Sequence[int], out_dim: int, width: int = 16, layers: int = 5) -> None:
        super().__init__()
        self.register_buffer("coordinates", coordinates(grid), persistent=False)
        dim = len(grid)
        widths = [width * min(2**level, 4) for level in range(layers)]
        self.pool = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)[dim - 1](2, ceil_mode=True)
        self.smooth = ("linear", "bilinear", "trilinear")[dim - 1]
        self.down = nn.ModuleList([_convolutions(dim, a, b) for a, b in pairwise([channels + dim, *widths])])
        self.up = nn.ModuleList([_convolutions(dim, fine + coarse, fine) for fine, coarse in pairwise(widths)])
        self.project = columns(width, out_dim)

    def forward(self, fields: Float[Tensor, "batch channels ..."]) -> Float[Tensor, "batch n p"]:
        """Return a basis for each sample, grid points numbered row by row."""
        u = with_coordinates(fields, self.coordinates)
        if u.ndim == 4:
            u = u.contiguous(memory_format=torch.channels_last)  # a fifth faster on a CPU
        levels = [u := convolve(u if level == 0 else self.pool(u)) for level, convolve in enumerate(self.down)]
        for fine, convolve in zip(levels[-2::-1], reversed(self.up), strict=True):
            u = interpolate(u, size=fine.shape[2:], mode=self.smooth, align_corners=False)
            u = convolve(torch.cat([fine, u], dim=1))
        return self.project(u.flatten(2).mT)


class CoefficientMLP(nn.Module):
    """Coefficients C of a basis U C, from a few numbers per sample: a network that no mesh matters to.

    It starts from C = (I, 0)ᵀ, the leading columns of U, and learns what to change.

    Parameters
    ----------
    features : numbers per sample.
    rows : columns of U, which are the rows of C.
    out_dim : columns of C, p.
    width : units in a layer.
    layers : residual layers.
    """

    start: Tensor

    def __init__(self, features: int, rows: int, out_dim: int, width: int = 256, layers: int = 3) -> None:
        super().__init__()
        self.register_buffer("start", torch.eye(rows, out_dim), persistent=False)
        self.lift = nn.Linear(features, width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
        self.project = nn.Linear(width, rows * out_dim)
        nn.init.zeros_(self.project.bias)
        nn.init.normal_(self.project.weight, std=0.01 / math.sqrt(width))

    def forward(self, features: Float[Tensor, "batch features"]) -> Float[Tensor, "batch rows p"]:
        """Return coefficients for each sample."""
        u = self.lift(features)
        for layer in self.layers:
            u = u + gelu(layer(u))
        return self.start + self.project(u).unflatten(1, self.start.shape)


def columns(width: int, out_dim: int) -> nn.Module:
    """Return the pointwise map to the columns of a basis, which a linear one would hold to `width` dimensions."""
    return nn.Sequential(nn.Linear(width, 2 * out_dim), nn.GELU(), nn.Linear(2 * out_dim, out_dim))


def coordinates(grid: Sequence[int]) -> Float[Tensor, "dim ..."]:
    """Return the coordinates of the inner points of a grid on a box, one channel per axis, from -1 to 1."""
    axes = [torch.linspace(-1, 1, size + 2)[1:-1] for size in grid]
    return torch.stack(torch.meshgrid(*axes, indexing="ij"))


def with_coordinates(
    fields: Float[Tensor, "batch channels ..."], points: Float[Tensor, "dim ..."]
) -> Float[Tensor, "batch channels_and_dim ..."]:
    """Add coordinates as channels."""
    return torch.cat([fields, points.expand(len(fields), *points.shape)], dim=1)


def half_waves(size: int, modes: int) -> Float[Tensor, "size 2 modes"]:
    """Return cosines and sines of 0 or 1, 2, … half waves over a box, at its inner points."""
    points = math.pi * torch.arange(1, size + 1)[:, None] / (size + 1)
    cosines, sines = torch.cos(points * torch.arange(modes)), torch.sin(points * torch.arange(1, modes + 1))
    return torch.stack([cosines, sines], dim=1) / math.sqrt(size)


def _convolutions(dim: int, channels: int, width: int) -> nn.Module:
    kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dim - 1]
    first, second = kind(channels, width, 3, padding=1), kind(width, width, 3, padding=1)
    return nn.Sequential(first, nn.GELU(), second, nn.GELU())
