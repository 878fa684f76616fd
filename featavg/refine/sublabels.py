"""Finer labels inside each class: those that people give, for all points or some, and those that are found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints, finite_matrix
from featavg.data import UNKNOWN, Labels, Names, encode
from featavg.errors import InputError
from featavg.model import as_network
from featavg.refine.clusters import (
    METHODS,
    Count,
    Method,
    Space,
    choose_count,
    cluster,
    embed,
    means,
    merge_tiny,
    nearest,
    silhouette,
    stability,
)
from featavg.shown import frame, html_table, text_table
from featavg.threads import one_thread

Counts = Literal["auto"] | int | tuple[int, int] | Mapping[Any, int]
AUTO = (1, 20)


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

    def __call__(self, rows: Ints, counts: int | Mapping[int, int], tiny: int | None = None) -> tuple[Ints, Ints]:
        """Labels (row,) 0 ... K − 1 of these rows with so many sub-classes per class, and the class of each (K,).

        Clusters of a single point are given to their neighbours, as are those `tiny` times smaller than the mean.
        """
        labels = np.empty(len(rows), dtype=np.int64)
        class_of: list[int] = []
        for c in np.unique(self.codes[rows]).tolist():
            own = self.codes[rows] == c
            count = counts if isinstance(counts, int) else counts[c]
            least = 2 if tiny is None else max(2, -(-int(own.sum()) // (tiny * count)))
            found = self._inside(rows[own], count, least)
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
        names = numbered(class_of, classes)
        if self.given is not None:
            codes, first = np.unique(self.given.codes, return_index=True)
            for code, row in zip(codes.tolist(), first.tolist(), strict=True):
                if code != UNKNOWN:
                    names[labels[row]] = str(self.given.names[code])
        return np.array(names)


def numbered(class_of: Ints, classes: Names) -> list[str]:
    """Names of sub-labels that come class by class: class.number, from 1.

    >>> numbered(np.array([0, 0, 1]), np.array(["cat", "dog"]))
    ['cat.1', 'cat.2', 'dog.1']
    """
    return [f"{classes[c]}.{j - int(np.argmax(class_of == c)) + 1}" for j, c in enumerate(class_of.tolist())]


@dataclass(frozen=True, repr=False)
class Subclasses:
    """A finer label for every point, each inside one class: given, found or both."""

    labels: Ints  # (sample,)  0 ... K − 1
    class_of: Ints  # (K,)  which of `classes` a sub-label belongs to
    centers: Array  # (K, feature)  mean of its points
    sizes: Ints  # (K,)  number of its points
    classes: Names  # (class,)  the coarse labels as given, sorted
    names: Names  # (K,)  as given, or class.number
    silhouette: float  # of the clusters inside their classes, on a sample of points; NaN if no class has two
    stability: float  # adjusted Rand index of clusterings of two random halves; NaN if no class has two
    counts: tuple[Count, ...] = ()  # the gap's curves of classes without given sub-labels

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def per_class(self) -> Ints:
        """The number of sub-labels of each class: (class,)."""
        return np.bincount(self.class_of, minlength=len(self.classes))

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {count}" for name, count in zip(self.classes, self.per_class, strict=True))
        trust = f"silhouette {self.silhouette:.2f}, stability {self.stability:.2f}"
        return f"Subclasses({len(self.labels)} points; sub-classes of {counts}; {trust})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self._rows())

    def summary(self) -> str:
        """The sub-classes with their classes and sizes, in words."""
        return f"{self!r}\n{text_table(self._rows())}"

    def _rows(self) -> list[tuple[str, str, str]]:
        found = zip(self.names, self.classes[self.class_of], self.sizes, strict=True)
        return [("sub-class", "class", "points"), *((str(name), str(of), str(size)) for name, of, size in found)]

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw how many points each sub-class has, as a matplotlib figure; see `plotted`."""
        # Late: pictures need matplotlib, the labels do not.
        from featavg.record import Column, Drawing, Evidence, Table
        from featavg.refine.results import plotted

        table = Table({"points": Column(self.sizes, ("subclass",))}, {"subclass": self.names.astype(str)})
        arrays = {"measured": "points", "labels": "subclass", "lower": "points", "upper": "points"}
        options = {"x_label": "points", "limits": [0, 1.05 * int(self.sizes.max())]}
        drawing = Drawing("dots", arrays, "Points of every sub-class.", options)
        return plotted(Evidence(table, (drawing,)), path)

    def to_frame(self, index: Any = None) -> Any:
        """A pandas table, one row per point: its class and its sub-class by name."""
        return frame({"class": self.classes[self.class_of[self.labels]], "subclass": self.names[self.labels]}, index)

    def assign(self, features: ArrayLike, y: ArrayLike) -> Ints:
        """Return the sub-label (sample,) of other points of known class: the nearest center of that class."""
        points = finite_matrix(features, "features", columns=self.centers.shape[1])
        codes = encode(y, self.classes, "y", len(points))
        labels = np.empty(len(points), dtype=np.int64)
        for c in np.unique(codes):
            own = np.flatnonzero(self.class_of == c)
            labels[codes == c] = own[nearest(points[codes == c], self.centers[own])]
        return labels


