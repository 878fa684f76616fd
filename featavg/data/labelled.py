"""A user's own data: points with coarse labels of any kind, and finer ones where there are any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from featavg.arrays import Array, Ints, finite_matrix
from featavg.data.points import Points
from featavg.errors import InputError

Names = NDArray[Any]  # labels as the user wrote them: strings or numbers


@dataclass(frozen=True)
class LabelledData:
    """Points with a coarse label of two or more classes, and a sub-label inside it if known; labels are codes."""

    x: Array  # (sample, axis)
    y: Ints  # (sample,)  0 ... classes - 1
    classes: Names  # (class,)  sorted; classes[y] are the labels as given
    sublabels: Ints | None = None  # (sample,)  0 ... subclasses - 1; every sub-class lies in one class
    subclasses: Names | None = None  # (subclass,)
    shape: tuple[int, ...] | None = None  # (height, width[, channel]) if the points are images

    @property
    def labels(self) -> Names:
        """The coarse labels as given, which is how a scikit-learn model knows them: (sample,)."""
        return self.classes[self.y]

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes as text: (class,)."""
        return tuple(str(name) for name in self.classes)

    @property
    def subclass_names(self) -> tuple[str, ...]:
        """The sub-classes as text: (subclass,), empty without sub-labels."""
        return () if self.subclasses is None else tuple(str(name) for name in self.subclasses)

    def known_sublabels(self) -> Ints:
        """Return the sub-labels (sample,), or say that they are needed."""
        if self.sublabels is None:
            raise InputError(
                "this needs a sub-label for every point, got coarse labels only; "
                "name them with sublabel=, or discover them with SubclassClassifier"
            )
        return self.sublabels

    def points(self, positive: object = None) -> Points:
        """View two of the classes' sides as ±1 labelled points with sub-labels as clusters.

        Args:
            positive: the class that is +1, all others -1; with two classes the first unless told.

        >>> data = labelled_data([[0.0], [1.0], [2.0]], ["dog", "cat", "dog"], ["pug", "tom", "lab"])
        >>> data.points(positive="dog").y
        array([ 1, -1,  1])
        """
        cluster = self.known_sublabels()
        if positive is None and len(self.classes) != 2:
            raise InputError(f"a binary task needs 2 classes, got {len(self.classes)}; say which is +1 with positive=")
        if positive is not None and positive not in self.classes.tolist():
            raise InputError(f"positive must be one of the classes {self.classes.tolist()}, got {positive!r}")
        first = self.classes[0] if positive is None else positive
        return Points(x=self.x, y=np.where(self.labels == first, 1, -1).astype(np.int64), cluster=cluster)

    def __len__(self) -> int:
        return len(self.x)


def labelled_data(
    x: ArrayLike, y: ArrayLike, sublabels: ArrayLike | None = None, shape: tuple[int, ...] | None = None
) -> LabelledData:
    """Build `LabelledData` from points (sample, axis) and labels (sample,) of strings or numbers.

    >>> data = labelled_data([[0.0], [1.0]], ["dog", "cat"])
    >>> data.y, data.class_names
    (array([1, 0]), ('cat', 'dog'))
    """
    points = finite_matrix(x, "x")
    coarse = _label_vector(y, "labels", len(points))
    if len(points) == 0:
        raise InputError("data must hold at least one point, got none")
    classes, codes = np.unique(coarse, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"labels must hold at least 2 classes, got only {classes.tolist()[0]!r}")
    if sublabels is None:
        return LabelledData(points, codes.astype(np.int64), classes, shape=shape)
    fine = _inside_classes(coarse, _label_vector(sublabels, "sub-labels", len(points)))
    subclasses, subcodes = np.unique(fine, return_inverse=True)
    return LabelledData(points, codes.astype(np.int64), classes, subcodes.astype(np.int64), subclasses, shape)


def _label_vector(values: ArrayLike, name: str, count: int) -> Names:
    labels = np.asarray(values)
    if labels.shape != (count,):
        raise InputError(f"{name} must be one for each of {count} points, got shape {labels.shape}")
    if labels.dtype.kind not in "iubUf":
        raise InputError(f"{name} must be strings or numbers, got an array of {labels.dtype}; convert them first")
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.round(labels)):
        raise InputError(f"{name} must be strings or whole numbers, got fractions or NaN; is this the right column?")
    if labels.dtype.kind == "U" and (labels == "").any():
        raise InputError(f"{name} must be given for every point, got {int((labels == '').sum())} empty ones")
    return labels.astype(np.int64) if labels.dtype.kind == "f" else as_integers(labels)


def as_integers(labels: Names) -> Names:
    """Return labels that are all written as whole numbers as such, so that 10 sorts after 2; others as they are.

    >>> as_integers(np.array(["10", "2"])), as_integers(np.array(["10", "b"]))
    (array([10,  2]), array(['10', 'b'], dtype='<U2'))
    """
    try:
        numbers = labels.astype(np.int64)
    except ValueError:
        return labels
    # "07" and "+7" are names, not the number 7.
    return numbers if np.array_equal(numbers.astype(str), labels.astype(str)) else labels


def _inside_classes(coarse: Names, fine: Names) -> Names:
    """Return sub-labels that belong to one class each; a name that two classes share becomes class/name."""
    pairs = np.unique(np.stack([np.unique(values, return_inverse=True)[1] for values in (coarse, fine)]), axis=1)
    if len(np.unique(pairs[1])) == pairs.shape[1]:
        return fine
    return np.array([f"{a}/{b}" for a, b in zip(coarse, fine, strict=True)])
