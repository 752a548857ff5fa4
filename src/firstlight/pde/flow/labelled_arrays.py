"""Trajectories in xarray's data sets: netCDF and zarr with named dimensions and times that mean something.

Times with a unit come out in seconds: dates and durations (`datetime64`, `timedelta64`, cftime) are counted in
whatever step their library stores, mostly nanoseconds, and a derivative with respect to that is wrong by 10⁹ without
a word. Plain numbers stay as they are, in the unit the file names.
"""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from firstlight.errors import InvalidInput, MissingExtra
from firstlight.pde.flow.reading import Reading, as_frames


def read_labelled(data: Any, *, time: str = "time", sample: str = "sample", samples: int | None = None) -> Reading:
    """Read trajectories from a data set, a data array, or a file that xarray opens.

    Parameters
    ----------
    data : ``xarray.Dataset`` or ``DataArray``, or the path of a netCDF file or a zarr store.
    time, sample : names of the dimensions of time and of the trajectories; without the latter there is one trajectory.
        All other dimensions are of space, in the order in which the first field has them.
    samples : read only the first so many.

    Raises
    ------
    InvalidInput
        If there is no such dimension, no field has it, or times are of an unknown kind.
    MissingExtra
        If xarray, or what it needs to open the file, is not installed.
    """
    source, dataset = _opened(data)
    reading = Reading(source)
    varying = {name: array for name, array in dataset.data_vars.items() if time in array.dims and _is_real(array)}
    if not varying:
        raise InvalidInput(
            f"{source}: no field has a dimension called {time!r}; found {', '.join(map(str, dataset.sizes))}. Name the "
            f"dimension of time"
        )
    for name in dataset.data_vars.keys() - varying.keys():
        reading.note(f"{name} does not vary in time, and is left out")
    first = next(iter(varying.values()))
    space = [dim for dim in first.dims if dim not in (time, sample)]
    order = [sample, time, *space]
    arrays = []
    for name, array in varying.items():
        if set(array.dims) != set(first.dims):
            raise InvalidInput(
                f"{source}: {name} has dimensions {array.dims}, others {first.dims}; choose fields of one"
            )
        several = array if sample in array.dims else array.expand_dims(sample)
        arrays.append(as_frames(several.isel({sample: slice(samples)}).transpose(*order).values))
        reading.channels.append(str(name))
    u = np.stack(arrays, axis=2)
    times = _times(dataset, time, reading)
    for b in range(len(u)):
        reading.pairs.append((reading.matched(times[b] if times.ndim == 2 else times, u.shape[1], "a field"), u[b]))
    labels = np.atleast_1d(dataset[sample].values) if sample in dataset.coords else range(len(u))
    reading.names = [str(label) if sample in dataset.coords else f"{label:04d}" for label in list(labels)[: len(u)]]
    for dim, length in zip(space, u.shape[3:], strict=True):
        if dim in dataset.coords and dataset[dim].dtype.kind in "fiu":
            reading.place(str(dim), dataset[dim].values, length)
    return reading


def _opened(data: Any) -> tuple[str, Any]:
    """Give a name for messages, and the data set."""
    try:
        import xarray
    except ModuleNotFoundError as error:
        raise MissingExtra("xarray", "pde") from error
    if isinstance(data, xarray.Dataset):
        return data.encoding.get("source", "the data set"), data
    if isinstance(data, xarray.DataArray):
        return data.encoding.get("source", "the data array"), data.to_dataset(name=data.name or "u")
    path = Path(data)
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}")
    try:
        return str(path), xarray.open_zarr(path) if path.suffix == ".zarr" else xarray.open_dataset(path)
    except ImportError as error:
        raise MissingExtra("zarr" if path.suffix == ".zarr" else "h5netcdf", "pde") from error
    except Exception as error:  # its engines have errors of many kinds
        reason = " ".join(str(error).split())[:300]
        raise InvalidInput(f"xarray cannot open {path}: {reason}") from error


def _is_real(array: Any) -> bool:
    return array.dtype.kind in "fiu"


def _times(dataset: Any, time: str, reading: Reading) -> Float64[np.ndarray, "*shape"]:
    """Times as numbers: seconds for dates and durations, else as they stand."""
    if time not in dataset.coords:
        raise InvalidInput(
            f"{reading.source}: dimension {time!r} has no coordinate; assign the times of the frames to it"
        )
    values = dataset[time].values
    if values.dtype.kind in "Mm":
        reading.time_unit = "seconds"
        if values.dtype.kind == "M":
            reading.note(f"times are counted from {np.datetime_as_string(values.flat[0], unit='auto')}")
            values = values - values.flat[0]
        return values / np.timedelta64(1, "s")
    if values.dtype == object and hasattr(values.flat[0], "isoformat"):  # cftime: calendars that NumPy has not
        reading.time_unit = "seconds"
        reading.note(f"times are counted from {values.flat[0].isoformat()}")
        return np.vectorize(lambda date: (date - values.flat[0]).total_seconds(), otypes=[np.float64])(values)
    if values.dtype.kind not in "fiu":
        raise InvalidInput(f"{reading.source}: times of type {values.dtype} cannot be read as numbers or dates")
    unit = dataset[time].attrs.get("units")
    reading.time_unit = None if unit is None else str(unit)
    return values.astype(np.float64)
