"""Real images as points: fine labels are the classes, the coarse label is a named task on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from featavg.arrays import Ints
from featavg.data.archives import read_idx
from featavg.data.dataset import Dataset
from featavg.data.fetching import cache_folder, fetch, read_cached
from featavg.data.labels import Labels
from featavg.data.sources import CATALOGUE, Content, ImageSet, Progress
from featavg.errors import InputError

Bytes = NDArray[np.uint8]
Part = Literal["train", "test"]
Task = str | Sequence[int | str]  # "parity", "halves", or which classes are +1

DIGITS_TEST = 5  # one digit in so many is for testing: 360 of 1797
DIGITS_SEED = 0  # of the split, the same for everyone


def load_images(
    name: str = "digits",
    part: Part = "train",
    task: Task = "parity",
    *,
    samples: int | None = None,
    seed: int = 0,
    download: bool = True,
    progress: Progress | None = None,
) -> Dataset:
    """Load an image set as points x (sample, pixel) in [0, 1], with the class as fine and a task as coarse label.

    x is float64 like all points here, since exact radii and coefficient space need it: 376 MB for MNIST's training
    part, 1.2 GB for CIFAR-10's. `samples` draws fewer; `load_pixels` gives the bytes.

    Args:
        name: `digits` (embedded), `mnist`, `fashion-mnist` or `cifar10`.
        part: `train` or `test`.
        task: `parity` (even classes are +1), `halves` (0 ... 4 are +1), or the classes that are +1, by number or name.
        samples: draw this many at random, without repetition; all by default.
        seed: of that draw.
        download: fetch the set if it is not in the cache.
        progress: called as progress(what, bytes so far, bytes in all or None) while fetching.

    >>> data = load_images("digits", "test", task="halves")
    >>> data.x.shape, data.shape, data.fine_names[:2]
    ((360, 64), (8, 8), ('0', '1'))
    """
    pixels, labels = load_pixels(name, part, download=download, progress=progress)
    class_names = CATALOGUE[name].class_names if name in CATALOGUE else tuple("0123456789")
    center_labels = coarse_task(task, class_names)
    if samples is not None:
        if not 1 <= samples <= len(labels):
            raise InputError(f"samples must lie in 1 ... {len(labels)}, the {part} part of {name}, got {samples}")
        drawn = np.sort(np.random.default_rng(seed).permutation(len(labels))[:samples])
        pixels, labels = pixels[drawn], labels[drawn]
    classes = (center_labels > 0).astype(np.int64)
    return Dataset(
        x=np.divide(pixels.reshape(len(pixels), -1), 16.0 if name == "digits" else 255.0),
        labels=Labels(classes[labels], np.array([-1, 1])),
        fine=Labels(labels, np.array(class_names)),
        classes_of_fine=classes,
        shape=pixels.shape[1:],
    )


def load_pixels(
    name: str, part: Part = "train", *, download: bool = True, progress: Progress | None = None
) -> tuple[Bytes, Ints]:
    """Load the bytes of an image set, (sample, height, width[, channel]), and its classes (sample,), in official order.

    Bytes go from 0 to 255, those of `digits` to 16.

    >>> pixels, labels = load_pixels("digits")
    >>> pixels.shape, pixels.dtype, len(labels)
    ((1437, 8, 8), dtype('uint8'), 1437)
    """
    if part not in ("train", "test"):
        raise InputError(f"part must be train or test, got {part!r}")
    if name == "digits":
        return _digits(part)
    if name not in CATALOGUE:
        raise InputError(f"image sets are digits, {', '.join(CATALOGUE)}; got {name!r}")
    image_set = CATALOGUE[name]
    data = _contents(image_set, image_set.train if part == "train" else image_set.test, download, progress)
    if image_set.layout == "idx":
        pixels, labels = (read_idx(content) for content in data)
        return pixels, labels.astype(np.int64)
    return _cifar(data, image_set.shape)


def coarse_task(task: Task, class_names: Sequence[str]) -> Ints:
    """Return the coarse label -1 or +1 of each class: (class,).

    >>> coarse_task("parity", "0123456789")[:4]
    array([ 1, -1,  1, -1])
    >>> coarse_task(["cat", 2], ["dog", "cat", "frog"])
    array([-1,  1,  1])
    """
    classes = len(class_names)
    if task == "parity":
        positive = list(range(0, classes, 2))
    elif task == "halves":
        positive = list(range((classes + 1) // 2))
    elif isinstance(task, str):
        raise InputError(f"task must be parity, halves or a list of the classes that are +1, got {task!r}")
    else:
        positive = [_class_index(label, class_names) for label in task]
    labels = np.full(classes, -1, dtype=np.int64)
    labels[positive] = 1
    if not 0 < (labels > 0).sum() < classes:
        raise InputError(f"both coarse classes need a class, got {int((labels > 0).sum())} of {classes} as +1")
    return labels


def _class_index(label: int | str, class_names: Sequence[str]) -> int:
    if isinstance(label, str) and label in class_names:
        return list(class_names).index(label)
    if isinstance(label, int | np.integer) and 0 <= label < len(class_names):
        return int(label)
    known = ", ".join(class_names)
    raise InputError(f"a class must be one of {known} or its number 0 ... {len(class_names) - 1}, got {label!r}")


def _contents(
    image_set: ImageSet, wanted: tuple[Content, ...], download: bool, progress: Progress | None
) -> list[bytes]:
    data = [read_cached(image_set.name, content) for content in wanted]
    if download and any(content is None for content in data):
        fetch(image_set.name, progress)
        data = [read_cached(image_set.name, content) for content in wanted]
    whole = [content for content in data if content is not None]
    if len(whole) < len(wanted):
        raise InputError(
            f"{image_set.name} is not in {cache_folder()}; run `featavg data fetch {image_set.name}` first"
        )
    return whole


def _cifar(batches: list[bytes], shape: tuple[int, ...]) -> tuple[Bytes, Ints]:
    height, width, channels = shape
    rows = np.frombuffer(b"".join(batches), dtype=np.uint8).reshape(-1, 1 + height * width * channels)
    pixels = rows[:, 1:].reshape(-1, channels, height, width).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(pixels), rows[:, 0].astype(np.int64)


def _digits(part: Part) -> tuple[Bytes, Ints]:
    from sklearn.datasets import load_digits  # a second that `import featavg` need not pay

    bunch = load_digits()
    labels = bunch.target.astype(np.int64)
    order = np.random.default_rng(DIGITS_SEED).permutation(len(labels))
    # Sorted by class, every fifth is a test image: each class is split in the same proportion.
    order = order[np.argsort(labels[order], kind="stable")]
    is_test = np.arange(len(order)) % DIGITS_TEST == 0
    chosen = np.sort(order[is_test if part == "test" else ~is_test])
    return bunch.images[chosen].astype(np.uint8), labels[chosen]
