"""Labels as people write them, and the positions that code computes with: the only label code of the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from featavg.arrays import Ints
from featavg.errors import InputError

Names = NDArray[Any]  # labels as the user wrote them: strings or numbers
UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Labels:
    """One label for each point: positions in sorted names, -1 where unknown.

    >>> Labels.of(["dog", "cat", "dog"]).codes
    array([1, 0, 1])
    """

    codes: Ints  # (sample,)
    names: Names  # (name,)  sorted

    @classmethod
    def of(cls, values: ArrayLike, what: str = "labels", count: int | None = None, *, partial: bool = False) -> Labels:
        """Labels from what the user wrote, strings or whole numbers.

        Args:
            values: (sample,); numbers written as text count as numbers, so that 10 sorts after 2.
            what: how errors call them.
            count: how many there must be.
            partial: whether None, NaN, -1 and empty text mean unknown.

        >>> Labels.of(["pug", None, "tom"], partial=True).codes
        array([ 0, -1,  1])
        """
        given = np.asarray(values, dtype=object) if partial else np.asarray(values)
        if given.ndim != 1 or (count is not None and len(given) != count):
            points = "every point" if count is None else f"each of {count} points"
            raise InputError(f"{what} must be one for {points}, got shape {given.shape}")
        if not partial:
            names, codes = np.unique(_plain(given, what), return_inverse=True)
            return cls(codes.astype(np.int64), names)
        known = np.array([not _is_unknown(value) for value in given], dtype=bool)
        names, found = np.unique(np.array([str(value) for value in given[known]], dtype=str), return_inverse=True)
        codes = np.full(len(given), UNKNOWN, dtype=np.int64)
        codes[known] = found
        return cls(codes, names)

    @property
    def values(self) -> Names:
        """The labels as given: (sample,)."""
        return np.asarray(self.names[self.codes])

    @property
    def signs(self) -> Ints:
        """-1 for the first name, +1 for the second: (sample,)."""
        if len(self.names) != 2:
            raise InputError(f"a binary task needs 2 classes, got {len(self.names)}; say which is +1")
        return 2 * self.codes - 1

    def encode(self, values: ArrayLike, what: str = "y") -> Ints:
        """Other labels of the same names as positions (sample,); one that was not seen before is refused.

        >>> Labels.of(["dog", "cat"]).encode(["cat", "cat"])
        array([0, 0])
        """
        return encode(values, self.names, what)

    def take(self, rows: Any) -> Labels:
        """The labels of some points."""
        return Labels(self.codes[rows], self.names)

    def __len__(self) -> int:
        return len(self.codes)


def encode(values: ArrayLike, names: Names, what: str = "y", count: int | None = None) -> Ints:
    """Labels (sample,) as positions in `names` (name,); one that is not among them is refused."""
    given = np.asarray(values)
    if given.ndim != 1 or (count is not None and len(given) != count):
        points = "each point" if count is None else f"each of {count} points"
        raise InputError(f"{what} must hold one label for {points}, got shape {given.shape}")
    # Numbers may come as text from a file, or the other way round.
    as_text = (given.dtype.kind == "U") != (names.dtype.kind == "U")
    asked, known = (given.astype(str), names.astype(str)) if as_text else (given, names)
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known, asked, sorter=order), len(known) - 1)]
    unknown = asked[known[place] != asked]
    if len(unknown):
        raise InputError(
            f"{what} must be labels among {names.tolist()}, got {unknown.tolist()[0]!r}; map yours to these"
        )
    return place.astype(np.int64)


def inside_classes(coarse: Labels, fine: Names) -> Names:
    """Fine labels that belong to one class each; a name that two classes share becomes class/name."""
    pairs = np.unique(np.stack([coarse.codes, np.unique(fine, return_inverse=True)[1]]), axis=1)
    if len(np.unique(pairs[1])) == pairs.shape[1]:
        return fine
    return np.array([f"{a}/{b}" for a, b in zip(coarse.values, fine, strict=True)])


def class_of(coarse: Labels, fine: Labels) -> Ints:
    """The class of each fine label, as a position: (fine name,); each must lie in one class."""
    found = np.full(len(fine.names), UNKNOWN, dtype=np.int64)
    known = fine.codes != UNKNOWN
    found[fine.codes[known]] = coarse.codes[known]
    crossing = np.flatnonzero(known & (found[fine.codes] != coarse.codes))
    if len(crossing):
        name = str(fine.names[fine.codes[crossing[0]]])
        raise InputError(f"every fine label must belong to one coarse label, got {name!r} in two of them")
    return found


def _plain(labels: Names, what: str) -> Names:
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
        labels = labels.astype(str)  # as tables hold text
    if labels.dtype.kind not in "iubUf":
        raise InputError(f"{what} must be strings or numbers, got an array of {labels.dtype}; convert them first")
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.round(labels)):
        raise InputError(f"{what} must be strings or whole numbers, got fractions or NaN; is this the right column?")
    if labels.dtype.kind == "U" and (labels == "").any():
        raise InputError(f"{what} must be given for every point, got {int((labels == '').sum())} empty ones")
    return labels.astype(np.int64) if labels.dtype.kind == "f" else as_integers(labels)


def as_integers(labels: Names) -> Names:
    """Return labels that are all written as whole numbers as such; others as they are.

    >>> as_integers(np.array(["10", "2"])), as_integers(np.array(["10", "b"]))
    (array([10,  2]), array(['10', 'b'], dtype='<U2'))
    """
    try:
        numbers = labels.astype(np.int64)
    except ValueError:
        return labels
    # "07" and "+7" are names, not the number 7.
    return numbers if np.array_equal(numbers.astype(str), labels.astype(str)) else labels


def _is_unknown(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value in ("", "-1")):
        return True
    return not isinstance(value, str) and bool(value != value or value == UNKNOWN)


def split(codes: Ints, shares: Sequence[float], seed: int) -> list[Ints]:
    """Rows of random parts, each with its share of every class: one array (row,) per share. Nothing else splits points.

    Of a class of n points, those of rank i = 0 ... n − 1 in a random order go where (i + ½)/n lies among the
    cumulated shares, so that sizes differ from their shares by less than one point per class.

    Args:
        codes: the class of each point, 0 ... (`Labels.codes`).
        shares: positive numbers, as (0.8, 0.2) to hold a fifth out; only their ratios matter.
        seed: of the random order.

    >>> learn, judge = split(np.repeat([0, 1], [10, 5]), (0.8, 0.2), seed=0)
    >>> len(learn), len(judge), len(np.intersect1d(learn, judge))
    (12, 3, 0)
    """
    if len(shares) < 2 or min(shares) <= 0:
        raise InputError(f"a split needs two or more positive shares, got {list(shares)}")
    order = np.random.default_rng(seed).permutation(len(codes))
    edges = np.cumsum(shares)[:-1] / np.sum(shares)
    part = np.empty(len(codes), dtype=np.int64)
    for c in np.unique(codes):
        own = order[codes[order] == c]
        part[own] = np.searchsorted(edges, (np.arange(len(own)) + 0.5) / len(own), side="right")
    return [order[part[order] == k] for k in range(len(shares))]
