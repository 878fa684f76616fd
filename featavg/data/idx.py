"""The layout that MNIST was published in, and its successors after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featavg.arrays import Ints
from featavg.data.image_set import Bytes, Content, Part

ARCHIVES = tuple(f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1"))


def idx_files(images: int, part: str, image_hash: str, label_hash: str) -> tuple[Content, Content]:
    """The two files of `images` pictures of 28 by 28 pixels and their classes."""
    return (
        Content(f"{part}-images-idx3-ubyte", 16 + images * 784, image_hash),
        Content(f"{part}-labels-idx1-ubyte", 8 + images, label_hash),
    )


def decode(part: Part, files: Sequence[bytes]) -> tuple[Bytes, Ints]:
    """Pixels (sample, height, width) and classes (sample,) from the two files of a part."""
    pixels, labels = map(read_idx, files)
    return pixels, labels.astype(np.int64)


def read_idx(data: bytes) -> Bytes:
    """Parse an idx file of bytes: two zeros, type 8, number of axes, big-endian sizes, values.

    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 6]))
    array([5, 6], dtype=uint8)
    """
    axes = data[3]
    sizes = np.frombuffer(data, dtype=">u4", count=axes, offset=4)
    return np.frombuffer(data, dtype=np.uint8, offset=4 + 4 * axes).reshape(sizes.astype(int))
