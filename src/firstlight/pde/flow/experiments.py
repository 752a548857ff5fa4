"""One protocol for all models of dynamics: the same backbone, the same number of steps, the same seeds, the same test.

Every method learns from the training trajectories of a problem, or from a share of their frames at random times, and
keeps the weights of the epoch with the least error on validation trajectories. It is then rolled out from the first
frame of each test trajectory, and the relative L² error over all later frames is taken; the first frame is not counted.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from firstlight import parallel
from firstlight.errors import FirstlightError, InvalidInput
from firstlight.files import load_arrays
from firstlight.pde.flow.backbones import MLP, UNet
from firstlight.pde.flow.baselines import Autoregressive, NeuralODE
from firstlight.pde.flow.dynamics_model import DynamicsModel
from firstlight.pde.flow.flow_operator import FlowOperator
from firstlight.pde.flow.problems import Burgers, DiffusionReaction, Lorenz, Problem, ShallowWater, simulate
from firstlight.pde.flow.rollout import Rollout, relative_error
from firstlight.pde.flow.saved_models import save_model
from firstlight.pde.flow.trajectories import Trajectories

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """A problem, the backbone that all methods share, and how long they train.

    Attributes
    ----------
    name : of its results in a folder.
    problem : where trajectories come from.
    backbone : makes the network.
    sizes : numbers of trajectories for training, validation and test.
    steps, batch_size, learning_rate, steps_per_epoch : as `firstlight.pde.flow.training.fit` takes them.
    """

    name: str
    problem: Problem
    backbone: Callable[[], nn.Module]
    sizes: tuple[int, int, int]
    steps: int
    batch_size: int
    learning_rate: float = 1e-3
    steps_per_epoch: int = 500


# For one core: the grids of the two-dimensional problems are coarser than the paper's 128 × 128, the networks smaller.
EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment("lorenz", Lorenz(), partial(MLP, 3), sizes=(900, 16, 50), steps=4000, batch_size=512),
        # Where the method is out of its depth: frames so far apart that no path through a quarter of them is good.
        Experiment(
            "lorenz-coarse", Lorenz(frame_spacing=0.02), partial(MLP, 3),
            sizes=(900, 16, 50), steps=4000, batch_size=512,
        ),
        Experiment("burgers", Burgers(), partial(UNet, 1, 1), sizes=(400, 16, 50), steps=3000, batch_size=16),
        Experiment(
            "diffusion-reaction", DiffusionReaction(), partial(UNet, 2, 2, "neumann"),
            sizes=(100, 8, 16), steps=9000, batch_size=4, steps_per_epoch=1000,
        ),
        Experiment(
            "shallow-water", ShallowWater(points=32), partial(UNet, 3, 2, "neumann"),
            sizes=(60, 8, 16), steps=2500, batch_size=4, steps_per_epoch=500,
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Method:
    """A way to learn dynamics.

    Attributes
    ----------
    make : model from backbone, channels and grid.
    share : of the frames of each training trajectory that are kept, at random times.
    data : how training data are laid out, passed to the model's ``training_data``.
    """

    make: Callable[..., DynamicsModel]
    share: float = 1.0
    data: Mapping[str, Any] = field(default_factory=dict)


# By name, which says the share of frames in per cent.
METHODS: Mapping[str, Method] = {
    **{
        f"flow-{spline}-{percent}": Method(FlowOperator, percent / 100, {"spline": spline})
        for spline in ("linear", "quintic", "cubic", "c4")
        for percent in (10, 25, 100)
    },
    "segments-quintic-25": Method(FlowOperator, 0.25, {"spline": "quintic", "measure": "segment"}),
    "state-100": Method(partial(Autoregressive, target="state")),
    "increment-100": Method(partial(Autoregressive, target="increment")),
    "increment-noise-100": Method(partial(Autoregressive, target="increment", noise=1e-3)),
    "increment-pushforward-100": Method(partial(Autoregressive, target="increment", pushforward=1)),
    "neural-ode-25": Method(NeuralODE, 0.25),
}


def run(
    experiment: Experiment,
    methods: Iterable[str],
    *,
    seeds: Iterable[int] = (0,),
    folder: str | Path,
    workers: int = 1,
) -> list[dict[str, Any]]:
    """Train and test methods; what is in the folder is not done again.

    Parameters
    ----------
    experiment : one of `EXPERIMENTS`, or another.
    methods : keys of `METHODS`.
    seeds : of first weights, batches, and the choice of frames. The trajectories are the same for all.
    folder : for results; training goes on where it was stopped in ``runs/`` there, each with its weights in ``model``.
    workers : processes.

    Returns
    -------
    A row per run: ``method``, ``seed``, ``error`` (mean over test trajectories), ``evaluations`` per frame,
    ``seconds`` of processor per trajectory, ``ms per step`` of training, ``field error`` against the solver's
    right-hand side (nan where there is no field), and ``curve``, pairs of evaluations per frame and error.

    Raises
    ------
    InvalidInput
        If a name is unknown.
    FirstlightError
        If a run failed.
    Interrupted
        On Ctrl-C; the same call goes on.
    """
    methods, folder = tuple(methods), Path(folder)
    if unknown := set(methods) - METHODS.keys():
        raise InvalidInput(f"no method is called {min(unknown)!r}; choose {', '.join(METHODS)}")
    jobs = {f"{experiment.name}_{method}_{seed}": (experiment, method, seed) for seed in seeds for method in methods}
    done, failures = parallel.run(partial(_job, folder / "runs"), jobs, folder=folder, workers=workers)
    if failures:
        raise FirstlightError("\n".join(f"{key} failed:\n{failure}" for key, failure in failures.items()))
    rows = []
    for key, (_, method, seed) in jobs.items():
        result = {name: array.tolist() for name, array in load_arrays(done[key]).items()}
        rows.append({"experiment": experiment.name, "method": method, "seed": seed} | result)
    return rows


def summary(rows: Iterable[Row], against: str = "state-100") -> list[dict[str, Any]]:
    """Mean and spread of the error over seeds, and its ratio to that of another method, seed by seed."""
    rows = list(rows)
    by_method: dict[str, dict[int, Row]] = {}
    for row in rows:
        by_method.setdefault(row["method"], {})[row["seed"]] = row
    peers = by_method.get(against, {})
    table = []
    for method, runs in by_method.items():
        errors = np.array([row["error"] for row in runs.values()])
        line: dict[str, Any] = {"method": method, "seeds": len(runs), "error": float(errors.mean())}
        line["spread"] = float(errors.std(ddof=1)) if len(runs) > 1 else float("nan")
        shared = runs.keys() & peers.keys()
        if shared:
            ratios = [runs[seed]["error"] / peers[seed]["error"] for seed in sorted(shared)]
            line[f"over {against}"] = float(np.mean(ratios))
        for name in ("evaluations", "milliseconds", "ms per step", "field error"):
            line[name] = float(np.mean([row[name] for row in runs.values()]))
        table.append(line)
    return table


def trajectories(experiment: Experiment) -> tuple[Trajectories, Trajectories, Trajectories]:
    """Draw training, validation and test trajectories, with seeds 0, 1 and 2."""
    return _trajectories(experiment.problem, experiment.sizes)


@cache
def _trajectories(problem: Problem, sizes: tuple[int, int, int]) -> tuple[Trajectories, Trajectories, Trajectories]:
    train, valid, test = (simulate(problem, n, seed=seed).trajectories() for seed, n in enumerate(sizes))
    return train, valid, test


def build(experiment: Experiment, method: str, seed: int) -> DynamicsModel:
    """Make a model with first weights that the seed gives."""
    problem = experiment.problem
    grid = [len(points) for points in problem.grid.values()]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return METHODS[method].make(experiment.backbone(), len(problem.channels), grid=grid)


def truth(test: Trajectories) -> tuple[Tensor, Float[Tensor, "times batch channels *grid"]]:
    """Times and frames of trajectories that share their times."""
    return test.t[0], torch.stack(test.u, dim=1)


def field_error(model: FlowOperator, problem: Problem, test: Trajectories) -> float:
    """Relative error of the learned velocity against the solver's right-hand side, on every tenth test frame."""
    states = torch.cat([u[::10] for u in test.u])
    true = torch.from_numpy(problem.right_hand_side(states.double().numpy()))
    with torch.no_grad():
        found = torch.cat([model(0.0, part) for part in states.split(64)])
    return float((found - true).norm() / true.norm())


