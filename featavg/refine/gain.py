"""What finer labels would bring: the decision is trained again on one half of the points and measured on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.intervals import bootstrap_ratio, normal
from featavg.refine.classifier import SubclassClassifier
from featavg.refine.subject import Subject, read_subject

MOST_POINTS = 300


@dataclass(frozen=True)
class Gain:
    """Mean radii on the other half, which are areas under curves of robust accuracy; errors have radius 0."""

    accuracy: tuple[float, float, float]  # of the model as it is, retrained on coarse labels, retrained on finer ones
    accuracy_change: tuple[float, float]  # 95 % interval of finer − as it is, paired over points
    radius: tuple[float, float, float]
    over_model: float  # finer / as it is
    over_model_interval: tuple[float, float]  # 95 %, bootstrap over points
    over_coarse: float  # finer / coarse, both by the same recipe: what the labels alone bring
    over_coarse_interval: tuple[float, float]
    subclasses: int  # a class, on average, that were used
    at: float  # the model's median radius
    robust: tuple[float, float, float]  # accuracy of the three at that radius

    @property
    def surest(self) -> tuple[float, tuple[float, float]]:
        """The ratio, over the model or over coarse labels, that is less surely above 1, and its interval.

        Both must be: a stronger recipe alone is no gain from labels, and labels alone none for this model.
        """
        both = (self.over_model, self.over_model_interval), (self.over_coarse, self.over_coarse_interval)
        return min(both, key=lambda ratio: ratio[1][0])


def measure_gain(subject: Subject, learn: Ints, judge: Ints, sublabels: ArrayLike | None, seed: int) -> Gain:
    """Retrain on rows `learn` with one sub-class a class and with finer ones, and attack all three at rows `judge`."""
    rows = judge[:MOST_POINTS]
    known = None if sublabels is None else np.asarray(sublabels, dtype=object)[learn]
    labels = subject.classes[subject.codes]
    coarse = SubclassClassifier(n_subclasses=1, random_state=seed).fit(subject.features[learn], labels[learn])
    finer = SubclassClassifier(random_state=seed).fit(subject.features[learn], labels[learn], sublabels=known)
    three = [subject, *(read_subject(model, subject.features, labels) for model in (coarse, finer))]
    radii = [np.minimum(one.attack(rows), 1e9) for one in three]
    rng = np.random.default_rng(seed)
    over_model, model_interval = bootstrap_ratio(radii[2], radii[0], np.mean, rng)
    over_coarse, coarse_interval = bootstrap_ratio(radii[2], radii[1], np.mean, rng)
    at = float(np.median(radii[0]))
    right = [one.predict(one.features[judge]) == one.codes[judge] for one in three]
    return Gain(
        _three(np.mean(one) for one in right),
        normal(right[2].astype(np.float64) - right[0]),
        _three(np.mean(values) for values in radii),
        over_model, model_interval, over_coarse, coarse_interval,
        round(len(finer.class_of_) / len(subject.classes)), at, _three(np.mean(values > at) for values in radii),
    )  # fmt: skip


def _three(values: object) -> tuple[float, float, float]:
    first, second, third = (float(value) for value in values)  # type: ignore[attr-defined]
    return first, second, third


def halves(codes: Ints, seed: int) -> tuple[Ints, Ints]:
    """Rows of two random halves, with half of every class in each: two arrays (row,).

    >>> [len(half) for half in halves(np.array([0, 0, 1, 1]), seed=0)]
    [2, 2]
    """
    rng = np.random.default_rng(seed)
    parts: list[list[Array]] = [[], []]
    for c in np.unique(codes):
        own = rng.permutation(np.flatnonzero(codes == c))
        parts[0].append(own[: len(own) // 2])
        parts[1].append(own[len(own) // 2 :])
    first, second = (rng.permutation(np.concatenate(part)).astype(np.int64) for part in parts)
    return first, second
