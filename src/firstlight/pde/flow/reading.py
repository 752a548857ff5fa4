"""What every reader of trajectories returns, and how it pairs frames with times."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float64

from firstlight.errors import InvalidInput


@dataclass
class Reading:
    """Trajectories as they stand in a file, before they are checked.

    Attributes
    ----------
    source : the file, for messages.
    channels : names of the fields.
    pairs : times (times,) and frames (times, channels, *grid) of each trajectory, arrays or tensors.
    names : of the trajectories.
    coordinates : of the grid, in the order of its dimensions.
    notes : what was left out or is missing.
    time_unit : of the times, where the file says.
    """

    source: str
    channels: list[str] = field(default_factory=list)
    pairs: list[tuple[Any, Any]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    coordinates: dict[str, Float64[np.ndarray, " _points"]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    time_unit: str | None = None

    def note(self, sentence: str) -> None:
        """Write down once what happened, however many trajectories it happened to."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def matched(self, times: np.ndarray, frames: int, what: str) -> Float64[np.ndarray, " times"]:
        """Give the times of so many frames; one time more than frames is left out at the end.

        PDEBench's own solvers for advection, Burgers and compressible flow write the time at which they stopped after
        the time of the last frame.

        Raises
        ------
        InvalidInput
            If numbers differ otherwise.
        """
        times = np.asarray(times, dtype=np.float64)
        if times.ndim == 1 and len(times) == frames + 1:
            self.note(f"{len(times)} times for {frames} frames: the last time, {times[-1]:g}, belongs to no frame")
            return times[:-1]
        if times.shape != (frames,):
            raise InvalidInput(
                f"{self.source}: {what} has {frames} frames, and its times have shape {times.shape}; expected one time "
                f"per frame, time on the axis after the samples"
            )
        return times

    def place(self, name: str, points: np.ndarray, length: int) -> None:
        """Take down a coordinate of the grid, unless it is not one of its points."""
        if np.shape(points) == (length,):
            self.coordinates[name] = np.asarray(points, dtype=np.float64)
        else:
            self.note(f"coordinate {name} has shape {np.shape(points)} for {length} points, and is left out")


def as_frames(values: np.ndarray) -> np.ndarray:
    """Bring frames into single or double precision, in this machine's order of bytes."""
    return np.ascontiguousarray(values, dtype=np.float64 if values.dtype.itemsize > 4 else np.float32)
