"""Velocities of paths against truth."""

import numpy as np
import pytest

from firstlight.pde.flow.label_quality import ORDERS, label_errors, measured_orders
from firstlight.pde.flow.problems import Burgers, Lorenz, simulate


def test_orders_are_those_of_theory():
    orders = {row["kind"]: row["order"] for row in measured_orders()}
    assert orders == pytest.approx(ORDERS, abs=0.15)


def test_straight_lines_have_the_error_that_differences_have():
    problem = Burgers(points=32, frames=11)
    (row,) = label_errors(problem, 1.0, ["linear"], n=2, between=2)
    dense = np.linspace(0, 1, 21)
    states = simulate(problem, 2, times=dense).states.astype(np.float32).astype(float)
    slope = np.repeat(np.diff(states[:, ::2], axis=1) / 0.1, 2, axis=1)
    slope = np.concatenate([slope, slope[:, -1:]], axis=1)  # a frame's slope is that of the segment after it
    true = np.stack([problem.right_hand_side(u) for u in simulate(problem, 2, times=dense).states])
    assert row["error"] == pytest.approx(np.linalg.norm(slope - true) / np.linalg.norm(true), rel=1e-4)


def test_fewer_frames_give_worse_labels_and_better_paths_better_ones():
    few, all_frames = (
        {row["kind"]: row["error"] for row in label_errors(Lorenz(duration=1.0, spin_up=1.0), share, n=2)}
        for share in (0.25, 1.0)
    )
    assert all(few[kind] > all_frames[kind] for kind in few)
    assert few["linear"] > few["quintic"] > few["c4"]


def test_the_choice_of_frames_follows_the_seed():
    first, again, other = (
        label_errors(Lorenz(duration=0.5, spin_up=0.5), 0.5, ["quintic"], n=1, seed=seed)[0]["error"]
        for seed in (0, 0, 1)
    )
    assert first == again != other
