"""A network together with all it needs to predict a subspace: the scales of its input and, on a mesh, a fixed basis."""

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.global_pod import leading_directions
from firstlight.pde.subspace.inner_products import Mass, mass_orthonormal, weighed
from firstlight.pde.subspace.networks import CoefficientMLP, FactorisedFourier, UNet
from firstlight.pretrained import Pretrained

Net = Literal["ffno", "unet", "pod-mlp"]


class SubspaceNetwork(Pretrained):
    """Predicts subspaces from fields, once its scales are learned (`learn_scales`) and it is trained.

    Parameters
    ----------
    net : ``"ffno"``, ``"unet"`` or ``"pod-mlp"``.
    field_shape : of a single field: (channels, *grid) for the first two.
    n : rows of a basis.
    dim : wanted vectors, k.
    out_dims : columns of the prediction, p. Of several numbers the largest; the first columns of it, as many as each
        other number says, are trained to be a prediction of their own.
    width, layers, modes : as the networks in `firstlight.pde.subspace.networks` take them.
    pod_dim : columns of the fixed basis of ``"pod-mlp"``.
    features : numbers that ``"pod-mlp"`` sees of a field, its leading principal components.

    Raises
    ------
    InvalidInput
        If the network cannot have such fields and bases.
    """

    centre: Tensor
    scale: Tensor
    directions: Tensor
    basis: Tensor

    def __init__(
        self,
        net: str,
        field_shape: Sequence[int],
        n: int,
        dim: int,
        out_dims: Sequence[int],
        width: int,
        layers: int,
        modes: int = 12,
        pod_dim: int = 200,
        features: int = 64,
    ) -> None:
        super().__init__()
        if net not in get_args(Net):
            raise InvalidInput(f"net must be one of {', '.join(get_args(Net))}, got {net!r}")
        if bad := [p for p in out_dims if not dim <= p < n]:
            raise InvalidInput(
                f"out_dim={bad[0]} must be at least the {dim} wanted vectors and less than the {n} unknowns"
            )
        self.kind, self.field_shape, self.n, self.dim = net, tuple(field_shape), n, dim
        self.out_dims, out_dim = sorted(out_dims), max(out_dims)
        if net == "pod-mlp":
            numbers = math.prod(self.field_shape)
            seen = min(features, numbers)
            self.register_buffer("directions", torch.zeros(numbers, seen))
            self.register_buffer("basis", torch.zeros(n, pod_dim))
            self.network: nn.Module = CoefficientMLP(seen, pod_dim, out_dim, width, layers)
            scales = (numbers,)
        else:
            _check_grid(net, self.field_shape, n)
            channels, *grid = self.field_shape
            if net == "ffno":
                self.network = FactorisedFourier(channels, grid, out_dim, width, layers, modes)
            else:
                self.network = UNet(channels, grid, out_dim, width, layers)
            scales = (channels, *[1] * len(grid))
        self.register_buffer("centre", torch.zeros(scales))
        self.register_buffer("scale", torch.ones(scales))

    def learn_scales(
        self, fields: Float[np.ndarray, "samples ..."], bases: Float[np.ndarray, "samples n k"], mass: Mass = None
    ) -> None:
        """Set what goes before the network, and the fixed basis of ``"pod-mlp"``, from training samples.

        Raises
        ------
        InvalidInput
            If the bases together span fewer dimensions than the fixed basis is to have.
        """
        flat = torch.from_numpy(fields.reshape(len(fields), *self.centre.shape[:1], -1)).double()
        if self.kind == "pod-mlp":
            flat = flat[..., 0] if flat.ndim == 3 else flat
            centre = flat.mean(dim=0)
            spread, directions = torch.linalg.svd(flat - centre, full_matrices=False)[1:]
            kept = min(self.directions.shape[1], len(spread))
            sizes = (spread[:kept] / math.sqrt(len(flat))).clamp(min=1e-6 * float(spread[0]) + 1e-30)
            self.centre.copy_(centre)
            self.directions[:, :kept] = (directions[:kept].T / sizes).float()
            self.basis.copy_(torch.from_numpy(leading_directions(bases, self.basis.shape[1], mass)[0]))
        else:
            self.centre.copy_(flat.mean(dim=(0, 2)).reshape(self.centre.shape))
            spread = flat.std(dim=(0, 2))
            self.scale.copy_(torch.where(spread > 0, spread, 1).reshape(self.scale.shape))

    def forward(self, fields: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch rows p"]:
        """Return bases, not orthonormal; of ``"pod-mlp"`` their coefficients in its fixed basis."""
        if self.kind == "pod-mlp":
            return self.network((fields.flatten(1) - self.centre) @ self.directions)
        return self.network((fields - self.centre) / self.scale)

    def targets(
        self, bases: Float[np.ndarray, "samples n k"], mass: Mass = None
    ) -> tuple[Float[Tensor, "samples rows k"], Float[Tensor, " samples"]]:
        """Return what `forward` is compared with, and the part of `subspace_loss` that no output can take away.

        The fixed basis U is orthonormal, so ‖V − U C c‖² = ‖V − U UᵀMV‖² + ‖UᵀMV − C c‖²: the loss and its mass matrix
        live in as many dimensions as U has columns.
        """
        if self.kind != "pod-mlp":
            return torch.from_numpy(bases).float(), torch.zeros(len(bases))
        U = self.basis.double().numpy()
        inside = np.stack([weighed(mass, U).T @ one for one in bases])
        return torch.from_numpy(inside).float(), torch.from_numpy(bases.shape[2] - (inside**2).sum(axis=(1, 2))).float()

    @torch.no_grad()
    def bases(
        self, fields: Float[np.ndarray, "samples ..."], mass: Mass = None, batch_size: int = 64
    ) -> Float[np.ndarray, "samples n p"]:
        """Predict orthonormal bases in double precision, on the device where the network is."""
        predicted = []
        for part in torch.from_numpy(fields).float().split(batch_size):
            out = self(part.to(self.centre.device))
            columns = (self.basis @ out if self.kind == "pod-mlp" else out).cpu().double()
            # Householder's Q is orthonormal even where columns are dependent.
            Q = torch.linalg.qr(columns / columns.norm(dim=1, keepdim=True).clamp(min=1e-30))[0].numpy()
            predicted += [mass_orthonormal(one, mass) for one in Q]
        return np.stack(predicted)


def _check_grid(net: str, field_shape: tuple[int, ...], n: int) -> None:
    grid = field_shape[1:]
    if not 1 <= len(grid) <= 3:
        raise InvalidInput(
            f"net={net!r} needs fields on a grid, of shape (channels, *grid), got {field_shape}; for parameters or "
            "unstructured meshes choose net='pod-mlp'"
        )
    if math.prod(grid) != n:
        raise InvalidInput(
            f"a grid of {' × '.join(map(str, grid))} points has {math.prod(grid)} of them, but bases have {n} rows; "
            "choose net='pod-mlp' if unknowns are not the grid points"
        )
    if net == "unet" and min(grid) < 8:
        raise InvalidInput(f"net='unet' halves the grid several times; {grid} is too small for that, choose net='ffno'")
