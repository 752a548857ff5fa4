"""Files that are written whole or not at all, and arrays that are read without unpickling."""

import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from firstlight.errors import InvalidInput


def writable(path: str | Path, *endings: str) -> Path:
    """Return the path of a file to be written, or refuse it before long work is done for it.

    Parameters
    ----------
    path : the file.
    endings : what its name may end in, such as ``".npz"``; anything unless given.

    Raises
    ------
    InvalidInput
        If its name has another ending, its folder does not exist, or it is a folder itself.
    """
    path = Path(path)
    if endings and path.suffix.lower() not in endings:
        raise InvalidInput(f"cannot write {path}: expected a name that ends in {' or '.join(endings)}")
    if not path.parent.is_dir():
        raise InvalidInput(f"cannot write {path}: the folder {path.parent} does not exist; create it first")
    if path.is_dir():
        raise InvalidInput(f"cannot write {path}: it is a folder; give the name of a file")
    return path


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `path`, with the same ending, that replaces it when the block ends without an error.

    Raises
    ------
    InvalidInput
        If `path` is not `writable`.
    """
    path = writable(path)
    partial = path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write text to a file in UTF-8, whole or not at all."""
    with written_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def save_arrays(path: str | Path, /, **arrays: np.ndarray) -> None:
    """Write arrays to a compressed ``.npz`` file, whole or not at all.

    Raises
    ------
    InvalidInput
        If an array holds Python objects, or `path` is not `writable`.
    """
    with written_whole(path) as partial, partial.open("wb") as file:  # given a name, NumPy would append .npz to it
        try:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        except ValueError as error:
            raise InvalidInput(f"cannot write {path}: {error}") from error


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
    OSError
        If it cannot be opened.
    """
    with Path(path).open("rb") as file:
        try:
            unpacked = sum(entry.file_size for entry in zipfile.ZipFile(file).infolist())
            if unpacked > max_bytes:
                raise ValueError(f"it unpacks to {unpacked:,} bytes, over the limit of {max_bytes:,}")
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            if foreign := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
                raise ValueError(f"{foreign[0]!r} is no array")
        # Damaged archives make zipfile, zlib, bz2, lzma and NumPy raise errors of a dozen kinds.
        except Exception as error:
            raise InvalidInput(f"{path} is not a readable .npz file of plain arrays: {error}") from error
    return arrays
