"""Trajectories in HDF5 files: both layouts of PDEBench, one data set per field, and The Well.

============================ ========================================================================
layout                       frames, and times
============================ ========================================================================
PDEBench, one file           ``tensor`` or one data set per field, each (sample, time, x, …);
                             ``t-coordinate``, ``x-coordinate``, …
PDEBench, grouped            ``0000/data`` (time, x, …, channel); ``0000/grid/t``, ``0000/grid/x``, …
The Well                     ``t0_fields/name`` (sample, time, x, …), ``t1_fields`` with a last axis of
                             components, ``t2_fields`` with two; ``dimensions/time``, ``dimensions/x``…
============================ ========================================================================
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from firstlight.errors import InvalidInput, MissingExtra
from firstlight.files import writable, written_whole
from firstlight.pde.flow.reading import Reading, as_frames


def read_hdf5(path: str | Path, samples: int | None = None) -> Reading:
    """Read trajectories from a file, whose layout is recognised.

    Parameters
    ----------
    path : the file.
    samples : read only the first so many.

    Raises
    ------
    InvalidInput
        If it is no HDF5 file, holds no trajectories, or times and frames do not match.
    MissingExtra
        If h5py is not installed.
    """
    h5py = import_h5py()
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        if not Path(path).is_file():
            raise
        raise InvalidInput(f"{path} is no readable HDF5 file: {error}") from error
    reading = Reading(str(path))
    with file:
        if "dimensions" in file and any(f"t{rank}_fields" in file for rank in range(3)):
            _read_the_well(file, reading, samples)
        elif groups := sorted(name for name, item in file.items() if isinstance(item, h5py.Group) and "data" in item):
            _read_groups(file, groups, reading, samples)
        elif "t-coordinate" in file:
            _read_single(file, reading, samples)
        else:
            raise InvalidInput(
                f"{path} holds no trajectories in a known layout; expected PDEBench's 't-coordinate' beside the "
                f"fields, its groups '0000/data' and '0000/grid/t', or The Well's 'dimensions' and 't0_fields'; found "
                f"{', '.join(sorted(file)[:8]) or 'nothing'}. Else read it with h5py and give Trajectories.from_list"
            )
        named = [name.decode() if isinstance(name, bytes) else str(name) for name in file.attrs.get("channels", ())]
        if len(named) == len(reading.channels):
            reading.channels = named
    return reading


def _read_single(file: Any, reading: Reading, samples: int | None) -> None:
    axes = [axis for axis in "xyz" if f"{axis}-coordinate" in file]
    ranked = {name: item for name, item in file.items() if getattr(item, "ndim", 0) >= 3 and item.dtype.kind == "f"}
    if not ranked:
        raise InvalidInput(f"{reading.source} has times but no field (sample, time, x, …)")
    first = next(iter(ranked.values()))
    fields = {name: item for name, item in ranked.items() if item.shape[:2] == first.shape[:2]}
    for name in ranked.keys() - fields.keys():
        reading.note(f"data set {name} of shape {ranked[name].shape} goes with no other, and is left out")
    arrays, grid_rank = [], len(axes) or first.ndim - 2
    for name, item in fields.items():
        array = as_frames(item[:samples])
        if array.ndim == grid_rank + 2:
            arrays.append(array[:, :, None])
            reading.channels.append("u" if name == "tensor" else name)
        elif array.ndim == grid_rank + 3:
            arrays.append(np.moveaxis(array, -1, 2))
            reading.channels.extend(f"{name}{c}" for c in range(array.shape[-1]))
        else:
            raise InvalidInput(
                f"{reading.source}: {name} has shape {array.shape} and there are coordinates {', '.join(axes)}; "
                f"expected (sample, time, {', '.join(axes)}), with or without a last axis of channels"
            )
    if len({array.shape[3:] for array in arrays}) > 1:
        raise InvalidInput(f"{reading.source}: fields lie on different grids: {[a.shape[3:] for a in arrays]}")
    u = np.concatenate(arrays, axis=2)
    times = np.asarray(file["t-coordinate"])
    for b in range(len(u)):
        own = times[b] if times.ndim == 2 else times
        reading.pairs.append((reading.matched(own, u.shape[1], f"'{next(iter(fields))}'"), u[b]))
        reading.names.append(f"{b:04d}")
    for axis, length in zip(axes, u.shape[3:], strict=True):
        reading.place(axis, np.asarray(file[f"{axis}-coordinate"]), length)


def _read_groups(file: Any, groups: list[str], reading: Reading, samples: int | None) -> None:
    numbers = [int(name) for name in groups if name.isdecimal()]
    if len(numbers) == len(groups) and (missing := set(range(max(numbers))) - set(numbers)):
        digits = len(groups[0])
        shown = ", ".join(f"{number:0{digits}d}" for number in sorted(missing)[:8])
        reading.note(f"missing in the sequence: {shown}{' …' if len(missing) > 8 else ''}; nothing stands in for it")
    for name in groups[:samples]:
        if "grid/t" not in file[name]:
            raise InvalidInput(
                f"{reading.source}: group {name} has no times 'grid/t'; add them, or leave the group out"
            )
        values = as_frames(file[name]["data"][()])
        if values.ndim < 2:
            raise InvalidInput(
                f"{reading.source}: {name}/data has shape {values.shape}; expected (time, x, …, channel)"
            )
        u = np.moveaxis(values, -1, 1)
        reading.pairs.append((reading.matched(np.asarray(file[name]["grid/t"]), len(u), f"{name}/data"), u))
        reading.names.append(name)
    _note_lengths(reading)
    first = reading.pairs[0][1]
    reading.channels = [f"u{c}" for c in range(first.shape[1])] if first.shape[1] > 1 else ["u"]
    grid = file[groups[0]]["grid"]
    axes = [axis for axis in "xyz" if axis in grid]
    for axis, length in zip(axes, first.shape[2:], strict=False):
        reading.place(axis, np.asarray(grid[axis]), length)


def _note_lengths(reading: Reading) -> None:
    """Say which trajectories have another number of frames than most."""
    lengths = [len(u) for _, u in reading.pairs]
    usual = max(set(lengths), key=lengths.count)
    for name, length in zip(reading.names, lengths, strict=True):
        if length != usual:
            reading.note(f"trajectory {name} has {length} frames, most have {usual}")


def _read_the_well(file: Any, reading: Reading, samples: int | None) -> None:
    axes = [a.decode() if isinstance(a, bytes) else str(a) for a in file["dimensions"].attrs["spatial_dims"]]
    arrays = []
    for rank in range(3):
        for name, item in file.get(f"t{rank}_fields", {}).items():
            if not item.attrs.get("time_varying", True) or not np.all(item.attrs.get("dim_varying", True)):
                reading.note(f"{name} does not vary in time, or not in all of space, and is left out")
                continue
            array = as_frames(item[:samples] if item.attrs.get("sample_varying", True) else item[()][None])
            parts = array.reshape(*array.shape[: 2 + len(axes)], -1)
            arrays.append(np.moveaxis(parts, -1, 2))
            one = parts.shape[-1] == 1
            reading.channels.extend(
                [name] if one else (f"{name}_{_component(c, axes, rank)}" for c in range(parts.shape[-1]))
            )
    if not arrays:
        raise InvalidInput(f"{reading.source} holds no field that varies in time")
    u = np.concatenate(arrays, axis=2)
    times = np.asarray(file["dimensions/time"])
    for b in range(len(u)):
        reading.pairs.append((reading.matched(times[b] if times.ndim == 2 else times, u.shape[1], "a field"), u[b]))
        reading.names.append(f"{b:04d}")
    for axis, length in zip(axes, u.shape[3:], strict=True):
        points = np.asarray(file["dimensions"][axis])
        reading.place(axis, points[0] if points.ndim == 2 else points, length)


def _component(c: int, axes: list[str], rank: int) -> str:
    return axes[c] if rank == 1 else "".join(axes[k] for k in divmod(c, len(axes)))


def write_hdf5(
    path: str | Path,
    pairs: Iterable[tuple[Float64[np.ndarray, " _times"], np.ndarray]],
    names: Iterable[str],
    channels: Iterable[str],
    coordinates: dict[str, Float64[np.ndarray, " _points"]],
) -> None:
    """Write trajectories in PDEBench's grouped layout, whole or not at all.

    Raises
    ------
    InvalidInput
        If the path cannot be written.
    MissingExtra
        If h5py is not installed.
    """
    with written_whole(writable(path, ".h5", ".hdf5")) as partial, import_h5py().File(partial, "w") as file:
        file.attrs["channels"] = list(channels)
        write_groups(file, pairs, names, coordinates)


def write_groups(
    file: Any,
    pairs: Iterable[tuple[Float64[np.ndarray, " _times"], np.ndarray]],
    names: Iterable[str],
    coordinates: Mapping[str, Float64[np.ndarray, " _points"]],
) -> None:
    """Write trajectories as groups of an open file: ``data``, channels last, and ``grid/t``, ``grid/x``, …."""
    for name, (t, u) in zip(names, pairs, strict=True):
        file[f"{name}/data"] = np.moveaxis(u, 1, -1)
        for axis, points in {"t": t, **coordinates}.items():
            file[f"{name}/grid/{axis}"] = points


def import_h5py() -> Any:
    """Return the module h5py, or say how to install it."""
    try:
        import h5py
    except ModuleNotFoundError as error:
        raise MissingExtra("h5py", "pde") from error
    return h5py
