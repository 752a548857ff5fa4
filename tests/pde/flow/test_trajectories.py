import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firstlight.errors import InvalidInput
from firstlight.pde.flow import TemporalSpline, Trajectories


def ragged(*lengths, shape=(1, 4)):
    rng = np.random.default_rng(0)
    return Trajectories.from_list([(np.cumsum(rng.uniform(1, 2, n)), rng.normal(size=(n, *shape))) for n in lengths])


@given(ratio=st.floats(0.3, 1.0), seed=st.integers(0, 1000), keep_ends=st.booleans())
def test_a_subsample_keeps_frames_with_their_times(ratio, seed, keep_ends):
    data = ragged(10, 17)
    kept = data.subsample(ratio, keep_ends=keep_ends, seed=seed)
    for t, u, all_t, all_u in zip(kept.t, kept.u, data.t, data.u, strict=True):
        assert len(t) == round(len(all_t) * ratio)
        rows = torch.searchsorted(all_t, t)
        torch.testing.assert_close(all_t[rows], t, rtol=0, atol=0)
        torch.testing.assert_close(all_u[rows], u, rtol=0, atol=0)
        if keep_ends:
            assert (rows[0], rows[-1]) == (0, len(all_t) - 1)


def test_subsamples_are_random_and_differ_between_trajectories():
    t, u = np.arange(40.0), np.zeros((40, 1))
    kept = Trajectories.from_list([(t, u)] * 200).subsample(0.25, seed=3)
    assert len({tuple(times.tolist()) for times in kept.t}) > 190
    ends = np.mean([0.0 in times for times in kept.t])
    assert ends == pytest.approx(0.25, abs=0.1)  # the first frame is kept no more often than any other


def test_a_split_is_by_trajectory_and_complete():
    data = ragged(*[5] * 20)
    parts = data.split(0.7, 0.2, seed=1)
    assert [len(part) for part in parts] == [14, 4, 2]
    assert sorted(name for part in parts for name in part.names) == sorted(data.names)


def test_ragged_trajectories_keep_their_own_times_and_precision():
    data = ragged(5, 9)
    assert [len(t) for t in data.t] == [5, 9]
    assert data.u[0].dtype == torch.float64
    assert Trajectories.from_list([(np.arange(3), np.zeros((3, 1), np.float16))]).u[0].dtype == torch.float32
    assert data.mean_spacing == pytest.approx(sum(float(t[-1] - t[0]) for t in data.t) / 12)
    assert [len(t) for t in data.skip(2).t] == [3, 7]


def test_matlab_arrays_with_time_last_are_taken_as_the_error_says(tmp_path):
    """Each frame is exp(−0.8) of the one before; the file itself is refused with the lines that read it."""
    (tmp_path / "old.mat").write_bytes(b"MATLAB 5.0")
    with pytest.raises(InvalidInput, match=r"numpy\.moveaxis\(u, -1, 0\)"):
        Trajectories.from_file(tmp_path / "old.mat")
    t = np.arange(1, 9.0)
    u = np.random.default_rng(0).normal(size=(3, 6, 6, 1)) * np.exp(-0.8 * t)
    data = Trajectories.from_list([(t, np.moveaxis(one, -1, 0)[:, None]) for one in u])
    assert data.grid == (6, 6)
    path = TemporalSpline.fit(data.t, data.u, "c4")
    np.testing.assert_allclose(path.derivative(np.array([4.0])), -0.8 * data.u[0][3:4], rtol=0.01)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "at least one trajectory"),
        ([(np.arange(3.0), np.zeros((4, 1)))], r"times \(3,\) and frames \(4, 1\)"),
        ([(np.arange(3.0), np.zeros(3))], "expected"),
        (
            [(np.arange(3.0), np.zeros((3, 1))), (np.arange(3.0), np.zeros((3, 2)))],
            "trajectory 0001 has frames of shape",
        ),
        ([(np.array([0, 1, 1.0]), np.zeros((3, 1)))], "frames 1 and 2 both have t = 1"),
        ([(np.arange(3.0), np.array([[0], [1], [np.nan]]))], "trajectory 0000: frame 2 holds NaN"),
    ],
)
def test_bad_lists_are_refused_by_name(pairs, message):
    with pytest.raises(InvalidInput, match=message):
        Trajectories.from_list(pairs)


def test_choices_that_leave_nothing_are_refused(tmp_path):
    data = ragged(5, 5)
    with pytest.raises(InvalidInput, match="fewer than two"):
        data.subsample(0.2)
    with pytest.raises(InvalidInput, match=r"in \(0, 1\]"):
        data.subsample(1.5)
    with pytest.raises(InvalidInput, match="cannot be divided"):
        data.split(0.9)
    with pytest.raises(InvalidInput, match="cannot leave out"):
        data.skip(5)
    with pytest.raises(InvalidInput, match="cannot be called"):
        Trajectories.from_list([(np.arange(3.0), np.zeros((3, 2)))], channels=["u"])
    with pytest.raises(InvalidInput, match="cannot tell what"):
        Trajectories.from_file(tmp_path / "data.csv")
