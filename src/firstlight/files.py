"""Files that are written whole or not at all, and arrays that are read without unpickling."""

import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from firstlight.errors import InvalidInput


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `path` that replaces it when the block ends without an error.

    Parameters
    ----------
    path : the file to write. Its folder must exist.

    Yields
    ------
    A path with the same ending in the same folder, where there is no file yet; write there.

    Raises
    ------
    InvalidInput
        If the folder of `path` does not exist, or `path` is a folder.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise InvalidInput(f"cannot write {path}: the folder {path.parent} does not exist; create it first")
    if path.is_dir():
        raise InvalidInput(f"cannot write {path}: it is a folder; give the name of a file")
    partial = path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def save_arrays(path: str | Path, /, **arrays: np.ndarray) -> None:
    """Write arrays to a compressed ``.npz`` file, whole or not at all.

    Raises
    ------
    InvalidInput
        If an array holds Python objects, or the folder of `path` does not exist.
    """
    with written_whole(path) as partial, partial.open("wb") as file:
        write_arrays(file, arrays)


def write_arrays(file: IO[bytes], arrays: Mapping[str, Any]) -> None:
    """Write arrays (or what NumPy makes arrays of) to an open file as ``.npz``; the same arrays give the same bytes.

    Raises
    ------
    InvalidInput
        If an array holds Python objects, which only pickle could write.
    """
    # Not numpy.savez, which cannot store an array named "file" and puts the time of day into the archive.
    with zipfile.ZipFile(file, "w") as archive:
        for name, values in arrays.items():
            array = np.asanyarray(values)
            if array.dtype.hasobject:
                raise InvalidInput(f"array {name!r} holds Python objects ({array.dtype}); give numbers or strings")
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as stored:
                np.lib.format.write_array(stored, array, allow_pickle=False)


def load_arrays(path: str | Path, *, max_bytes: int = 2**32) -> dict[str, np.ndarray]:
    """Read all arrays of a ``.npz`` file, refusing pickled objects and archives that unpack too large.

    Parameters
    ----------
    path : a file written by `save_arrays` or ``numpy.savez``.
    max_bytes : the largest unpacked size that is accepted (4 GiB unless said otherwise).

    Raises
    ------
    InvalidInput
        If the file is not a readable ``.npz`` archive of plain arrays or unpacks beyond `max_bytes`.
    """
    # A file that cannot be opened at all is the system's error, which says so.
    with Path(path).open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > max_bytes:
                raise InvalidInput(f"{path} unpacks to {unpacked:,} bytes, over the limit of {max_bytes:,}")
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
        except InvalidInput:
            raise
        # Damaged archives make zipfile, zlib, bz2, lzma and NumPy raise errors of a dozen kinds.
        except Exception as error:
            raise InvalidInput(f"{path} is not a readable .npz file of plain arrays: {error}") from error
    if foreign := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
        raise InvalidInput(f"{path} holds {foreign[0]!r}, which is no array")
    return arrays