def error_against_evaluations(
    model: FlowOperator, test: Trajectories, per_frame: Iterable[float] = (0.25, 0.5, 1, 2, 4), method: Any = "rk4"
) -> list[tuple[float, float, float]]:
    """Evaluations per frame, error, and milliseconds of processor per trajectory, at several costs of integration."""
    t, u = truth(test)
    curve = []
    for share in per_frame:
        rollout, milliseconds = timed(
            lambda share=share: model.predict(u[0], t, method=method, nfe=int(share * (len(t) - 1)))
        )
        error = float(relative_error(rollout.u, u).mean())
        curve.append((rollout.evaluations / (len(t) - 1), error, milliseconds / u.shape[1]))
    return curve


def timed(roll: Callable[[], Rollout]) -> tuple[Rollout, float]:
    """Rollout, and the milliseconds of processor time it took."""
    began = process_time()
    rollout = roll()
    return rollout, 1e3 * (process_time() - began)


def step_cost(
    model: Any, trajectories: Trajectories, batch_size: int, *, data: Mapping[str, Any] | None = None, repeats: int = 20
) -> float:
    """Milliseconds of processor per step of training, drawing included, in the median; the model is left as it was."""
    kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    sampler = model.training_data(trajectories, **(data or {}))
    optimizer = torch.optim.Adam(model.parameters())
    taken = []
    for _ in range(repeats + 2):
        began = process_time()
        optimizer.zero_grad()
        model.loss(sampler.draw(batch_size)).backward()
        optimizer.step()
        taken.append(process_time() - began)
    model.load_state_dict(kept)
    return 1e3 * float(np.median(taken[2:]))


