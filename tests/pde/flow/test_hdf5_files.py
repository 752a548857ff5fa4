"""The layouts are built here with h5py, as their specifications say, from fields whose derivatives are known."""

import h5py
import numpy as np
import pytest
import torch

from firstlight.errors import InvalidInput
from firstlight.pde.flow import TemporalSpline, Trajectories

TWO_PI = 2 * np.pi


def cells(n):
    return (np.arange(n) + 0.5) / n


def waves(t, x, speed=0.4):
    """Waves (sample, time, x) that travel at one speed, so that u_t = −speed u_x."""
    phases = np.array([[0.3], [1.1], [2.0]])[..., None]
    arguments = TWO_PI * (x - speed * t[:, None])[None] + phases
    return np.sin(arguments) + 0.2 * np.cos(2 * arguments)


def spectral(u, axis):
    """Derivative along an axis of length 1."""
    shape = [1] * u.ndim
    shape[axis] = -1
    waves = 2j * np.pi * np.fft.fftfreq(u.shape[axis], 1 / u.shape[axis]).reshape(shape)
    return np.fft.ifft(waves * np.fft.fft(u, axis=axis), axis=axis).real


def write(path, **items):
    with h5py.File(path, "w") as file:
        for name, values in items.items():
            file[name.replace("__", "/").replace("_c", "-coordinate")] = values
    return path


def velocity(data, kind="c4"):
    path = TemporalSpline.fit(data.t, data.u, kind)
    return torch.stack([path.derivative(t, b) for b, t in enumerate(data.t)]).double().numpy()


def test_one_time_too_many_is_left_over_and_not_stretched(tmp_path):
    t, x = np.linspace(0, 2.1, 22), cells(32)
    u = waves(t[:-1], x)
    file = write(tmp_path / "a.hdf5", tensor=u.astype(np.float32), t_c=t.astype(np.float32), x_c=x)
    data = Trajectories.from_hdf5(file)
    assert data.t[0][-1] == pytest.approx(2.0)
    assert len(data.t[0]) == 21
    assert "22 times for 21 frames" in data.notes[0]
    u_x = spectral(u, axis=2)
    assert -np.sum(velocity(data)[:, :, 0] * u_x) / np.sum(u_x**2) == pytest.approx(0.4, rel=2e-3)


def test_fields_in_data_sets_of_their_own_become_channels_on_the_right_grid(tmp_path):
    """Continuity, ρ_t + div(ρ v) = 0: density carried by a constant wind over a grid that is not square."""
    t, x, y = np.linspace(0, 1, 21), cells(24), cells(16)
    vx, vy = 0.5, -0.25
    phase = TWO_PI * (x[:, None] - vx * t[:, None, None]), TWO_PI * (y - vy * t[:, None, None])
    density = 2 + np.sin(phase[0]) * np.cos(phase[1])
    fields = {"density": density, "Vx": np.full_like(density, vx), "Vy": np.full_like(density, vy)}
    stored = {name: np.stack([field, field]).astype(np.float32) for name, field in fields.items()}
    file = write(tmp_path / "a.h5", **stored, t_c=np.append(t, 1.05), x_c=x, y_c=y)
    data = Trajectories.from_hdf5(file)
    assert set(data.channels) == set(fields)
    assert data.grid == (24, 16)
    np.testing.assert_allclose(data.coordinates["y"], y)
    u = {name: data.u[0][:, c].double().numpy() for c, name in enumerate(data.channels)}
    rho_t = velocity(data)[0][:, data.channels.index("density")]
    divergence = spectral(u["density"] * u["Vx"], axis=1) + spectral(u["density"] * u["Vy"], axis=2)
    assert np.abs(rho_t + divergence).max() < 5e-3 * np.abs(rho_t).max()


def test_groups_keep_their_names_and_lengths_and_what_is_missing_is_said(tmp_path):
    t, x = np.linspace(0, 2, 21), cells(32)
    items = {}
    for b, (name, frames) in enumerate((("0000", 21), ("0001", 21), ("0003", 9))):
        items[f"{name}__data"] = waves(t[:frames], x)[b][..., None].astype(np.float32)
        items[f"{name}__grid__t"], items[f"{name}__grid__x"] = t[:frames], x
    data = Trajectories.from_hdf5(write(tmp_path / "a.h5", **items))
    assert data.names == ("0000", "0001", "0003")
    assert [len(u) for u in data.u] == [21, 21, 9]
    assert any("0002" in note for note in data.notes)
    assert any("0003 has 9 frames" in note for note in data.notes)
    assert all(float(u.abs().amin(dim=(1, 2)).max()) > 0 for u in data.u)


