"""A folder of images by class, or by class and sub-class."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featavg.data.dataset import Dataset, dataset
from featavg.errors import InputError, reason

ENDINGS = ("/",)
SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm"}
# A file is opened as one of these, whatever it is called: others, as EPS, make Pillow start programs.
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
GREY = {"1", "L", "LA"}
COLOUR = {"RGB", "RGBA", "P", "CMYK", "YCbCr"}
LARGEST = 10**9  # numbers; more would not fit the memory of an ordinary machine
MOST_PIXELS = 2**25  # of one image
# What Pillow has to say about a damaged file is said here, once; its log would go to the error stream as well.
logging.getLogger("PIL").addHandler(logging.NullHandler())


def read(path: Path, label: str | None = None, sublabel: str | None = None, drop: Sequence[str] = ()) -> Dataset:
    """Read class/image or class/sub-class/image as points in [0, 1]; transparency is dropped, grey is one channel."""
    if label is not None or sublabel is not None or drop:
        raise InputError(
            f"in a folder of images the folder names are the labels; leave the column of labels out for {path}"
        )
    files = [(file, (group.name,)) for group in _folders(path) for file in _images(group)]
    deep = [
        (file, (group.name, sub.name)) for group in _folders(path) for sub in _folders(group) for file in _images(sub)
    ]
    if files and deep:
        raise InputError(
            f"images must lie all in class folders or all in sub-class folders, got both {files[0][0]} and {deep[0][0]}"
        )
    found: list[tuple[Path, tuple[str, ...]]] = [*files, *deep]
    if not found:
        raise InputError(f"{path} must hold a folder of images for each class, got no images in such folders")
    pixels = _pixels([file for file, _ in found])
    labels = np.array([names for _, names in found])  # (sample, 1 or 2)
    rows = np.divide(pixels.reshape(len(pixels), -1), 255.0)
    return dataset(rows, labels[:, 0], labels[:, 1] if deep else None, shape=pixels.shape[1:])


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _images(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    )


def _pixels(files: list[Path]) -> NDArray[np.uint8]:
    """Read images of one size: (sample, height, width), or (sample, height, width, 3) if one of them has colour."""
    images: list[NDArray[np.uint8]] = []
    for file in files:
        image = read_image(file, LARGEST // len(files))
        if images and image.shape[:2] != images[0].shape[:2]:
            raise InputError(
                f"all images must have one size, got {_size(images[0].shape)} in {files[0]} and {_size(image.shape)} "
                f"in {file}; resize them first"
            )
        images.append(image)
    if any(image.ndim == 3 for image in images):
        images = [image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2) for image in images]
    return np.stack(images)


def read_image(file: Path, most: int = LARGEST) -> NDArray[np.uint8]:
    """Read one image as (height, width) or (height, width, 3) bytes; its size is checked before it is decoded."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            # Pillow warns of metadata that it does not understand; the pixels are what is read.
            warnings.simplefilter("ignore")
            with Image.open(file, formats=FORMATS) as image:
                _check_declared(image, file, most)
                return np.asarray(image.convert("L" if image.mode in GREY else "RGB"))
    except InputError:
        raise
    except Exception as error:  # a damaged file can break its decoder anywhere, with errors of any type
        raise InputError(
            f"{file} must be an image, got one that cannot be read ({reason(error)}); replace or remove it"
        ) from None


def _check_declared(image: Any, file: Path, most: int) -> None:
    if image.mode not in GREY | COLOUR:
        raise InputError(f"images must have 8 bits a channel, got mode {image.mode} in {file}; convert it first")
    width, height = image.size
    numbers = width * height * (1 if image.mode in GREY else 3)
    if width * height > MOST_PIXELS or numbers > most:
        raise InputError(
            f"images must fit in memory together, got {_size((height, width))} pixels in {file}; resize them or pass "
            "fewer"
        )


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]} x {shape[0]}"
