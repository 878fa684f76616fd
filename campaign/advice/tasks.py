"""Data of known structure: draws of points, their labels and the groups that were planted in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import load_images


class Draw(NamedTuple):
    """Points (sample, axis), their classes and their planted groups (sample,)."""

    x: Array
    y: Ints
    group: Ints


Task = Callable[[int, np.random.Generator], Draw]  # so many fresh points


def blobs(centers: Array, class_of: Ints, shares: Array | None = None, noise: float = 0.0) -> Task:
    """Unit Gaussians around centers (group, axis) of these classes; a share `noise` of the labels is another one."""

    def draw(count: int, rng: np.random.Generator) -> Draw:
        group = rng.choice(len(centers), size=count, p=shares)
        y = class_of[group]
        wrong = rng.random(count) < noise
        y = np.where(wrong, (y + rng.integers(1, class_of.max() + 1, size=count)) % (class_of.max() + 1), y)
        return Draw(centers[group] + rng.standard_normal((count, centers.shape[1])), y, group)

    return draw


def orthogonal(groups: int, dim: int, size: float, rng: np.random.Generator) -> Array:
    """Centers (group, axis) of one length in random orthogonal directions."""
    return size * np.linalg.qr(rng.standard_normal((dim, groups)))[0].T


def apart(groups: int, dim: int, least: float, rng: np.random.Generator) -> Array:
    """Centers (group, axis) in a box of few dimensions, none nearer to another one than `least`."""
    found: list[Array] = []
    side = least * (1.0 + groups ** (1.0 / dim))
    while len(found) < groups:
        trial = rng.uniform(0.0, side, size=dim)
        if all(np.linalg.norm(trial - other) >= least for other in found):
            found.append(trial)
    return np.array(found)


def images(name: str, class_of: Ints) -> Task:
    """Images of a built-in set, whose ten groups have these classes; no image twice in a draw."""
    x, group = _images(name)

    def draw(count: int, rng: np.random.Generator) -> Draw:
        rows = rng.choice(len(x), size=count, replace=False)
        return Draw(x[rows], class_of[group[rows]], group[rows])

    return draw


@cache
def _images(name: str) -> tuple[Array, Ints]:
    """All digits, or 8000 images of a larger set at half their width and height: four pixels become their mean."""
    if name == "digits":
        some = [load_images(name, part) for part in ("train", "test")]
        return np.concatenate([one.x for one in some]), np.concatenate([one.cluster for one in some])
    data = load_images(name, "train", samples=8000)
    return data.x.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(data), -1), data.cluster
