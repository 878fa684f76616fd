"""Real images as points: fine labels are the classes, the coarse label is a named task on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featavg.arrays import Ints
from featavg.data.dataset import Dataset
from featavg.data.fetching import contents_of
from featavg.data.image_set import Bytes, Part, Progress
from featavg.data.labels import Labels
from featavg.data.sets import image_set
from featavg.errors import InputError

Task = str | Sequence[int | str]  # "parity", "halves", or which classes are +1


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
        task: `parity` (even classes are +1), `halves` (0 ... 4 are +1), or the classes that are +1, by number or name,
            as a list or with commas between.
        samples: draw this many at random, without repetition; all by default.
        seed: of that draw.
        download: fetch the set if it is not in the cache.
        progress: called as progress(what, bytes so far, bytes in all or None) while fetching.

    >>> data = load_images("digits", "test", task="halves")
    >>> data.x.shape, data.shape, data.fine_names[:2]
    ((360, 64), (8, 8), ('0', '1'))
    """
    known = image_set(name)
    center_labels = coarse_task(task, known.class_names)  # before anything is fetched
    pixels, labels = load_pixels(name, part, download=download, progress=progress)
    if samples is not None:
        if not 1 <= samples <= len(labels):
            raise InputError(f"samples must lie in 1 ... {len(labels)}, the {part} part of {name}, got {samples}")
        drawn = np.sort(np.random.default_rng(seed).permutation(len(labels))[:samples])
        pixels, labels = pixels[drawn], labels[drawn]
    classes = (center_labels > 0).astype(np.int64)
    return Dataset(
        x=np.divide(pixels.reshape(len(pixels), -1), known.brightest),
        labels=Labels(classes[labels], np.array([-1, 1])),
        fine=Labels(labels, np.array(known.class_names)),
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
    known = image_set(name)
    wanted = known.train if part == "train" else known.test
    return known.decode(part, contents_of(known, wanted, download, progress))


def coarse_task(task: Task, class_names: Sequence[str]) -> Ints:
    """Return the coarse label -1 or +1 of each class: (class,).

    >>> coarse_task("parity", "0123456789")[:4]
    array([ 1, -1,  1, -1])
    >>> coarse_task(["cat", 2], ["dog", "cat", "frog"])
    array([-1,  1,  1])
    >>> coarse_task("cat,2", ["dog", "cat", "frog"])
    array([-1,  1,  1])
    """
    classes = len(class_names)
    if task == "parity":
        positive = list(range(0, classes, 2))
    elif task == "halves":
        positive = list(range((classes + 1) // 2))
    elif isinstance(task, str) and not ("," in task or task.isdecimal() or task in class_names):
        raise InputError(f"task must be parity, halves or a list of the classes that are +1, got {task!r}")
    else:
        listed = [label.strip() for label in task.split(",")] if isinstance(task, str) else task
        positive = [_class_index(label, class_names) for label in listed]
    labels = np.full(classes, -1, dtype=np.int64)
    labels[positive] = 1
    if not 0 < (labels > 0).sum() < classes:
        raise InputError(f"both coarse classes need a class, got {int((labels > 0).sum())} of {classes} as +1")
    return labels


def _class_index(label: int | str, class_names: Sequence[str]) -> int:
    if isinstance(label, str) and label in class_names:
        return list(class_names).index(label)
    # A number counts as one however it is written.
    number = int(label) if isinstance(label, str) and label.isdecimal() else label
    if isinstance(number, int | np.integer) and 0 <= number < len(class_names):
        return int(number)
    known = ", ".join(class_names)
    raise InputError(f"a class must be one of {known} or its number 0 ... {len(class_names) - 1}, got {label!r}")
