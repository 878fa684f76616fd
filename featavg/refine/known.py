"""Sub-labels that people give, for all points or for some, and splitting the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from featavg.arrays import Array, Bools, Ints
from featavg.errors import InputError
from featavg.refine.clustering import Method, cluster, means, merge_tiny, nearest

UNKNOWN = -1


@dataclass(frozen=True)
class Given:
    """Sub-labels as codes, UNKNOWN where they were not given."""

    codes: Ints  # (sample,)
    names: NDArray[Any]  # (given,)


def read_sublabels(sublabels: ArrayLike, y: Ints) -> Given:
    """Read sub-labels (sample,) of any kind; −1, None, NaN and empty text mean unknown.

    >>> read_sublabels(["pug", None, "tom"], np.array([0, 0, 1])).codes
    array([ 0, -1,  1])
    """
    values = np.asarray(sublabels, dtype=object)
    if values.shape != y.shape:
        raise InputError(f"sublabels must be one for each of {len(y)} points, got shape {values.shape}")
    known = np.array([not _unknown(value) for value in values], dtype=bool)
    text = np.array([str(value) for value in values[known]])
    names, codes = np.unique(text, return_inverse=True)
    found = np.full(len(y), UNKNOWN, dtype=np.int64)
    found[known] = codes
    for j, name in enumerate(names):
        classes = np.unique(y[found == j])
        if len(classes) > 1:
            raise InputError(f"every sub-label must lie in one class, got {str(name)!r} in {len(classes)} of them")
    return Given(found, names)


@dataclass(frozen=True)
class Splitter:
    """Gives every point a sub-label: the known one, the nearest known one of its class, or a discovered one."""

    embedded: Array  # (sample, coordinate)  where clusters are looked for
    y: Ints  # (sample,)  codes of the classes
    weights: Array  # (sample,)
    given: Given | None
    method: Method
    counts: Mapping[int, int] | None  # fixed numbers for each class, instead of one for all
    seed: int

    def __call__(self, rows: Ints, count: int) -> tuple[Ints, Ints]:
        """Labels (row,) 0 ... K − 1 of these rows with `count` sub-classes a class, and the class of each (K,)."""
        labels = np.empty(len(rows), dtype=np.int64)
        class_of: list[int] = []
        for c in np.unique(self.y[rows]).tolist():
            own = self.y[rows] == c
            found = self._inside(rows[own], self.counts[c] if self.counts else count)
            labels[own] = found + len(class_of)
            class_of += [c] * (int(found.max()) + 1)
        return labels, np.array(class_of, dtype=np.int64)

    def complete(self) -> bool:
        """Whether every class has given sub-labels, so that no number has to be chosen."""
        return self.given is not None and not self.open_classes()

    def open_classes(self) -> list[int]:
        """The classes without any given sub-label."""
        known = [] if self.given is None else np.unique(self.y[self.given.codes != UNKNOWN]).tolist()
        return [c for c in np.unique(self.y).tolist() if c not in known]

    def _inside(self, rows: Ints, count: int) -> Ints:
        points = self.embedded[rows]
        codes = np.full(len(rows), UNKNOWN) if self.given is None else self.given.codes[rows]
        known: Bools = codes != UNKNOWN
        if known.any():
            _, dense = np.unique(codes[known], return_inverse=True)
            labels = np.empty(len(rows), dtype=np.int64)
            labels[known] = dense
            labels[~known] = nearest(points[~known], means(points[known], dense))
            return labels
        if count > len(points):
            raise InputError(f"a class has {len(points)} points, fewer than {count} sub-labels; ask for fewer")
        found = cluster(points, count, self.method, self.seed, self.weights[rows])
        return merge_tiny(points, found, smallest=2 if len(points) >= 2 * count else 1)

    def names(self, labels: Ints, class_of: Ints) -> NDArray[Any]:
        """The name of each sub-label (K,): as given, or class.number."""
        names = []
        for j, c in enumerate(class_of.tolist()):
            codes = np.array([UNKNOWN]) if self.given is None else self.given.codes[labels == j]
            told = codes[codes != UNKNOWN]
            first = int(np.flatnonzero(class_of == c)[0])
            names.append(str(self.given.names[told[0]]) if self.given is not None and len(told) else f"{c}.{j - first}")
        return np.array(names)


def _unknown(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value in ("", "-1")):
        return True
    return not isinstance(value, str) and bool(value != value or value == UNKNOWN)