def _job(runs: Path, job: tuple[Experiment, str, int]) -> dict[str, Any]:
    from firstlight.pde.flow.training import fit  # Lightning, which testing a model does without

    experiment, method, seed = job
    train, valid, test = trajectories(experiment)
    model: Any = build(experiment, method, seed)
    folder = runs / f"{experiment.name}_{method}_{seed}"
    recipe = METHODS[method]
    data = train if recipe.share == 1 else train.subsample(recipe.share, seed=seed)
    fit(
        model,
        data,
        valid,
        folder=folder,
        steps=experiment.steps,
        batch_size=experiment.batch_size,
        learning_rate=experiment.learning_rate,
        steps_per_epoch=experiment.steps_per_epoch,
        seed=seed,
        resume=(folder / "last.ckpt").exists(),
        data=dict(recipe.data),
        enable_progress_bar=False,
    )
    save_model(model, folder / "model", experiment=experiment.name, method=method, seed=seed)
    t, u = truth(test)
    rollout, milliseconds = timed(lambda: model.predict(u[0], t))
    has_field = isinstance(model, FlowOperator)
    return {
        "error": float(relative_error(rollout.u, u).mean()),
        "evaluations": rollout.evaluations / (len(t) - 1),
        "milliseconds": milliseconds / u.shape[1],
        "ms per step": step_cost(model, data, experiment.batch_size, data=recipe.data),
        "field error": field_error(model, experiment.problem, test) if has_field else float("nan"),
        "curve": error_against_evaluations(model, test) if has_field else [],
        "multistep curve": error_against_evaluations(model, test, (0.5, 1, 2), "ab4") if has_field else [],
    }
