"""How good the velocities are that a velocity field is trained on, before any network takes part."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from firstlight.pde.flow.problems import Problem, simulate
from firstlight.pde.flow.temporal_spline import Kind, TemporalSpline

KINDS: tuple[Kind, ...] = ("linear", "quintic", "hermite5", "cubic", "c4")
# Of the error of velocities in the distance of snapshots; theory, for smooth solutions.
ORDERS: Mapping[Kind, int] = {"linear": 1, "quintic": 2, "cubic": 3, "hermite5": 4, "c4": 5}


def measured_orders(kinds: Iterable[Kind] = KINDS, frames: tuple[int, int] = (81, 161)) -> list[dict[str, Any]]:
    """Orders of convergence of the velocities on sin(t), t from 1 to 6, at snapshots that lie unevenly.

    Returns
    -------
    A row per kind: the largest ``error`` with the larger number of frames, the ``order`` between the two, and
    what ``theory`` says.
    """
    rows = []
    for kind in kinds:
        coarse, fine = (_error_on_sine(kind, n) for n in frames)
        order = np.log(coarse / fine) / np.log((frames[1] - 1) / (frames[0] - 1))
        rows.append({"kind": kind, "error": fine, "order": float(order), "theory": ORDERS[kind]})
    return rows


def label_errors(
    problem: Problem,
    share: float,
    kinds: Iterable[Kind] = KINDS,
    *,
    n: int = 8,
    between: int = 4,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Velocities of paths through a share of the frames, against the solver's right-hand side.

    Parameters
    ----------
    problem : whose frames are taken.
    share : of the frames of each trajectory that are kept, at random times.
    kinds : of paths.
    n : number of trajectories.
    between : times that are compared, per frame spacing.
    seed : of the choice of frames.

    Returns
    -------
    A row per kind: the relative L² ``error`` over all trajectories, at times between the first and last frame kept.
    """
    frames = problem.times
    dense = np.interp(np.arange((len(frames) - 1) * between + 1) / between, np.arange(len(frames)), frames)
    simulation = simulate(problem, n, times=dense)
    snapshots = replace(simulation, times=dense[::between], states=simulation.states[:, ::between])
    kept = snapshots.trajectories().subsample(share, seed=seed)
    rows = []
    for kind in kinds:
        path = TemporalSpline.fit(kept.t, kept.u, kind)
        wrong = size = 0.0
        for b, states in enumerate(simulation.states):
            inside = (dense >= float(kept.t[b][0])) & (dense <= float(kept.t[b][-1]))
            velocity = path.derivative(torch.from_numpy(dense[inside]), b).double().numpy()
            true = problem.right_hand_side(states[inside])
            wrong += float(((velocity - true) ** 2).sum())
            size += float((true**2).sum())
        rows.append({"kind": kind, "error": (wrong / size) ** 0.5})
    return rows


def _error_on_sine(kind: Kind, frames: int) -> float:
    even = np.linspace(0, 1, frames)
    t = 1 + 5 * even - np.sin(2 * np.pi * even) / 2.5  # half as far apart at the ends as on average
    path = TemporalSpline.fit(t, np.sin(t)[:, None], kind)
    times = np.linspace(1, 6, 8001)
    return float(np.abs(path.derivative(times).numpy()[:, 0] - np.cos(times)).max())
