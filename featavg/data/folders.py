"""A folder of images by class, or by class and sub-class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from featavg.data.dataset import Dataset, dataset
from featavg.errors import InputError

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm"}
GREY = {"1", "L", "LA"}
COLOUR = {"RGB", "RGBA", "P", "CMYK", "YCbCr"}
LARGEST = 10**9  # numbers; more would not fit the memory of an ordinary machine


def read_folder(folder: Path) -> Dataset:
    """Read class/image or class/sub-class/image as points in [0, 1]; transparency is dropped, grey is one channel."""
    files = [(file, (group.name,)) for group in _folders(folder) for file in _images(group)]
    deep = [
        (file, (group.name, sub.name)) for group in _folders(folder) for sub in _folders(group) for file in _images(sub)
    ]
    if files and deep:
        raise InputError(
            f"images must lie all in class folders or all in sub-class folders, got both {files[0][0]} and {deep[0][0]}"
        )
    found: list[tuple[Path, tuple[str, ...]]] = [*files, *deep]
    if not found:
        raise InputError(f"{folder} must hold a folder of images for each class, got no images in such folders")
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
        image = _read(file)
        if images and image.shape[:2] != images[0].shape[:2]:
            raise InputError(
                f"all images must have one size, got {_size(images[0])} in {files[0]} and {_size(image)} in {file}; "
                "resize them first"
            )
        images.append(image)
        if len(files) * image.size > LARGEST:
            raise InputError(
                f"{len(files)} images of {_size(image)} pixels do not fit in memory; resize them or pass fewer"
            )
    if any(image.ndim == 3 for image in images):
        images = [image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2) for image in images]
    return np.stack(images)


def _read(file: Path) -> NDArray[np.uint8]:
    try:
        with Image.open(file) as image:
            if image.mode not in GREY | COLOUR:
                raise InputError(
                    f"images must have 8 bits a channel, got mode {image.mode} in {file}; convert it first"
                )
            return np.asarray(image.convert("L" if image.mode in GREY else "RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:  # all of these mean a broken file
        raise InputError(
            f"{file} must be an image, got one that cannot be read ({error}); replace or remove it"
        ) from None


def _size(image: NDArray[np.uint8]) -> str:
    return f"{image.shape[1]} x {image.shape[0]}"
