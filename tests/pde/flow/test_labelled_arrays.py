import numpy as np
import pytest
import torch
import xarray

from firstlight.errors import InvalidInput
from firstlight.pde.flow import TemporalSpline, Trajectories

SECONDS = np.sort(np.random.default_rng(0).uniform(0, 2, 21))
SECONDS[[0, -1]] = 0, 2


def decay(times, seconds=SECONDS):
    """exp(−0.7 t) on a grid, with whatever times are given for the frames."""
    x = np.arange(8)
    u = np.exp(-0.7 * seconds)[:, None] * (2 + np.sin(x))
    return xarray.Dataset({"u": (("time", "x"), u.astype(np.float32))}, {"time": times, "x": x})


def rate(data):
    path = TemporalSpline.fit(data.t, data.u, "c4")
    v = path.derivative(data.t[0])
    return float((v * data.u[0]).sum() / data.u[0].square().sum())


@pytest.mark.parametrize(
    "times",
    [
        ("time", SECONDS, {"units": "seconds"}),
        (SECONDS * 1e9).astype("timedelta64[ns]"),
        np.datetime64("2020-01-01") + (SECONDS * 1e9).astype("timedelta64[ns]"),
    ],
    ids=["plain", "durations", "dates"],
)
@pytest.mark.parametrize("form", ["memory", "netcdf", "zarr"])
def test_times_of_every_kind_give_rates_per_second(times, form, tmp_path):
    dataset = decay(times)
    if form == "netcdf":
        dataset.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    elif form == "zarr":
        dataset.to_zarr(tmp_path / "a.zarr")
    data = Trajectories.from_xarray(dataset) if form == "memory" else Trajectories.from_file(next(tmp_path.iterdir()))
    assert data.time_unit == "seconds"
    assert float(data.t[0][-1] - data.t[0][0]) == pytest.approx(2, abs=1e-8)
    assert rate(data) == pytest.approx(-0.7, rel=1e-3)


def test_calendars_that_numpy_has_not_count_in_seconds():
    pytest.importorskip("cftime")
    dates = xarray.date_range("2000-02-28", periods=21, freq="6h", calendar="noleap", use_cftime=True)
    data = Trajectories.from_xarray(decay(dates))
    np.testing.assert_allclose(data.t[0], 6 * 3600 * np.arange(21))


def test_dimensions_may_stand_in_any_order():
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, 3, 5, 6, 4)).astype(np.float32)
    dims = ("sample", "time", "y", "x")
    dataset = xarray.Dataset(
        {"u": (dims, u), "v": (("x", "time", "sample", "y"), v.transpose(3, 1, 0, 2)), "depth": (("y", "x"), u[0, 0])},
        {"time": np.arange(5.0), "sample": ["a", "b", "c"], "x": np.arange(4.0)},
    )
    data = Trajectories.from_xarray(dataset)
    assert (data.names, data.channels, data.grid) == (("a", "b", "c"), ("u", "v"), (6, 4))
    assert torch.equal(data.u[2], torch.from_numpy(np.stack([u[2], v[2]], axis=1)))
    assert list(data.coordinates) == ["x"]
    assert any(note.startswith("depth") for note in data.notes)


@pytest.mark.parametrize(("swap", "message"), [(0.0, "both have t = "), (-0.05, "time goes back from")])
def test_a_restart_in_the_times_is_refused_by_its_frames(swap, message, tmp_path):
    seconds = np.arange(22) * 0.1
    seconds[11:] += swap - 0.1
    decay(("time", seconds, {"units": "seconds since 2020-01-01"}), seconds).to_netcdf(
        tmp_path / "a.nc", engine="h5netcdf"
    )
    with pytest.raises(InvalidInput, match=f"a.nc.*frames 10 and 11 {message}.*drop_duplicates"):
        Trajectories.from_file(tmp_path / "a.nc")


def test_data_sets_without_times_are_refused(tmp_path):
    dataset = decay(SECONDS)
    with pytest.raises(InvalidInput, match="no field has a dimension called 'month'"):
        Trajectories.from_xarray(dataset, time="month")
    with pytest.raises(InvalidInput, match="has no coordinate"):
        Trajectories.from_xarray(dataset.drop_vars("time"))
    with pytest.raises(InvalidInput, match="cannot be read as numbers or dates"):
        Trajectories.from_xarray(dataset.assign_coords(time=[f"step {k}" for k in range(21)]))
    with pytest.raises(FileNotFoundError):
        Trajectories.from_file(tmp_path / "absent.nc")
    (tmp_path / "a.nc").write_text("no netCDF")
    with pytest.raises(InvalidInput, match="xarray cannot open"):
        Trajectories.from_file(tmp_path / "a.nc")
