"""Many trajectories of a problem, and the files PDEBench would keep them in."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64

from firstlight import parallel
from firstlight.errors import FirstlightError, InvalidInput
from firstlight.files import load_arrays, writable, written_whole
from firstlight.pde.flow.hdf5_files import import_h5py, write_groups
from firstlight.pde.flow.problems.problem import Histories, Problem

if TYPE_CHECKING:
    from firstlight.pde.flow.trajectories import Trajectories

CHUNK = 25  # trajectories that are solved together, as arrays


@dataclass(frozen=True)
class Simulation:
    r"""Reference trajectories of a problem.

    Attributes
    ----------
    problem : with its parameters.
    times : of the frames.
    states : array of shape (n, frames, channels, \*space).
    seed : of the initial states.
    """

    problem: Problem
    times: Float64[np.ndarray, " frames"]
    states: Histories
    seed: int

    def trajectories(self) -> "Trajectories":
        """Hand them to a model: frames in single precision, as a file would keep them, times in double."""
        from firstlight.pde.flow.trajectories import Trajectories

        pairs = [(self.times, history.astype(np.float32)) for history in self.states]
        return replace(Trajectories.from_list(pairs, self.problem.channels), coordinates=dict(self.problem.grid))

    def save(self, path: str | Path) -> None:
        r"""Write the trajectories to an HDF5 file in PDEBench's layout, whole or not at all.

        One field on a line goes into a single ``tensor`` of shape (n, frames, x), with ``t-coordinate`` and
        ``x-coordinate``. Anything else goes into groups ``0000``, ``0001``, …, each with ``data`` of shape (frames,
        \*space, channels) and ``grid/t``, ``grid/x``, …. Values are single precision, as there, and times double.

        Raises
        ------
        InvalidInput
            If the path cannot be written.
        MissingExtra
            If h5py is not installed.
        """
        h5py = import_h5py()
        path = writable(path, ".hdf5", ".h5")
        with written_whole(path) as partial_file, h5py.File(partial_file, "w") as file:
            file.attrs["problem"] = self.problem.name
            file.attrs["parameters"] = json.dumps(asdict(self.problem))  # type: ignore[call-overload] - a dataclass
            file.attrs["channels"] = list(self.problem.channels)
            file.attrs["seed"] = self.seed
            axes = self.problem.grid
            if len(self.problem.channels) == len(axes) == 1:
                file["tensor"] = self.states[:, :, 0].astype(np.float32)
                file["t-coordinate"] = self.times
                file["x-coordinate"] = axes["x"]
                return
            pairs = ((self.times, history.astype(np.float32)) for history in self.states)
            write_groups(file, pairs, (f"{number:04d}" for number in range(len(self.states))), axes)


def simulate(
    problem: Problem,
    n: int,
    *,
    seed: int = 0,
    times: Float64[np.ndarray, " frames"] | None = None,
    workers: int | None = None,
    folder: str | Path | None = None,
) -> Simulation:
    """Solve a problem from random initial states.

    The same call gives the same numbers, in however many processes they are solved.

    Parameters
    ----------
    problem : what to solve.
    n : number of trajectories.
    seed : of the initial states.
    times : of the frames; those of the problem unless given.
    workers : processes; solved in this one unless given.
    folder : where finished parts are kept, so that the same call goes on where it was stopped; one folder for one
        problem, one seed, and one choice of times.

    Raises
    ------
    InvalidInput
        If `n` is not positive, or as ``problem.solve`` does.
    FirstlightError
        If a solver failed.
    Interrupted
        On Ctrl-C, with `workers` or `folder`.
    """
    if n < 1:
        raise InvalidInput(f"expected a positive number of trajectories, got {n}")
    times = problem.times if times is None else times
    parts = [(problem, min(CHUNK, n - first), [seed, first], times) for first in range(0, n, CHUNK)]
    if workers is None and folder is None:
        solved = [_part(part)["states"] for part in parts]
    else:
        solved = list(_solved_elsewhere(parts, workers, folder))
    return Simulation(problem, times, np.concatenate(solved), seed)


def _solved_elsewhere(parts: list, workers: int | None, folder: str | Path | None) -> Iterator[np.ndarray]:
    jobs = {f"{part[0].name}-{part[2][1]:05d}": part for part in parts}
    done, failures = parallel.run(_part, jobs, workers=workers, folder=folder)
    if failures:
        raise FirstlightError("\n".join(f"{key} failed:\n{failure}" for key, failure in failures.items()))
    for result in done.values():
        yield (result if folder is None else load_arrays(result))["states"]


def _part(part: tuple[Problem, int, list[int], np.ndarray]) -> dict[str, Any]:
    problem, n, entropy, times = part
    return {"states": problem.solve(problem.initial_states(n, np.random.default_rng(entropy)), times)}
