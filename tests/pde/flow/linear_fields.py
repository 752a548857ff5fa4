"""Velocity fields that are known exactly, as backbones: what a trained network should become."""

import math

import numpy as np
import torch
from torch import nn

from firstlight.pde.flow import FlowOperator, Trajectories


class Matrix(nn.Module):
    """u ↦ A u, for states without a grid."""

    def __init__(self, matrix):
        super().__init__()
        self.matrix = nn.Parameter(torch.as_tensor(matrix, dtype=torch.float64))

    def forward(self, u):
        return u @ self.matrix.T


class Heat(nn.Module):
    """ν u_xx on a periodic interval of length 1, exact for every Fourier mode of the grid."""

    def __init__(self, viscosity=0.01):
        super().__init__()
        self.viscosity = nn.Parameter(torch.tensor(viscosity, dtype=torch.float64))

    def forward(self, u):
        waves = 2 * math.pi * torch.arange(u.shape[-1] // 2 + 1)
        return torch.fft.irfft(-self.viscosity * waves**2 * torch.fft.rfft(u), n=u.shape[-1])


ROTATION = [[0.0, -1.0], [1.0, 0.0]]


def rotation(**options):
    return FlowOperator(Matrix(ROTATION), 2, grid=(), **options)


def circles(n=12, frames=25, seed=0, even=False):
    """Trajectories of the rotation, at random times."""
    rng = np.random.default_rng(seed)
    pairs = []
    for phase, radius in zip(rng.uniform(0, 7, n), rng.uniform(0.5, 1.5, n), strict=True):
        t = np.linspace(0, 3, frames) if even else np.sort(rng.uniform(0, 3, frames))
        pairs.append((t, radius * np.stack([np.cos(t + phase), np.sin(t + phase)], axis=1)))
    return Trajectories.from_list(pairs)
