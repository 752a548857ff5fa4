"""Sums over a radial kernel on a torus, Σ_j φ(r_ij) q_j at every site, by fast Fourier transform: O(N log N)."""

import torch
from jaxtyping import Float
from torch import Tensor


def torus_distances(shape: tuple[int, ...], like: Tensor) -> Float[Tensor, "..."]:
    """Distance of every cell from cell 0 to its nearest image, in spacings, with the dtype and device of `like`."""
    axes = [torch.arange(length, device=like.device, dtype=like.dtype) for length in shape]
    steps = torch.meshgrid(*[torch.minimum(axis, len(axis) - axis) for axis in axes], indexing="ij")
    return torch.stack(steps).square().sum(0).sqrt()


def convolve(
    sources: Float[Tensor, "graphs channels ..."], kernels: Float[Tensor, "channels ..."]
) -> Float[Tensor, "graphs channels ..."]:
    """Circular convolution of every channel with its kernel, given at all displacements of the torus."""
    axes = tuple(range(1, kernels.ndim))
    batch_axes = tuple(axis + 1 for axis in axes)
    # The transform of an even kernel is real; taking the real part drops rounding errors alone.
    waves = torch.fft.rfftn(sources, dim=batch_axes) * torch.fft.rfftn(kernels, dim=axes).real
    return torch.fft.irfftn(waves, s=kernels.shape[1:], dim=batch_axes)
