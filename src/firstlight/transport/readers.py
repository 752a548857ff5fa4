"""Samples and images from files, checked when they are read."""

import csv
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Float64, UInt8
from PIL import Image, ImageOps

from firstlight.errors import InvalidInput
from firstlight.files import load_arrays, writable, written_whole
from firstlight.transport.measures import as_points

Pixels = UInt8[np.ndarray, "height width channels"] | Float32[np.ndarray, "height width channels"]


def read_samples(path: str | Path) -> Float[np.ndarray, "n d"]:
    """Read points, one per row.

    Parameters
    ----------
    path : a ``.npy`` file; an ``.npz`` file with one array, or with one named ``X``; or a ``.csv`` file of numbers
        between commas, with or without a line of names above them. Names that are numbers are taken for a point.

    Returns
    -------
    The points, in float32 or float64.

    Raises
    ------
    InvalidInput
        If the ending is another, the file cannot be read as plain numbers, or it does not hold finite points of
        shape (n, d).
    """
    path = Path(path)
    readers = {".npy": _read_npy, ".npz": _read_npz, ".csv": _read_csv}
    if path.suffix.lower() not in readers:
        raise InvalidInput(f"samples are read from .npy, .npz or .csv files, got {path.name!r}")
    return as_points(readers[path.suffix.lower()](path), path.name)


def read_image(path: str | Path) -> UInt8[np.ndarray, "height width channels"]:
    """Read an image of 8 bits per channel, upright, as RGB or, where it has transparency, RGBA.

    Raises
    ------
    InvalidInput
        If the file is not an image that Pillow reads, or has more than 8 bits per channel.
    """
    with Path(path).open("rb") as file:
        try:
            with Image.open(file) as image:
                upright = ImageOps.exif_transpose(image)
                mode, transparent = upright.mode, upright.has_transparency_data
                pixels = np.asarray(upright.convert("RGBA" if transparent else "RGB"))
        # Damaged files make Pillow raise errors of many kinds.
        except Exception as error:
            raise InvalidInput(f"{path} is not a readable image: {error}") from error
    if mode.startswith(("I", "F")):
        raise InvalidInput(f"{path} has more than 8 bits per channel (Pillow mode {mode}); convert it to 8 bits first")
    return pixels


def write_image(path: str | Path, image: Any) -> None:
    """Write an RGB or RGBA image, whole or not at all; the ending of `path` says the format.

    Parameters
    ----------
    path : for example ``out.png`` or ``out.jpg``.
    image : of type uint8, or of floating numbers between 0 and 1, which are rounded to 8 bits.

    Raises
    ------
    InvalidInput
        If the array is no image, or the format is unknown or cannot hold transparency.
    """
    pixels = as_image(image, "image")
    path = image_path(path, pixels.shape[2])
    if pixels.dtype != np.uint8:
        pixels = np.rint(255 * pixels).astype(np.uint8)
    with written_whole(path) as partial:
        Image.fromarray(pixels).save(partial)


def image_path(path: str | Path, channels: int = 3) -> Path:
    """Return the path of an image to be written, or refuse it before there is one.

    Raises
    ------
    InvalidInput
        If its ending is no image format or one that cannot hold so many channels, or it is not writable.
    """
    path = writable(path)
    if path.suffix.lower() not in Image.registered_extensions():
        raise InvalidInput(f"cannot tell an image format from {path.name!r}; use an ending such as .png or .jpg")
    try:
        pixel = Image.new("RGBA" if channels == 4 else "RGB", (1, 1))
        pixel.save(BytesIO(), Image.registered_extensions()[path.suffix.lower()])
    except (KeyError, OSError, ValueError) as error:
        raise InvalidInput(f"cannot write {path.name} with {channels} channels: {error}; try .png") from error
    return path


def as_image(image: Any, name: str) -> Pixels:
    """Return an image as uint8, or as float32 of numbers between 0 and 1.

    Raises
    ------
    InvalidInput
        If it is not an array of shape (height, width, 3 or 4) of one of the two kinds.
    """
    pixels = np.asarray(image)
    if pixels.ndim != 3 or pixels.shape[2] not in (3, 4) or not pixels.size:
        hint = "; stack a grey image three times: np.stack([grey] * 3, axis=2)" if pixels.ndim == 2 else ""
        raise InvalidInput(f"{name} must have shape (height, width, 3 or 4), got {pixels.shape}{hint}")
    if pixels.dtype == np.uint8:
        return pixels
    if not np.issubdtype(pixels.dtype, np.floating):
        raise InvalidInput(f"{name} must be of type uint8 or floating, got {pixels.dtype}")
    if not (np.isfinite(pixels).all() and pixels.min() >= 0 and pixels.max() <= 1):
        raise InvalidInput(
            f"{name} must hold numbers between 0 and 1; divide by its largest possible value, mostly 255"
        )
    return pixels.astype(np.float32)


def _read_npy(path: Path) -> np.ndarray:
    with path.open("rb") as file:
        try:
            return np.load(file, allow_pickle=False)
        # Damaged files make NumPy raise errors of many kinds.
        except Exception as error:
            raise InvalidInput(f"{path} is not a readable .npy file of plain numbers: {error}") from error


def _read_npz(path: Path) -> np.ndarray:
    arrays = load_arrays(path)
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    if "X" not in arrays:
        raise InvalidInput(f"{path} holds the arrays {sorted(arrays)}; expected a single one, or one named X")
    return arrays["X"]


def _read_csv(path: Path) -> Float64[np.ndarray, "n d"]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = next(csv.reader(file), [])
        names = bool(first) and not any(map(_is_number, first))
        with path.open(encoding="utf-8-sig") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there are no points is an error, raised by the caller
            points = np.loadtxt(file, delimiter=",", quotechar='"', skiprows=int(names), ndmin=2)
    except (ValueError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path} is not a table of numbers between commas: {error}") from error
    if names and not first[0].strip():
        raise InvalidInput(
            f"the first column of {path} has no name, so it seems to number the rows; leave it out "
            "(in pandas: to_csv(..., index=False)), or name it if it is a coordinate"
        )
    return points


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
