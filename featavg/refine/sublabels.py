"""Sub-labels found inside each class, without annotation, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix
from featavg.data import Names
from featavg.errors import InputError
from featavg.model import as_network
from featavg.refine.clustering import METHODS, Method, Space, cluster, embed, means, merge_tiny, nearest
from featavg.refine.counting import Count, choose_count
from featavg.refine.quality import silhouette, stability
from featavg.threads import one_thread

Counts = Literal["auto"] | int | tuple[int, int] | Mapping[Any, int]
AUTO = (1, 20)


@dataclass(frozen=True)
class Sublabels:
    """A finer label for every point, each inside one class."""

    labels: Ints  # (sample,)  0 ... K − 1
    class_of: Ints  # (K,)  which of `classes` a sub-label belongs to
    centers: Array  # (K, feature)  mean of its points
    sizes: Ints  # (K,)  number of its points
    classes: Names  # (class,)  the coarse labels as given, sorted
    silhouette: float  # of the clusters inside their classes, on a sample of points; NaN if no class has two
    stability: float  # adjusted Rand index of clusterings of two random halves; NaN if no class has two
    counts: tuple[Count, ...] = field(default=(), repr=False)  # (class,)  the criterion's curves, where it was asked

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def per_class(self) -> Ints:
        """The number of sub-labels of each class: (class,)."""
        return np.bincount(self.class_of, minlength=len(self.classes))

    def assign(self, features: ArrayLike, y: ArrayLike) -> Ints:
        """Return the sub-label (sample,) of other points of known class: the nearest center of that class."""
        points = finite_matrix(features, "features", columns=self.centers.shape[1])
        codes = class_codes(y, len(points), self.classes)
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
    method: Method = "k-means",
    space: Space = "pca",
    seed: int = 0,
) -> Sublabels:
    """Find sub-classes inside each class as clusters of its features.

    Args:
        features: inputs, or what a trained network makes of them (`hidden_features`): (sample, feature).
        y: coarse labels (sample,), two or more classes.
        n_subclasses: how many a class: a number, a range (low, high) or `auto` = (1, 20), chosen by the gap to one
            Gaussian of the same covariance (`counting.py`); or a number for each class by its label.
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
    classes = known_classes(y, len(points))
    codes = class_codes(y, len(points), classes)
    ranges = _ranges(n_subclasses, classes, np.bincount(codes))
    with one_thread():
        embedded = embed(points, space, seed)
        labels, counts = np.empty(len(points), dtype=np.int64), []
        class_of: list[int] = []
        for c, (low, high) in enumerate(ranges):
            own = np.flatnonzero(codes == c)
            counts.append(choose_count(embedded[own], low, high, seed))
            found = cluster(embedded[own], counts[-1].chosen, method, seed)
            found = merge_tiny(embedded[own], found, smallest=_smallest(len(own), counts[-1].chosen))
            labels[own] = found + len(class_of)
            class_of += [c] * (int(found.max()) + 1)
        groups = np.array(class_of, dtype=np.int64)
        return Sublabels(
            labels, groups, means(points, labels), np.bincount(labels), classes,
            silhouette(embedded, labels, codes, seed), stability(embedded, groups, codes, method, seed), tuple(counts),
        )  # fmt: skip


def hidden_features(model: Any, x: ArrayLike) -> Array:
    """Return what the hidden layer of a two-layer network makes of the points, ReLU(W x + b): (sample, neuron).

    >>> hidden_features(([[1.0], [-1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0]), [[3.0]])
    array([[3., 0.]])
    """
    return np.maximum(as_network(model).preactivations(x), 0.0)


def known_classes(y: ArrayLike, count: int) -> Names:
    """Return the sorted classes of `y`, at least two of them."""
    labels = np.asarray(y)
    if labels.shape != (count,):
        raise InputError(f"y must hold one label for each of {count} points, got shape {labels.shape}")
    classes = np.unique(labels)
    if len(classes) < 2:
        raise InputError(f"y must hold at least 2 classes, got {len(classes)} class; a single one has no boundary")
    return classes


def class_codes(y: ArrayLike, count: int, classes: Names) -> Ints:
    """Return `y` as positions in `classes` (sample,), refusing labels that are not among them."""
    labels = np.asarray(y)
    if labels.shape != (count,):
        raise InputError(f"y must hold one label for each of {count} points, got shape {labels.shape}")
    unseen = np.setdiff1d(labels, classes)
    if len(unseen):
        raise InputError(
            f"y must be labels among {classes.tolist()}, got {unseen.tolist()[0]!r}; it was not seen before"
        )
    return np.searchsorted(classes, labels).astype(np.int64)


def _ranges(wanted: Counts, classes: Names, sizes: Ints) -> list[tuple[int, int]]:
    if isinstance(wanted, Mapping):
        missing = [name for name in classes.tolist() if name not in wanted]
        if missing:
            raise InputError(f"n_subclasses must name every class, got no number for {missing[0]!r}")
        ranges = [(int(wanted[name]), int(wanted[name])) for name in classes.tolist()]
    else:
        low, high = AUTO if wanted == "auto" else wanted if isinstance(wanted, tuple) else (wanted, wanted)
        if isinstance(wanted, str) and wanted != "auto":
            raise InputError(f"n_subclasses must be auto, a number, a range or a number for each class, got {wanted!r}")
        ranges = [(int(low), int(high))] * len(classes)
    for (low, high), name, size in zip(ranges, classes.tolist(), sizes.tolist(), strict=True):
        if not 1 <= low <= high:
            raise InputError(f"n_subclasses must be at least 1 and a range must rise, got {low} to {high}")
        if low > size:
            raise InputError(f"class {name!r} has {size} points, fewer than {low} sub-labels; ask for fewer")
    return ranges


def _smallest(points: int, count: int) -> int:
    """A tenth of the mean size, at least 2: a sub-class of one point is a point."""
    return max(min(2, points // count), -(-points // (10 * count)))