def test_groups_with_several_channels_come_channels_first(tmp_path):
    u = np.random.default_rng(0).normal(size=(5, 8, 6, 2)).astype(np.float32)
    file = write(tmp_path / "a.h5", **{"0000__data": u, "0000__grid__t": np.arange(5.0), "0000__grid__x": cells(8)})
    data = Trajectories.from_hdf5(file)
    np.testing.assert_array_equal(data.u[0], np.moveaxis(u, -1, 1))
    assert data.channels == ("u0", "u1")


def test_epoch_seconds_are_read_in_double_precision_or_refused(tmp_path):
    t, x = 1.7e9 + 0.05 * np.arange(21), cells(8)
    u = (np.exp(-0.7 * (t - t[0]))[:, None] * (2 + np.sin(TWO_PI * x)))[None].astype(np.float32)
    data = Trajectories.from_hdf5(write(tmp_path / "a.h5", tensor=u, t_c=t, x_c=x))
    found = velocity(data)[0]
    assert np.sum(found * u[0][:, None]) / np.sum(u.astype(float) ** 2) == pytest.approx(-0.7, rel=1e-3)
    with pytest.raises(InvalidInput, match=r"b\.h5.*all 21 times equal.*spacing there is 128"):
        Trajectories.from_hdf5(write(tmp_path / "b.h5", tensor=u, t_c=t.astype(np.float32), x_c=x))


def test_the_wells_scalars_vectors_and_constant_fields(tmp_path):
    rng = np.random.default_rng(0)
    scalar, vector, still = (rng.normal(size=s).astype(np.float32) for s in ((2, 5, 6, 4), (2, 5, 6, 4, 2), (2, 6, 4)))
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        file.create_group("dimensions").attrs["spatial_dims"] = ["x", "y"]
        file["dimensions/time"], file["dimensions/x"], file["dimensions/y"] = np.arange(5) * 0.5, cells(6), cells(4)
        for name, values, varying in (
            ("t0_fields/p", scalar, True),
            ("t0_fields/k", still, False),
            ("t1_fields/v", vector, True),
        ):
            file[name] = values
            file[name].attrs.update({"sample_varying": True, "time_varying": varying, "dim_varying": [True, True]})
    data = Trajectories.from_hdf5(path)
    assert data.channels == ("p", "v_x", "v_y")
    np.testing.assert_array_equal(data.u[1][:, 0], scalar[1])
    np.testing.assert_array_equal(data.u[1][:, 2], vector[1, ..., 1])
    assert any(note.startswith("k does not vary in time") for note in data.notes)
    assert data.t[0].tolist() == [0, 0.5, 1, 1.5, 2]


def test_what_is_written_is_read_back(tmp_path):
    rng = np.random.default_rng(0)
    pairs = [(np.sort(rng.uniform(size=n)), rng.normal(size=(n, 2, 6)).astype(np.float32)) for n in (4, 7)]
    written = Trajectories.from_list(pairs, channels=["height", "speed"], names=["0000", "0001"])
    written.to_hdf5(tmp_path / "a.h5")
    data = Trajectories.from_file(tmp_path / "a.h5")
    assert (data.channels, data.names) == (written.channels, written.names)
    for b in range(2):
        assert torch.equal(data.u[b], written.u[b])
        assert torch.equal(data.t[b], written.t[b])


def test_only_the_first_samples_are_read_when_asked(tmp_path):
    t, x = np.linspace(0, 2, 21), cells(32)
    file = write(tmp_path / "a.h5", tensor=waves(t, x), t_c=t, x_c=x)
    assert len(Trajectories.from_hdf5(file, samples=2)) == 2


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (
            {"tensor": np.zeros((1, 5, 4)), "t_c": np.arange(9.0), "x_c": cells(4)},
            "has 5 frames, and its times have shape",
        ),
        ({"tensor": np.zeros((1, 5, 4, 3, 2)), "t_c": np.arange(5.0), "x_c": cells(4)}, "with or without a last axis"),
        ({"t_c": np.arange(5.0)}, "no field"),
        ({"0000__data": np.zeros((5, 4, 1))}, "no times 'grid/t'"),
        ({"density": np.zeros((5, 4, 1))}, "known layout"),
        (
            {"tensor": np.full((1, 5, 4), np.nan), "t_c": np.arange(5.0), "x_c": cells(4)},
            "trajectory 0000: frame 0 holds",
        ),
    ],
)
def test_files_that_make_no_sense_are_refused_by_name(tmp_path, items, message):
    with pytest.raises(InvalidInput, match=message) as refused:
        Trajectories.from_hdf5(write(tmp_path / "odd.h5", **items))
    assert "odd.h5" in str(refused.value)


def test_what_is_no_hdf5_file_is_refused(tmp_path):
    (tmp_path / "a.h5").write_text("time,u\n")
    with pytest.raises(InvalidInput, match="no readable HDF5 file"):
        Trajectories.from_hdf5(tmp_path / "a.h5")
    with pytest.raises(FileNotFoundError):
        Trajectories.from_hdf5(tmp_path / "absent.h5")
