"""Networks for a velocity field: from a state (batch, channels, *grid) to its rate of change, of the same shape.

Any ``torch.nn.Module`` will do. These know the boundary of the domain, and how to be rebuilt from a saved
configuration. Convolutions pad as the boundary asks: around the corner, or, for no flux through the wall, by the
values beside it. ``neuralop``'s Fourier operators are periodic by nature; for no flux the field is mirrored first,
which makes a cosine transform of theirs.
"""

import inspect
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from firstlight.errors import InvalidInput, MissingExtra

Boundary = Literal["periodic", "neumann"]
PADDING = {"periodic": "circular", "neumann": "replicate"}


class MLP(nn.Module):
    """Fully connected network with SiLU, for states without a grid, (batch, channels).

    Parameters
    ----------
    channels : of the input.
    out_channels : of the output; as many as in the input unless given.
    widths : of the hidden layers.
    """

    def __init__(
        self, channels: int, out_channels: int | None = None, widths: Sequence[int] = (128, 256, 256, 128)
    ) -> None:
        super().__init__()
        self.channels, self.out_channels, self.widths = channels, out_channels, list(widths)
        sizes = [channels, *widths]
        hidden = [layer for a, b in pairwise(sizes) for layer in (nn.Linear(a, b), nn.SiLU())]
        self.layers = nn.Sequential(*hidden, nn.Linear(sizes[-1], out_channels or channels))

    def forward(self, u: Float[Tensor, "batch channels"]) -> Float[Tensor, "batch out"]:
        """Rate of change of each state."""
        return self.layers(u)


class UNet(nn.Module):
    """Convolutions on ever coarser grids and back, in one or two dimensions.

    Averages of two neighbours make the coarser grid and repetition the finer one, so that, with the padding, the
    network commutes with the mirror images and the (even) shifts that the domain allows.

    Parameters
    ----------
    channels : of the input.
    dims : of the grid, 1 or 2.
    boundary : ``"periodic"``, or ``"neumann"`` for no flux and for outflow.
    out_channels : of the output; as many as in the input unless given.
    widths : channels at each level, finest first. The grid must be divisible by 2 to the number of coarsenings.

    Raises
    ------
    InvalidInput
        If `dims` or `boundary` is unknown.
    """

    def __init__(
        self,
        channels: int,
        dims: int,
        boundary: Boundary = "periodic",
        *,
        out_channels: int | None = None,
        widths: Sequence[int] = (16, 32, 64),
    ) -> None:
        super().__init__()
        if dims not in (1, 2):
            raise InvalidInput(f"a U-Net is for grids of 1 or 2 dimensions, got dims={dims}")
        _check_boundary(boundary)
        self.channels, self.dims, self.boundary = channels, dims, boundary
        self.out_channels, self.widths = out_channels, list(widths)
        self.pool = (nn.AvgPool1d, nn.AvgPool2d)[dims - 1](2)
        self.repeat = nn.Upsample(scale_factor=2, mode="nearest")
        levels = list(pairwise([channels, *widths]))
        self.down = nn.ModuleList(_Block(a, b, dims, boundary) for a, b in levels)
        self.up = nn.ModuleList(_Block(a + b, a, dims, boundary) for a, b in reversed(list(pairwise(widths))))
        self.head = (nn.Conv1d, nn.Conv2d)[dims - 1](widths[0], out_channels or channels, 1)

    def forward(self, u: Float[Tensor, "batch channels *grid"]) -> Float[Tensor, "batch out *grid"]:
        """Rate of change of each field.

        Raises
        ------
        InvalidInput
            If the grid has another number of dimensions or cannot be halved often enough.
        """
        halvings = len(self.widths) - 1
        grid = tuple(u.shape[2:])
        if len(grid) != self.dims or any(n % 2**halvings for n in grid):
            raise InvalidInput(
                f"this U-Net halves a grid of {self.dims} dimensions {halvings} times, got a grid {grid}; "
                f"expected lengths divisible by {2**halvings}"
            )
        passed: list[Tensor] = []
        for level, block in enumerate(self.down):
            u = block(self.pool(u) if level else u)
            passed.append(u)
        for block, finer in zip(self.up, reversed(passed[:-1]), strict=True):
            u = block(torch.cat([self.repeat(u), finer], dim=1))
        return self.head(u)


class _Block(nn.Module):
    """Two convolutions beside a straight connection."""

    def __init__(self, channels: int, width: int, dims: int, boundary: Boundary) -> None:
        super().__init__()
        convolution = (nn.Conv1d, nn.Conv2d)[dims - 1]
        padded: dict[str, Any] = {"padding": 1, "padding_mode": PADDING[boundary]}
        self.first = convolution(channels, width, 3, **padded)
        self.second = convolution(width, width, 3, **padded)
        self.straight = convolution(channels, width, 1)

    def forward(self, u: Tensor) -> Tensor:
        activated = nn.functional.silu(self.first(u))
        return nn.functional.silu(self.second(activated) + self.straight(u))


