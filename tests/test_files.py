"""Files that appear whole or not at all, and arrays read without unpickling."""

import io
import os
import stat
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from firstlight.errors import InvalidInput
from firstlight.files import load_arrays, save_arrays, write_text, written_whole

TYPES = st.one_of(
    arrays_of.floating_dtypes(),
    arrays_of.integer_dtypes(),
    arrays_of.complex_number_dtypes(),
    arrays_of.unicode_string_dtypes(),
)
ARRAYS = arrays_of.arrays(TYPES, arrays_of.array_shapes(min_dims=0, min_side=0, max_side=4))
NAMES = st.sampled_from(["x", "path", "arr_0", "Γ"])


@given(st.dictionaries(NAMES, ARRAYS, max_size=4))
def test_arrays_come_back_as_they_were(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("arrays") / "a.npz"
    save_arrays(path, **arrays)
    back = load_arrays(path)
    with np.load(path, allow_pickle=False) as numpys:
        assert list(back) == numpys.files == list(arrays)
    for name, array in arrays.items():
        assert (back[name].dtype, back[name].shape) == (array.dtype, array.shape)
        assert back[name].tobytes() == array.tobytes()


def test_files_of_numpy_savez_are_read(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3), y=np.array(["one", "two"]))
    back = load_arrays(tmp_path / "a.npz")
    assert back["x"].tolist() == [0, 1, 2]
    assert back["y"].tolist() == ["one", "two"]


@given(position=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_numbers_are_never_read(tmp_path_factory, position, byte, cut):
    file = io.BytesIO()
    arrays = {"x": np.arange(40.0), "names": np.array(["ab", "c"])}
    np.savez_compressed(file, **arrays)
    damaged = bytearray(file.getvalue())
    at = int(position * len(damaged))
    if cut:
        del damaged[at:]
    else:
        damaged[at] = byte
    path = tmp_path_factory.mktemp("damaged") / "a.npz"
    path.write_bytes(damaged)
    try:
        back = load_arrays(path)
    except InvalidInput:
        return
    # The damage hit the table of contents, where names stand, or a byte on which nothing depends.
    for array in back.values():
        assert any(np.array_equal(array, original) for original in arrays.values())


class Payload:
    """What a pickle that runs code when opened looks like."""

    def __init__(self, victim):
        self.victim = victim

    def __reduce__(self):
        return os.mkdir, (str(self.victim),)


def test_pickled_objects_are_refused_unexecuted(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([Payload(tmp_path / "harm")], dtype=object))
    with pytest.raises(InvalidInput, match="is not a readable"):
        load_arrays(tmp_path / "a.npz")
    assert not (tmp_path / "harm").exists()


def test_archives_that_unpack_too_large_are_refused(tmp_path):
    save_arrays(tmp_path / "zeros.npz", x=np.zeros(10**6))
    assert (tmp_path / "zeros.npz").stat().st_size < 10**5
    with pytest.raises(InvalidInput, match="unpacks to 8,000,128 bytes, over the limit of 1,000,000"):
        load_arrays(tmp_path / "zeros.npz", max_bytes=10**6)


def test_archives_that_understate_their_size_do_not_fill_memory(tmp_path):
    # A header that promises 8 TB of numbers which are not there.
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", header.getvalue())
    with pytest.raises(InvalidInput, match="is not a readable"):
        load_arrays(tmp_path / "a.npz")


def test_archives_of_other_things_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "no array")
    with pytest.raises(InvalidInput, match=r"'readme\.txt' is no array"):
        load_arrays(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_text("no archive")
    with pytest.raises(InvalidInput, match="is not a readable"):
        load_arrays(tmp_path / "b.npz")
    with pytest.raises(FileNotFoundError):
        load_arrays(tmp_path / "absent.npz")


def test_objects_are_not_written(tmp_path):
    with pytest.raises(InvalidInput, match=r"cannot write .*a\.npz: Object arrays"):
        save_arrays(tmp_path / "a.npz", x=np.array([None]))
    assert list(tmp_path.iterdir()) == []


def test_failed_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "result.txt"
    path.write_text("old")

    def fail():
        with written_whole(path) as partial:
            partial.write_text("half of the n")
            assert path.read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("result.txt", "old")]


def test_written_file_replaces_the_old_one_with_ordinary_permissions(tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    path = tmp_path / "result.txt"
    for text in ("old", "new"):
        with written_whole(path) as partial:
            assert (partial.parent, partial.suffix) == (tmp_path, ".txt")
            partial.write_text(text)
        assert path.read_text() == text
    write_text(path, "Γ")
    assert path.read_text(encoding="utf-8") == "Γ"
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)
    assert len(list(tmp_path.iterdir())) == 2


def test_unusable_places_are_refused_before_work_begins(tmp_path):
    with (
        pytest.raises(InvalidInput, match=r"the folder .*absent does not exist; create it first"),
        written_whole(tmp_path / "absent" / "a.npz"),
    ):
        pytest.fail("the block must not be entered")
    with pytest.raises(InvalidInput, match="it is a folder"), written_whole(tmp_path):
        pytest.fail("the block must not be entered")
