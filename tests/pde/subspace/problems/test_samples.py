import numpy as np
import pytest

from firstlight.errors import InvalidInput
from firstlight.files import save_arrays
from firstlight.pde.subspace.problems import FlattopProblem, SubspaceData, generate, sample_seed

PROBLEM = FlattopProblem(cells=6, n_vectors=2)


def test_a_sample_does_not_depend_on_how_many_are_drawn():
    many, few = generate(PROBLEM, 9), generate(PROBLEM, 2, first=4)
    np.testing.assert_array_equal(many.fields[4:6], few.fields)
    np.testing.assert_array_equal(many.bases[4:6], few.bases)
    again = PROBLEM.sample(sample_seed(0, 5))
    np.testing.assert_array_equal(again.field, many.fields[5])
    assert not np.array_equal(generate(PROBLEM, 1, seed=1).fields, many.fields[:1])


def test_finished_parts_are_kept_in_a_folder(tmp_path):
    data = generate(PROBLEM, 10, folder=tmp_path)
    times = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*.npz")}
    assert len(times) == 10
    next(iter(times)).unlink()
    np.testing.assert_array_equal(generate(PROBLEM, 10, folder=tmp_path).bases, data.bases)
    assert sum(file.stat().st_mtime_ns == times[file] for file in times) == 9


def test_data_come_back_from_a_file(tmp_path):
    data = generate(PROBLEM, 3)
    data.save(tmp_path / "data.npz")
    back = SubspaceData.load(tmp_path / "data.npz")
    np.testing.assert_array_equal(back.fields, data.fields)
    np.testing.assert_array_equal(back[1:].bases, data.bases[1:])


def test_files_that_hold_something_else_are_refused(tmp_path):
    save_arrays(tmp_path / "a.npz", fields=np.ones((3, 1, 4)))
    with pytest.raises(InvalidInput, match="no array 'bases', only fields"):
        SubspaceData.load(tmp_path / "a.npz")
    save_arrays(tmp_path / "b.npz", fields=np.ones((3, 1, 4)), bases=np.ones((2, 4, 1)))
    with pytest.raises(InvalidInput, match=r"\(3, 1, 4\) and \(2, 4, 1\)"):
        SubspaceData.load(tmp_path / "b.npz")
    with pytest.raises(InvalidInput, match="positive number"):
        generate(PROBLEM, 0)
