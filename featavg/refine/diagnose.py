"""`diagnose`: does a classifier average, how robust is it, and would finer labels help?"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.errors import InputError
from featavg.refine.averages import IMPORTANT, Averages, averages, centred_means
from featavg.refine.clustering import nearest
from featavg.refine.diagnosis import Diagnosis
from featavg.refine.flips import flips
from featavg.refine.gain import halves, measure_gain
from featavg.refine.known import UNKNOWN, read_sublabels
from featavg.refine.refined import Progress
from featavg.refine.subject import Subject, read_subject
from featavg.refine.sublabels import Counts, discover_sublabels
from featavg.robustness import Budget
from featavg.threads import one_thread

ATTACKED = 300
EXACT = 40
LEAST = 8
BUDGET = Budget(nodes=500, seconds=0.25)  # of an exact radius


def diagnose(
    model: Any,
    x: ArrayLike | None,
    y: ArrayLike,
    sublabels: ArrayLike | None = None,
    *,
    head: str | None = None,
    n_subclasses: Counts = "auto",
    seed: int = 0,
    progress: Progress | None = None,
) -> Diagnosis:
    """Say whether a classifier averages the sub-classes of its classes, how robust it is, and what to do.

    Args:
        model: a two-layer ReLU network (`as_network`, scikit-learn's MLPClassifier among them), a `SubclassClassifier`,
            a linear model with coef_ and intercept_, a torch module with a linear head or from `refine_module`, or the
            arrays of a linear head: (weights[, bias]) on features x, or (features, weights[, bias]) with x=None.
        x: points (sample, axis), best those it was not trained on.
        y: their labels (sample,).
        sublabels: a finer label for each point, if known; otherwise found on one half and tested on the other.
        head: the name of a torch module's linear head; its last linear layer unless told.
        n_subclasses: how many sub-classes to look for, as in `discover_sublabels`.
        seed: of everything random here.
        progress: called as progress(share done, what comes next).

    >>> from featavg import averaging_network, sample_clusters
    >>> data = sample_clusters(clusters=10, dim=60, samples=400, seed=0, coordinates="ambient")
    >>> found = diagnose(averaging_network(data), data.x, data.y, data.cluster)
    >>> found.does_average, round(found.averages.median_index, 1)
    (True, 1.0)
    """
    begun, tell = time.perf_counter(), progress or (lambda share, what: None)
    tell(0.0, "reading the model")
    subject = read_subject(model, x, y, head)
    _check(subject)
    with one_thread():
        first, second = halves(subject.codes, seed)
        tell(0.1, "looking for sub-classes")
        labels, class_of = subclasses(subject, first, second, sublabels, n_subclasses, seed)
        found, centers = averages_of(subject, second, labels, class_of)
        rows = second[:ATTACKED]
        tell(0.3, "attacking")
        attack = subject.attack(rows)
        tell(0.4, "searching exact radii")
        lower, upper = subject.exact(rows[:EXACT], BUDGET)
        tell(0.6, "training on finer labels")
        gain = measure_gain(subject, first, second, sublabels, seed)
        tell(0.9, "trying common directions")
        return Diagnosis(
            kind=subject.kind,
            points=len(subject.codes),
            accuracy=float(np.mean(subject.predict(subject.features) == subject.codes)),
            classes=subject.classes,
            per_class=np.bincount(class_of, minlength=len(subject.classes)),
            sublabels_given=sublabels is not None,
            class_of=class_of,
            row_class=subject.row_class[subject.importance > IMPORTANT * subject.importance.max()],
            averages=found,
            flips=flips(subject, rows, attack, centers, class_of, seed),
            rows=rows,
            attack=attack,
            exact_lower=lower,
            exact_upper=upper,
            gain=gain,
            seed=seed,
            seconds=time.perf_counter() - begun,
        )


def _check(subject: Subject) -> None:
    sizes = np.bincount(subject.codes, minlength=len(subject.classes))
    if sizes.min() < LEAST:
        name = subject.classes[int(sizes.argmin())]
        raise InputError(f"a diagnosis needs at least {LEAST} points of every class, got {sizes.min()} of {name!r}")
    if not np.ptp(subject.features, axis=0).any():
        raise InputError("features must differ between points, got the same values everywhere; check the input")
    if not subject.importance.any():
        raise InputError("the weights of this model are all 0, so it decides nothing; train it first")


def subclasses(
    subject: Subject, first: Ints, second: Ints, sublabels: ArrayLike | None, wanted: Counts, seed: int
) -> tuple[Ints, Ints]:
    """Sub-labels of the rows `second` without gaps, and the class of each: given, or found on the rows `first`."""
    if sublabels is None:
        names = subject.classes[subject.codes]
        found = discover_sublabels(subject.features[first], names[first], wanted, seed=seed)
        labels, class_of = found.assign(subject.features[second], names[second]), found.class_of
    else:
        given = read_sublabels(sublabels, subject.codes)
        labels, class_of = _completed(subject.features[second], subject.codes[second], given.codes[second])
    used, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int64), class_of[used]


def averages_of(subject: Subject, rows: Ints, labels: Ints, class_of: Ints) -> tuple[Averages, Array]:
    """How the weights relate to the sub-classes of these rows, and the centred means (subclass, feature) of those."""
    features = subject.features[rows]
    centers = centred_means(features, labels)
    found = averages(
        subject.rows, subject.row_class, subject.importance, centers, class_of, features.mean(axis=0)
    )  # fmt: skip
    return found, centers


def _completed(points: Array, classes: Ints, codes: Ints) -> tuple[Ints, Ints]:
    """Given sub-labels, ordered by class; a point without one gets that of the nearest known center of its class."""
    labels = np.empty(len(codes), dtype=np.int64)
    class_of: list[int] = []
    for c in np.unique(classes):
        own = classes == c
        known = own & (codes != UNKNOWN)
        names = np.unique(codes[known])
        if not len(names):
            raise InputError("every class needs some sub-labels, got a class without any; leave sublabels out")
        centers = np.stack([points[known & (codes == name)].mean(axis=0) for name in names])
        labels[own] = nearest(points[own], centers) + len(class_of)
        labels[known] = np.searchsorted(names, codes[known]) + len(class_of)
        class_of += [int(c)] * len(names)
    return labels, np.array(class_of, dtype=np.int64)
