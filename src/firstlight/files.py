"""Files that are written whole or not at all, and arrays that are read without unpickling."""

import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    A path with the same ending in the same folder; write there.

    Raises
    ------
    InvalidInput
        If the folder of `path` does not exist.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise InvalidInput(f"cannot write {path}: the folder {path.parent} does not exist; create it first")
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.chmod(0o666 & ~_umask())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def save_arrays(path: str | Path, **arrays: np.ndarray) -> None:
    """Write arrays to a compressed ``.npz`` file, whole or not at all."""
    with written_whole(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


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
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > max_bytes:
            raise InvalidInput(f"{path} unpacks to {unpacked:,} bytes, over the limit of {max_bytes:,}")
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{path} is not a readable .npz file of plain arrays: {error}") from error


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
