"""Trajectories as they come: snapshots at times of their own, read from files or given as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from firstlight.errors import InvalidInput
from firstlight.pde.flow.hdf5_files import read_hdf5, write_hdf5
from firstlight.pde.flow.labelled_arrays import read_labelled
from firstlight.pde.flow.reading import Reading
from firstlight.pde.flow.temporal_spline import check_finite, check_times


@dataclass(frozen=True)
class Trajectories:
    """Snapshots of one or more runs of the same system.

    Attributes
    ----------
    t : times of each trajectory, in double precision.
    u : frames of each trajectory, (times, channels, *grid).
    names : of the trajectories.
    channels : names of the fields.
    coordinates : of the grid, one array per dimension, by name, as far as they are known.
    notes : what the reader left out or found missing, in sentences.
    time_unit : of the times, where the file says.
    """

    t: list[Float64[Tensor, " _times"]]
    u: list[Float[Tensor, "_times channels *grid"]]
    names: tuple[str, ...]
    channels: tuple[str, ...]
    coordinates: dict[str, Float64[np.ndarray, " _points"]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    time_unit: str | None = None

    @classmethod
    def from_list(
        cls,
        trajectories: Sequence[tuple[Tensor | np.ndarray | Sequence, Tensor | np.ndarray | Sequence]],
        channels: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
    ) -> "Trajectories":
        """Take pairs of times (times_b,) and frames (times_b, channels, *grid).

        Parameters
        ----------
        trajectories : the pairs; each may have times of its own, of any number.
        channels, names : of the fields and of the trajectories; numbered unless given.

        Raises
        ------
        InvalidInput
            If times do not increase, a frame is not finite, or shapes differ.
        """
        fields, labels = list(channels or ()), list(names or ())
        return _checked(Reading("", fields, [(t, u) for t, u in trajectories], labels))

    @classmethod
    def from_hdf5(cls, path: str | Path, *, samples: int | None = None) -> "Trajectories":
        """Read an HDF5 file in either layout of PDEBench, with one data set per field, or of The Well.

        Parameters
        ----------
        path : the file.
        samples : read only the first so many trajectories.

        Raises
        ------
        InvalidInput
            If it holds no trajectories, times do not increase or do not match the frames, or a frame is not finite.
        MissingExtra
            If h5py is not installed.
        """
        return _checked(read_hdf5(path, samples))

    @classmethod
    def from_xarray(
        cls, data: Any, *, time: str = "time", sample: str = "sample", samples: int | None = None
    ) -> "Trajectories":
        """Read an ``xarray.Dataset`` or ``DataArray``, or the netCDF file or zarr store at a path.

        Parameters
        ----------
        data : the data set, or its path. Dates and durations become seconds.
        time, sample : names of the dimensions of time and of the trajectories (of which there may be one, without).
        samples : read only the first so many trajectories.

        Raises
        ------
        InvalidInput
            If dimensions are missing, times do not increase, or a frame is not finite.
        MissingExtra
            If xarray, or what it needs to open the file, is not installed.
        """
        return _checked(read_labelled(data, time=time, sample=sample, samples=samples))

    @classmethod
    def from_file(cls, path: str | Path, *, samples: int | None = None) -> "Trajectories":
        """Read a file by its ending: ``.h5`` and ``.hdf5``, ``.nc`` and ``.zarr``.

        Raises
        ------
        InvalidInput
            If the ending is another, or as the readers do.
        """
        ending = Path(path).suffix.lower()
        if ending in (".h5", ".hdf5"):
            return cls.from_hdf5(path, samples=samples)
        if ending in (".nc", ".zarr"):
            return cls.from_xarray(path, samples=samples)
        if ending == ".mat":
            raise InvalidInput(
                f"{path}: MATLAB files are not read, since they do not say which axis is time. With it last: data = "
                f"scipy.io.loadmat(file); t = data['t'].ravel(); Trajectories.from_list([(t, numpy.moveaxis(u, -1, 0)"
                f"[:, None]) for u in data['u']]). An initial state kept apart goes before, with its time"
            )
        raise InvalidInput(f"cannot tell what {path} is; expected a name in .h5, .hdf5, .nc or .zarr")

    def to_hdf5(self, path: str | Path) -> None:
        """Write to a file in PDEBench's grouped layout, whole or not at all.

        Raises
        ------
        InvalidInput
            If the path cannot be written.
        MissingExtra
            If h5py is not installed.
        """
        pairs = ((t.numpy(), u.numpy()) for t, u in zip(self.t, self.u, strict=True))
        write_hdf5(path, pairs, self.names, self.channels, self.coordinates)

    def __len__(self) -> int:
        """Return the number of trajectories."""
        return len(self.t)

    def __getitem__(self, which: slice | Sequence[int]) -> "Trajectories":
        """Return some of the trajectories."""
        chosen = range(len(self))[which] if isinstance(which, slice) else which
        t, u, names = ([of[b] for b in chosen] for of in (self.t, self.u, self.names))
        return replace(self, t=t, u=u, names=tuple(names))

    @property
    def grid(self) -> tuple[int, ...]:
        """Lengths of the grid; none for states without one."""
        return tuple(self.u[0].shape[2:])

    @property
    def mean_spacing(self) -> float:
        """Mean time between neighbouring frames, over all trajectories."""
        return sum(float(t[-1] - t[0]) for t in self.t) / sum(len(t) - 1 for t in self.t)

    def split(self, *shares: float, seed: int = 0) -> list["Trajectories"]:
        """Divide by trajectory, never by frame, at random: ``train, valid, test = data.split(0.9, 0.05)``.

        Parameters
        ----------
        shares : of all parts but the last, which takes what is left.
        seed : of the order.

        Raises
        ------
        InvalidInput
            If a part would be empty.
        """
        order = np.random.default_rng(seed).permutation(len(self)).tolist()
        ends = [0, *(round(len(self) * share) for share in np.cumsum(shares)), len(self)]
        parts = [order[a:b] for a, b in pairwise(ends)]
        if not all(parts):
            raise InvalidInput(f"{len(self)} trajectories cannot be divided into parts of {[len(p) for p in parts]}")
        return [self[sorted(part)] for part in parts]

    def skip(self, frames: int) -> "Trajectories":
        """Leave out the first frames of each trajectory, such as white noise before anything has happened.

        Raises
        ------
        InvalidInput
            If a trajectory would have none left.
        """
        if frames < 0 or frames >= min(map(len, self.t)):
            raise InvalidInput(f"cannot leave out {frames} of the {min(map(len, self.t))} frames of a trajectory")
        return replace(self, t=[t[frames:] for t in self.t], u=[u[frames:] for u in self.u])

    def subsample(self, ratio: float, *, keep_ends: bool = False, seed: int = 0) -> "Trajectories":
        """Keep a share of the frames of each trajectory, at random times, its own for each.

        Parameters
        ----------
        ratio : share to keep, rounded to whole frames.
        keep_ends : keep the first and the last frame always. Otherwise they are drawn as the others are, and times
            before the first frame kept are never trained on.
        seed : of the draw.

        Raises
        ------
        InvalidInput
            If the share does not lie in (0, 1], or leaves a trajectory fewer than two frames.
        """
        if not 0 < ratio <= 1:
            raise InvalidInput(f"expected a share of the frames in (0, 1], got {ratio}")
        generator = np.random.default_rng(seed)
        kept = []
        for t, name in zip(self.t, self.names, strict=True):
            count = round(len(t) * ratio)
            if count < 2:
                raise InvalidInput(f"{ratio:g} of the {len(t)} frames of trajectory {name} leaves fewer than two")
            inner = np.arange(len(t))
            if keep_ends:
                drawn = generator.choice(inner[1:-1], count - 2, replace=False)
                kept.append(np.sort([0, *drawn, len(t) - 1]))
            else:
                kept.append(np.sort(generator.choice(inner, count, replace=False)))
        t, u = ([x[k] for x, k in zip(of, kept, strict=True)] for of in (self.t, self.u))
        return replace(self, t=t, u=u)


def _checked(reading: Reading) -> Trajectories:
    """Make trajectories of what was read, or refuse it with the name of the file and of the trajectory."""
    if not reading.pairs:
        raise InvalidInput(f"{reading.source or 'the list'}: expected at least one trajectory, found none")
    times = [torch.as_tensor(t, dtype=torch.float64) for t, _ in reading.pairs]
    frames = [torch.as_tensor(u) for _, u in reading.pairs]
    frames = [u if u.dtype == torch.float64 else u.float() for u in frames]
    labels = reading.names or [f"{b:04d}" for b in range(len(times))]
    for t, u, name in zip(times, frames, labels, strict=True):
        where = f"{reading.source}: trajectory {name}" if reading.source else f"trajectory {name}"
        if u.ndim < 2 or t.shape != u.shape[:1]:
            raise InvalidInput(
                f"{where} has times {tuple(t.shape)} and frames {tuple(u.shape)}; expected (times,) and (times, "
                f"channels, …)"
            )
        if u.shape[1:] != frames[0].shape[1:]:
            raise InvalidInput(
                f"{where} has frames of shape {tuple(u.shape[1:])}, trajectory {labels[0]} of "
                f"{tuple(frames[0].shape[1:])}; all must have the same channels and grid"
            )
        check_times(t, where)
        check_finite(u, where)
    channels = reading.channels or [f"u{c}" for c in range(frames[0].shape[1])]
    if len(channels) != frames[0].shape[1]:
        raise InvalidInput(f"{frames[0].shape[1]} channels cannot be called {', '.join(channels)}")
    named = tuple(labels), tuple(channels)
    return Trajectories(times, frames, *named, reading.coordinates, tuple(reading.notes), reading.time_unit)