def discover_sublabels(
    features: ArrayLike,
    y: ArrayLike,
    n_subclasses: Counts = "auto",
    *,
    given: ArrayLike | None = None,
    method: Method = "k-means",
    space: Space = "pca",
    seed: int = 0,
) -> Subclasses:
    """Find sub-classes inside each class as clusters of its features.

    Args:
        features: inputs, or what a trained network makes of them (`hidden_features`): (sample, feature).
        y: coarse labels (sample,), two or more classes.
        n_subclasses: how many per class: a number, a range (low, high) or `auto` = (1, 20), chosen by the gap to one
            Gaussian of the same covariance (`clusters.py`); or a number for each class by its label.
        given: a finer label for all or some points (None, −1 or empty: unknown). In a class that has some, a point
            without one gets that of the nearest mean.
        method: `k-means`, or `gaussian-mixture` with a diagonal covariance for each cluster.
        space: `pca` (the first 50 axes) or `inputs`.
        seed: of everything random here.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2)) + 20 * rng.integers(2, size=(200, 2))
    >>> found = discover_sublabels(x, x[:, 0] > 10)
    >>> found.per_class, found.stability > 0.99
    (array([2, 2]), True)
    """
    points = finite_matrix(features, "features")
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if not np.ptp(points, axis=0).any():
        raise InputError("features must differ between points, got the same values everywhere; check the column")
    coarse = two_classes(y, len(points))
    codes = coarse.codes
    ranges = _ranges(n_subclasses, coarse)
    with one_thread():
        embedded = embed(points, space, seed)
        told = None if given is None else read_sublabels(given, codes)
        finder = Finder(embedded, codes, told, method, seed)
        chosen = {c: choose_count(embedded[codes == c], *ranges[c], seed) for c in finder.open_classes()}
        counts = {c: chosen[c].chosen if c in chosen else 1 for c in range(len(coarse.names))}
        labels, class_of = finder(np.arange(len(points)), counts, tiny=10)
        return Subclasses(
            labels, class_of, means(points, labels), np.bincount(labels), coarse.names,
            finder.names(labels, class_of, coarse.names), silhouette(embedded, labels, codes, seed),
            stability(embedded, class_of, codes, method, seed), tuple(chosen.values()),
        )  # fmt: skip


def hidden_features(model: Any, x: ArrayLike) -> Array:
    """Return what the hidden layer of a two-layer network makes of the points, ReLU(W x + b): (sample, neuron).

    >>> hidden_features(([[1.0], [-1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0]), [[3.0]])
    array([[3., 0.]])
    """
    network = as_network(model)
    return network.activation.value(network.preactivations(x))


def two_classes(y: ArrayLike, count: int) -> Labels:
    """The labels of `count` points, of two classes or more."""
    labels = Labels.of(y, "y", count)
    if len(labels.names) < 2:
        raise InputError(f"y must hold at least 2 classes, got {len(labels.names)} class; one alone has no boundary")
    return labels


def counts_by_class(wanted: Mapping[Any, int], classes: Names) -> list[int]:
    """The number of sub-classes of each class, every one of which must be named."""
    missing = [name for name in classes.tolist() if name not in wanted]
    if missing:
        raise InputError(f"n_subclasses must name every class, got no number for {missing[0]!r}")
    return [int(wanted[name]) for name in classes.tolist()]


def _ranges(wanted: Counts, labels: Labels) -> list[tuple[int, int]]:
    classes = labels.names.tolist()
    if isinstance(wanted, Mapping):
        ranges = [(count, count) for count in counts_by_class(wanted, labels.names)]
    else:
        low, high = AUTO if wanted == "auto" else wanted if isinstance(wanted, tuple) else (wanted, wanted)
        if isinstance(wanted, str) and wanted != "auto":
            raise InputError(f"n_subclasses must be auto, a number, a range or a number for each class, got {wanted!r}")
        ranges = [(int(low), int(high))] * len(classes)
    for (low, high), name, size in zip(ranges, classes, np.bincount(labels.codes).tolist(), strict=True):
        if not 1 <= low <= high:
            raise InputError(f"n_subclasses must be at least 1 and a range must rise, got {low} to {high}")
        if low > size:
            raise InputError(f"class {name!r} has {size} points, fewer than {low} sub-labels; ask for fewer")
    return ranges