class _BoundedOperator(nn.Module):
    """An operator that is periodic by nature, made aware of the boundary."""

    boundary: Boundary
    operator: nn.Module

    def forward(self, u: Float[Tensor, "batch channels *grid"]) -> Float[Tensor, "batch out *grid"]:
        """Rate of change of each field."""
        return self.operator(u) if self.boundary == "periodic" else _mirrored(self.operator, u)


class FNO(_BoundedOperator):
    """Fourier neural operator of ``neuralop``, without positions, aware of the boundary.

    Parameters
    ----------
    channels : of the input.
    modes : Fourier modes kept along each dimension of the grid.
    boundary : ``"periodic"``, or ``"neumann"`` for no flux and for outflow.
    out_channels : of the output; as many as in the input unless given.
    width, layers : hidden channels and layers.

    Raises
    ------
    MissingExtra
        If neuraloperator is not installed.
    """

    def __init__(
        self,
        channels: int,
        modes: Sequence[int],
        boundary: Boundary = "periodic",
        *,
        out_channels: int | None = None,
        width: int = 32,
        layers: int = 4,
    ) -> None:
        super().__init__()
        _check_boundary(boundary)
        self.channels, self.modes, self.boundary = channels, list(modes), boundary
        self.out_channels, self.width, self.layers = out_channels, width, layers
        self.operator = _neuralop().FNO(
            n_modes=tuple(modes),
            in_channels=channels,
            out_channels=out_channels or channels,
            hidden_channels=width,
            n_layers=layers,
            positional_embedding=None,
        )
        self.register_state_dict_post_hook(without_metadata)


class UNO(_BoundedOperator):
    """U-shaped neural operator of ``neuralop``: five Fourier layers, the middle three on half the grid.

    Parameters
    ----------
    channels : of the input.
    modes : Fourier modes kept along each dimension of the full grid.
    boundary : ``"periodic"``, or ``"neumann"`` for no flux and for outflow.
    out_channels : of the output; as many as in the input unless given.
    width : hidden channels on the full grid; twice as many on the half.

    Raises
    ------
    MissingExtra
        If neuraloperator is not installed.
    """

    def __init__(
        self,
        channels: int,
        modes: Sequence[int],
        boundary: Boundary = "periodic",
        *,
        out_channels: int | None = None,
        width: int = 32,
    ) -> None:
        super().__init__()
        _check_boundary(boundary)
        self.channels, self.modes, self.boundary = channels, list(modes), boundary
        self.out_channels, self.width = out_channels, width
        half = [max(1, m // 2) for m in modes]
        self.operator = _neuralop().UNO(
            in_channels=channels,
            out_channels=out_channels or channels,
            hidden_channels=width,
            lifting_channels=2 * width,
            projection_channels=2 * width,
            n_layers=5,
            uno_out_channels=[width, 2 * width, 2 * width, 2 * width, width],
            uno_n_modes=[list(modes), half, half, half, list(modes)],
            uno_scalings=[[scale] * len(modes) for scale in (1.0, 0.5, 1.0, 1.0, 2.0)],
            horizontal_skips_map={4: 0, 3: 1},
            channel_mlp_skip="linear",  # the default cannot change the number of channels
            positional_embedding=None,
        )
        self.register_state_dict_post_hook(without_metadata)


KINDS: dict[str, type[nn.Module]] = {"MLP": MLP, "UNet": UNet, "FNO": FNO, "UNO": UNO}


class Unknown(nn.Module):
    """Stands for a saved backbone of a class that is not ours, which only its owner can rebuild."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind


def describe(backbone: nn.Module) -> dict[str, Any]:
    """Put a backbone into plain values, from which `rebuild` makes one like it with fresh weights."""
    kind = type(backbone).__name__
    if KINDS.get(kind) is not type(backbone):
        return {"kind": f"{type(backbone).__module__}.{kind}"}
    return {"kind": kind, **{name: getattr(backbone, name) for name in inspect.signature(type(backbone)).parameters}}


def rebuild(description: dict[str, Any]) -> nn.Module:
    """Make the backbone that was described, or an `Unknown` where it is of a foreign class."""
    arguments = dict(description)
    kind = arguments.pop("kind")
    return KINDS[kind](**arguments) if kind in KINDS else Unknown(kind)


def without_metadata(module: nn.Module, state_dict: dict[str, Any], prefix: str, local_metadata: Any) -> None:
    """Take out what ``neuralop``'s models put among their weights, which no other file of weights can hold."""
    state_dict.pop("_metadata", None)


def _check_boundary(boundary: str) -> None:
    if boundary not in PADDING:
        raise InvalidInput(f"expected boundary {' or '.join(map(repr, PADDING))}, got {boundary!r}")


def _mirrored(operator: nn.Module, u: Tensor) -> Tensor:
    """Apply a periodic operator to the even continuation of a field over its walls, and give back the field's part."""
    whole = u
    for axis in range(2, u.ndim):
        whole = torch.cat([whole, whole.flip(axis)], dim=axis)
    return operator(whole)[(..., *(slice(n) for n in u.shape[2:]))].contiguous()


def _neuralop() -> Any:
    try:
        from neuralop import models
    except ModuleNotFoundError as error:
        raise MissingExtra("neuraloperator") from error
    return models
