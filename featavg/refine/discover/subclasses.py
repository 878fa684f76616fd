"""Sub-classes found inside each class, without annotation, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix
from featavg.data import Labels, Names, encode, split
from featavg.errors import InputError
from featavg.model import as_network
from featavg.refine.discover.gap import Count, choose_count
from featavg.refine.discover.given import Finder, read_sublabels
from featavg.refine.discover.kmeans import METHODS, Method, Space, cluster, embed, means, nearest
from featavg.shown import frame, html_table, text_table
from featavg.threads import one_thread

Counts = Literal["auto"] | int | tuple[int, int] | Mapping[Any, int]
AUTO = (1, 20)
MOST_POINTS = 1500  # of a class, by which a split into sub-classes is judged
HALVES = 4


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
            Gaussian of the same covariance (`gap.py`); or a number for each class by its label.
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
        labels, class_of = _found(finder, chosen)
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


def silhouette(points: Array, labels: Ints, codes: Ints, seed: int) -> float:
    """Return the mean silhouette of the sub-classes inside their classes, over classes with two or more of them.

    >>> round(silhouette(np.array([[0.0], [1.0], [9.0], [10.0]]), np.array([0, 0, 1, 1]), np.zeros(4), 0), 2)
    0.89
    """
    from sklearn.metrics import silhouette_score

    values = []
    for c in np.unique(codes):
        rows = _sample(np.flatnonzero(codes == c), seed)
        if 1 < len(np.unique(labels[rows])) < len(rows):
            values.append(silhouette_score(points[rows], labels[rows]))
    return float(np.mean(values)) if values else float("nan")


def stability(points: Array, class_of: Ints, codes: Ints, method: Method, seed: int) -> float:
    """Return the mean adjusted Rand index of the labels that clusterings of two halves give to the same points.

    1 for clusters that any half shows, near 0 for cuts through one cloud; over classes with two or more sub-classes.
    """
    from sklearn.metrics import adjusted_rand_score

    values = []
    for c, count in enumerate(np.bincount(class_of).tolist()):
        rows = _sample(np.flatnonzero(codes == c), seed)
        if count < 2 or len(rows) < 4 * count:
            continue
        for turn in range(HALVES):
            halves = (rows[part] for part in split(codes[rows], (1, 1), seed + turn))
            pair = [means(points[half], cluster(points[half], count, method, seed)) for half in halves]
            values.append(adjusted_rand_score(*(nearest(points[rows], centers) for centers in pair)))
    return float(np.mean(values)) if values else float("nan")


def _found(finder: Finder, chosen: Mapping[int, Count]) -> tuple[Ints, Ints]:
    """Labels and the class of each; a cluster below a tenth of the mean size joins its neighbour."""
    sizes = np.bincount(finder.codes)
    counts = {c: chosen[c].chosen if c in chosen else 1 for c in range(len(sizes))}
    labels = np.empty(len(finder.codes), dtype=np.int64)
    class_of: list[int] = []
    for c, count in counts.items():
        own = np.flatnonzero(finder.codes == c)
        labels[own] = finder(own, count, max(2, -(-len(own) // (10 * count))))[0] + len(class_of)
        class_of += [c] * (int(labels[own].max()) + 1 - len(class_of))
    return labels, np.array(class_of, dtype=np.int64)


def _ranges(wanted: Counts, labels: Labels) -> list[tuple[int, int]]:
    classes = labels.names.tolist()
    if isinstance(wanted, Mapping):
        missing = [name for name in classes if name not in wanted]
        if missing:
            raise InputError(f"n_subclasses must name every class, got no number for {missing[0]!r}")
        ranges = [(int(wanted[name]), int(wanted[name])) for name in classes]
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


def _sample(rows: Ints, seed: int) -> Ints:
    if len(rows) <= MOST_POINTS:
        return rows
    return np.random.default_rng(seed).choice(rows, MOST_POINTS, replace=False)
