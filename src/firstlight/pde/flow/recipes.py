"""From a file of trajectories to a trained model in one call: what ``firstlight flow fit`` does."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from firstlight.pde.flow.backbones import FNO, MLP, UNO, Boundary, UNet
from firstlight.pde.flow.baselines import Autoregressive, NeuralODE
from firstlight.pde.flow.dynamics_model import DynamicsModel
from firstlight.pde.flow.flow_operator import FlowOperator
from firstlight.pde.flow.saved_models import save_model
from firstlight.pde.flow.temporal_spline import Kind, TemporalSpline
from firstlight.pde.flow.training import fit
from firstlight.pde.flow.trajectories import Trajectories
from firstlight.terminal import readable
from firstlight.training import TrainingRun

ModelKind = Literal["flow", "state", "increment", "neural-ode"]
BackboneKind = Literal["auto", "mlp", "unet", "fno", "uno"]
FEWEST_TO_WATCH = 10  # trajectories; of fewer none is spared for validation
LEVELS = (16, 32, 64)
MODES = 12


@dataclass(frozen=True)
class Learned:
    """A trained model and what it came from.

    Attributes
    ----------
    model, run : the model with the weights of its best epoch, and where its checkpoints are.
    score_name : what told the best epoch.
    trajectories, frames : that it was trained on.
    label_error : estimate of the relative error of the velocities it was trained on, in words.
    """

    model: DynamicsModel
    run: TrainingRun
    score_name: str
    trajectories: int
    frames: int
    label_error: str


def learn(
    data: Trajectories,
    folder: str | Path,
    *,
    model: ModelKind = "flow",
    backbone: BackboneKind = "auto",
    boundary: Boundary = "periodic",
    spline: Kind = "quintic",
    keep: float = 1.0,
    keep_ends: bool = False,
    seed: int = 0,
    source: str | Path | None = None,
    **training: Any,
) -> Learned:
    """Choose a backbone for the grid, set trajectories aside, train, and leave the model in ``folder/model``.

    Parameters
    ----------
    data : trajectories; a tenth of ten or more that share their times tells the best epoch.
    folder : for checkpoints and the model.
    model : the flow operator, or what it is compared with.
    backbone, boundary : network, and what it should take the boundary of the domain for.
    spline : path through the frames, of the flow operator.
    keep, keep_ends : share of the frames to train on, see `Trajectories.subsample`.
    seed : of weights, frames and batches.
    source : where the data came from, for the recipe that is kept with the model.
    **training : as `firstlight.pde.flow.training.fit` takes it.

    Raises
    ------
    InvalidInput
        If data, backbone and model do not go together, or as in `fit`.
    """
    shared_times = all(torch.equal(t, data.t[0]) for t in data.t)
    watched = len(data) >= FEWEST_TO_WATCH and shared_times
    train, valid = data.split(0.9, seed=seed) if watched else (data, None)
    if keep != 1:
        train = train.subsample(keep, keep_ends=keep_ends, seed=seed)
    torch.manual_seed(seed)
    made = build(data, model, backbone, boundary)
    options = {"steps_per_epoch": min(500, training.get("steps", 500)), "enable_progress_bar": True, **training}
    if model == "flow":
        options["data"] = {"spline": spline}
    run = fit(made, train, valid, folder=folder, seed=seed, **options)
    recipe = {"data": source, "kind": model, "spline": spline, "keep": keep, "seed": seed, "score": run.score}
    save_model(made, Path(folder) / "model", **recipe)
    frames = sum(len(t) for t in train.t)
    name = "rollout error" if watched else "training loss"
    label_error = relative_label_error(train, spline) if model == "flow" else "none: it learns from frames"
    return Learned(made, run, name, len(train), frames, label_error)


def build(data: Trajectories, model: ModelKind, backbone: BackboneKind, boundary: Boundary) -> DynamicsModel:
    """Make a model whose channels, grid and depth go with the data."""
    channels, grid = len(data.channels), data.grid
    network = _backbone(backbone, channels, grid, boundary)
    if model == "neural-ode":
        return NeuralODE(network, channels, grid=grid)
    if model == "flow":
        return FlowOperator(network, channels, grid=grid)
    return Autoregressive(network, channels, grid=grid, target=model)


def relative_label_error(data: Trajectories, spline: Kind) -> str:
    """Estimate the relative error of the velocities, from paths of two orders, and say it."""
    path = TemporalSpline.fit(data.t, data.u, spline)
    wrong = path.label_error_estimate().square().mean().sqrt()
    size = path.sample(1000, torch.Generator().manual_seed(0), "segment").v.double().square().mean().sqrt()
    return f"{readable(wrong / size)} (relative, estimated from paths of two orders)"


def _backbone(kind: BackboneKind, channels: int, grid: tuple[int, ...], boundary: Boundary) -> nn.Module:
    if kind == "mlp" or (kind == "auto" and not grid):
        return MLP(channels)
    if kind in ("unet", "auto"):
        halvings = min((n & -n).bit_length() - 1 for n in grid) if grid else 0  # how often two divides all lengths
        return UNet(channels, len(grid), boundary, widths=LEVELS[: halvings + 1])
    modes = [min(MODES, n // 2) for n in grid]
    return (FNO if kind == "fno" else UNO)(channels, modes, boundary)
