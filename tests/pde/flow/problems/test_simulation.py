"""Simulations: the same numbers every time, and the files of PDEBench."""

import json

import h5py
import numpy as np
import pytest

from firstlight.errors import InvalidInput
from firstlight.pde.flow.problems import Burgers, DiffusionReaction, Lorenz, simulate


def test_a_call_gives_the_same_numbers_in_other_processes_and_after_a_stop(tmp_path):
    problem = Burgers(points=32, frames=3, dt=0.01)
    once = simulate(problem, 60, seed=3)
    assert once.states.shape == (60, 3, 1, 32)
    elsewhere = simulate(problem, 60, seed=3, workers=1, folder=tmp_path)
    np.testing.assert_array_equal(once.states, elsewhere.states)
    (tmp_path / "burgers-00025.npz").unlink()
    np.testing.assert_array_equal(once.states, simulate(problem, 60, seed=3, workers=1, folder=tmp_path).states)
    assert (simulate(problem, 60, seed=4).states[0] != once.states[0]).any()


def test_one_field_on_a_line_is_written_as_one_tensor(tmp_path):
    simulation = simulate(Burgers(points=32, frames=11), 4)
    simulation.save(tmp_path / "burgers.hdf5")
    with h5py.File(tmp_path / "burgers.hdf5") as file:
        np.testing.assert_allclose(file["tensor"][:], simulation.states[:, :, 0], rtol=1e-6)
        np.testing.assert_array_equal(file["t-coordinate"][:], np.linspace(0, 1, 11))
        np.testing.assert_array_equal(file["x-coordinate"][:], np.arange(32) / 32)
        assert json.loads(file.attrs["parameters"])["viscosity"] == 0.01


def test_several_fields_are_written_as_groups_with_channels_last(tmp_path):
    simulation = simulate(DiffusionReaction(points=8), 2, times=np.array([0.5, 1.0, 1.25]))
    simulation.save(tmp_path / "reaction.h5")
    with h5py.File(tmp_path / "reaction.h5") as file:
        assert sorted(file) == ["0000", "0001"]
        data = file["0001/data"]
        assert data.shape == (3, 8, 8, 2)
        np.testing.assert_allclose(data[2, 3, 5], simulation.states[1, 2, :, 3, 5], rtol=1e-6)
        np.testing.assert_array_equal(file["0001/grid/t"][:], [0.5, 1.0, 1.25])
        assert list(file.attrs["channels"]) == ["activator", "inhibitor"]


def test_a_file_with_another_ending_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(InvalidInput, match=r"\.hdf5"):
        simulate(Lorenz(duration=0.1, spin_up=0.1), 1).save(tmp_path / "lorenz.csv")
    assert list(tmp_path.iterdir()) == []


def test_no_trajectories_are_refused():
    with pytest.raises(InvalidInput, match="positive"):
        simulate(Lorenz(), 0)
