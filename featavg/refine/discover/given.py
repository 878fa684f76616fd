"""Sub-labels that people give, for all points or for some, and finding the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints
from featavg.data import UNKNOWN, Labels, Names
from featavg.errors import InputError
from featavg.refine.discover.kmeans import Method, cluster, means, merge_tiny, nearest


def read_sublabels(sublabels: ArrayLike, codes: Ints, rows: Bools | None = None) -> Labels:
    """Read sub-labels (sample,) of any kind, each inside one class; −1, None, NaN and empty text mean unknown.

    `codes` are the classes of all points, or of those that the mask `rows` (sample,) keeps.

    >>> read_sublabels(["pug", None, "tom"], np.array([0, 0, 1])).codes
    array([ 0, -1,  1])
    """
    given = Labels.of(sublabels, "sublabels", len(codes) if rows is None else len(rows), partial=True)
    if rows is not None:
        given = given.take(rows)
    known = given.codes != UNKNOWN
    pairs = np.unique(np.stack([given.codes[known], codes[known]]), axis=1)
    names, classes = np.unique(pairs[0], return_counts=True)
    if (classes > 1).any():
        first = int(np.argmax(classes > 1))
        raise InputError(
            f"every sub-label must lie in one class, got {str(given.names[names[first]])!r} in {classes[first]} of them"
            "; make pairs of class and sub-label with pair_sublabels(y, sublabels)"
        )
    return given


def pair_sublabels(y: ArrayLike, sublabels: ArrayLike) -> Names:
    """Sub-labels that cross classes as pairs of class and sub-label, each inside one class; None where unknown.

    >>> pair_sublabels(["cat", "dog", "dog"], ["old", "old", None])
    array(['cat.old', 'dog.old', None], dtype=object)
    """
    given = Labels.of(sublabels, "sublabels", len(np.asarray(y)), partial=True)
    named = zip(np.asarray(y).tolist(), given.codes.tolist(), strict=True)
    pairs = [None if code == UNKNOWN else f"{one}.{given.names[code]}" for one, code in named]
    return np.array(pairs, dtype=object)


@dataclass(frozen=True)
class Finder:
    """Gives every point a sub-label: the one given, the nearest given one of its class, or a discovered one."""

    embedded: Array  # (sample, coordinate)  where clusters are looked for
    codes: Ints  # (sample,)  classes
    given: Labels | None = None
    method: Method = "k-means"
    seed: int = 0
    weights: Array | None = None  # (sample,)

    def __call__(self, rows: Ints, counts: int | Mapping[int, int], least: int = 2) -> tuple[Ints, Ints]:
        """Labels (row,) 0 ... K − 1 of these rows with so many sub-classes per class, and the class of each (K,).

        Clusters of fewer than `least` points are given to their neighbours.
        """
        labels = np.empty(len(rows), dtype=np.int64)
        class_of: list[int] = []
        for c in np.unique(self.codes[rows]).tolist():
            own = self.codes[rows] == c
            found = self._inside(rows[own], counts if isinstance(counts, int) else counts[c], least)
            labels[own] = found + len(class_of)
            class_of += [c] * (int(found.max()) + 1)
        return labels, np.array(class_of, dtype=np.int64)

    def open_classes(self) -> list[int]:
        """The classes without any given sub-label."""
        known = [] if self.given is None else np.unique(self.codes[self.given.codes != UNKNOWN]).tolist()
        return [c for c in np.unique(self.codes).tolist() if c not in known]

    def _inside(self, rows: Ints, count: int, least: int) -> Ints:
        points = self.embedded[rows]
        given = np.full(len(rows), UNKNOWN) if self.given is None else self.given.codes[rows]
        known = given != UNKNOWN
        if known.any():
            labels = np.empty(len(rows), dtype=np.int64)
            labels[known] = np.unique(given[known], return_inverse=True)[1]
            labels[~known] = nearest(points[~known], means(points[known], labels[known]))
            return labels
        if count > len(points):
            raise InputError(f"a class has {len(points)} points, fewer than {count} sub-labels; ask for fewer")
        found = cluster(points, count, self.method, self.seed, None if self.weights is None else self.weights[rows])
        return merge_tiny(points, found, least if len(points) >= 2 * count else 1)

    def names(self, labels: Ints, class_of: Ints, classes: Names) -> Names:
        """The name of each sub-label (K,) of all points: as given, or class.number from 1."""
        names = []
        for j, c in enumerate(class_of.tolist()):
            number = j - int(np.flatnonzero(class_of == c)[0]) + 1
            told = [] if self.given is None else self.given.codes[(labels == j) & (self.given.codes != UNKNOWN)]
            names.append(
                str(self.given.names[told[0]]) if self.given is not None and len(told) else f"{classes[c]}.{number}"
            )
        return np.array(names)
