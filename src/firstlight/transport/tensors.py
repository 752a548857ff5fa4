"""The bridge to PyTorch: tensors in, and distances out whose derivatives are already known."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from firstlight.errors import InvalidInput
from firstlight.transport.measures import (
    Clouds,
    as_points,
    as_weights,
    check_balance,
    check_space,
    largest_coordinate,
    weighed_clouds,
)
from firstlight.transport.streaming import Gradients


def alike(X_s: Any, X_t: Any, a: Any, b: Any) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Return points and weights as tensors on the device of the tensors among them.

    Raises
    ------
    InvalidInput
        If tensors lie on different devices.
    """
    devices = {part.device for part in (X_s, X_t, a, b) if isinstance(part, Tensor)}
    if len(devices) != 1:
        raise InvalidInput(f"all tensors must lie on one device, got {', '.join(sorted(map(str, devices)))}")
    (device,) = devices

    def tensor(part: Any) -> Tensor:
        return part if isinstance(part, Tensor) else torch.as_tensor(np.array(part), device=device)

    return tensor(X_s), tensor(X_t), None if a is None else tensor(a), None if b is None else tensor(b)


def weighed_tensors(X_s: Tensor, X_t: Tensor, a: Tensor | None, b: Tensor | None) -> Clouds:
    """Check two clouds of tensors, which leave PyTorch's graph.

    Those of the processor become NumPy arrays, which the compiled kernels take; those of accelerators stay there.

    Raises
    ------
    InvalidInput
        As `weighed_clouds`.
    """
    if X_s.device.type in ("cpu", "meta"):
        return weighed_clouds(X_s, X_t, a, b)
    return clouds_on_device(X_s.detach(), X_t.detach(), a, b)


def clouds_on_device(X_s: Tensor, X_t: Tensor, a: Tensor | None, b: Tensor | None) -> Clouds:
    """Check two clouds of tensors where they are. Only weights, which are few numbers, are looked at elsewhere."""
    X_s, X_t = sound(X_s, "X_s"), sound(X_t, "X_t")
    check_space(X_s, X_t)
    dtype, device = torch.promote_types(X_s.dtype, X_t.dtype), X_s.device
    wide = torch.float32 if device.type == "mps" else torch.float64  # Apple's GPUs have no double precision
    parts, masses = [], []
    for X, given, name in ((X_s, a, "a"), (X_t, b, "b")):
        weights = as_weights(given, len(X), name)
        kept = None if weights.all() else torch.as_tensor(weights > 0, device=device)
        masses.append(float(weights.sum()))
        measure = torch.as_tensor(weights[weights > 0] / masses[-1], dtype=wide, device=device)
        parts.append((X.to(dtype) if kept is None else X[kept].to(dtype), measure, kept))
    check_balance(*masses)
    (X_s, a, kept_s), (X_t, b, kept_t) = parts
    return Clouds(X_s, X_t, a, b, (kept_s, kept_t), (masses[0], masses[1]))


def sound(X: Tensor, name: str) -> Tensor:
    """Return points in single or double precision; what is wrong with others `as_points` says."""
    if X.ndim == 2 and X.numel() and not X.is_complex() and X.dtype != torch.bool:
        if X.dtype not in (torch.float32, torch.float64):
            X = X.to(torch.float32 if X.is_floating_point() else torch.float64)
        if X.abs().max() <= largest_coordinate(np.float32 if X.dtype == torch.float32 else np.float64):
            return X
    as_points(X, name)
    return X


def with_derivatives(
    inputs: tuple[Tensor, Tensor, Tensor | None, Tensor | None],
    clouds: Clouds,
    solve: Callable[[Gradients], Float64[np.ndarray, " trees"]],
    p: float,
) -> tuple[Float64[np.ndarray, " trees"], Tensor]:
    """Solve the clouds made of some tensors: S_p^p of each tree, and TS_p differentiable by the tensors."""
    X_s, X_t, *_ = inputs
    by_X_s, by_X_t, by_a, by_b = (
        part is not None and part.requires_grad and torch.is_grad_enabled() for part in inputs
    )
    zeros = torch.zeros_like if isinstance(clouds.X_s, Tensor) else np.zeros_like
    gradients = Gradients(
        X_s=zeros(clouds.X_s) if by_X_s else None,
        X_t=zeros(clouds.X_t) if by_X_t else None,
        a=zeros(clouds.a) if by_a or by_b else None,
        b=zeros(clouds.b) if by_a or by_b else None,
    )
    values = solve(gradients)
    dtype = torch.promote_types(X_s.dtype, X_t.dtype)
    dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
    distance = torch.tensor(values.mean() ** (1 / p), dtype=dtype, device=X_s.device)
    if not gradients.wanted:
        return values, distance
    slopes = [
        None if slope is None or part is None else torch.as_tensor(slope).to(part)
        for slope, part in zip(gradients.by_given(clouds), inputs, strict=True)
    ]
    return values, _Known.apply(distance, slopes, *inputs)


class _Known(torch.autograd.Function):
    """A value whose derivatives by its inputs have been computed before."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, slopes: list[Tensor | None], *inputs: Tensor | None) -> Tensor:
        ctx.save_for_backward(*slopes)
        return value

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        # Large gradients are not copied for the factor 1, the usual one.
        once = slope.device.type == "cpu" and slope == 1
        slopes = (part if part is None or once else slope * part for part in ctx.saved_tensors)
        # With create_graph=True. `once_differentiable` would take these for constants if `slope` is one.
        if torch.is_grad_enabled():
            slopes = (part if part is None else _Last.apply(part.detach().requires_grad_()) for part in slopes)
        return None, None, *slopes


class _Last(torch.autograd.Function):
    """A derivative that cannot be differentiated again."""

    @staticmethod
    def forward(ctx: Any, slope: Tensor) -> Tensor:
        return slope.view_as(slope)

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> Tensor:
        raise NotImplementedError("second derivatives of tree-sliced distances are not available")
