"""`diagnose`: does a classifier average, how robust is it, and would finer labels help?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.analysis import IMPORTANT, Averages, averages
from featavg.arrays import Array, Ints
from featavg.data import Names, split
from featavg.errors import InputError
from featavg.intervals import bootstrap_ratio
from featavg.progress import Progress, part, silent
from featavg.refine.clusters import means
from featavg.refine.comparison import KEEP
from featavg.refine.decision import BUDGET, Decision, read_decision
from featavg.refine.diagnosis import Diagnosis
from featavg.refine.gain import Learned, measure_gain
from featavg.refine.sublabels import Counts, discover_sublabels, numbered
from featavg.threads import one_thread

MEASURED = 100  # points whose radii are attacked and bracketed
LEAST = 8
RADII = 41  # at which flipped points are counted
RANDOM_DIRECTIONS = 8
ERRORS = 2.0  # standard errors by which accuracy must exceed chance


def diagnose(
    model: Any,
    x: ArrayLike | None,
    y: ArrayLike,
    sublabels: ArrayLike | None = None,
    *,
    train: Sequence[Any] | None = None,
    head: str | None = None,
    n_subclasses: Counts = "auto",
    keep_accuracy: float = KEEP,
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
        sublabels: a finer label for each point, if known; otherwise found on other points than they are tested on.
        train: (X, y) or (X, y, sublabels) that the model was trained on: finer labels are then tried on all of them.
            Without it they are tried on two thirds of the points and judged on the other, three times; if these are
            too few to reach the accuracy of the model, no advice is given.
        head: the name of a torch module's linear head; its last linear layer by default.
        n_subclasses: how many sub-classes to look for, as in `discover_sublabels`.
        keep_accuracy: the largest loss of accuracy that the advice allows.
        seed: of everything random here.
        progress: called as progress(share done, what comes next).

    >>> from featavg import averaging_network, sample_clusters
    >>> data = sample_clusters(clusters=10, dim=60, samples=400, seed=0, coordinates="ambient")
    >>> found = diagnose(averaging_network(data), data.x, data.y, data.cluster)
    >>> found.does_average, round(found.averages.median_index, 1)
    (True, 1.0)
    """
    begun, tell = time.perf_counter(), progress or silent
    tell(0.0, "reading the model")
    decision = read_decision(model, x, y, head)
    _check(decision)
    learned = None if train is None else _read_train(tuple(model[1:]) if x is None else model, train, decision, head)
    with one_thread():
        tell(0.1, "looking for sub-classes")
        tested, labels, class_of = subclasses(decision, sublabels, learned, n_subclasses, seed)
        found, centers = averages_of(decision, tested, labels, class_of)
        rows = tested[:MEASURED]
        tell(0.3, "measuring radii")
        attack = decision.attack(rows)
        bracket = decision.radius(rows, BUDGET)
        tell(0.5, "trying common directions")
        flips = common_direction(decision, rows, attack, centers, class_of, seed)
        right = decision.right()
        at_chance = _is_at_chance(right, decision.codes)
        per_class, gain = np.bincount(class_of, minlength=len(decision.data.labels.names)), None
        if per_class.max() == 1 and sublabels is None and learned is None:
            # Half of the points may hide sub-classes that all of them show.
            per_class = discover_sublabels(decision.data.x, decision.data.y, n_subclasses, seed=seed).per_class
        if not at_chance and not decision.refined:  # also where no sub-classes show: few points may hide them
            tell(0.6, "training on finer labels")
            gain = measure_gain(decision, sublabels, learned, keep_accuracy, seed, part(tell, 0.6, 1.0))
        return Diagnosis(
            kind=decision.kind,
            space=decision.space,
            points=len(right),
            accuracy=float(right.mean()),
            at_chance=at_chance,
            refined=decision.refined,
            classes=decision.data.labels.names,
            per_class=per_class,
            sublabels_given=sublabels is not None,
            class_of=class_of,
            row_class=decision.row_class[decision.importance > IMPORTANT * decision.importance.max()],
            averages=found,
            flips=flips,
            rows=rows,
            labels=decision.data.y[rows],
            subclass=_names(sublabels, rows, labels[:MEASURED], class_of, decision.data.labels.names),
            margin=decision.margins(rows),
            attack=attack,
            exact_lower=bracket.lower,
            exact_upper=np.minimum(attack, bracket.upper),
            gain=gain,
            seed=seed,
            seconds=time.perf_counter() - begun,
        )


def subclasses(
    decision: Decision, sublabels: ArrayLike | None, learned: Learned | None, wanted: Counts, seed: int
) -> tuple[Ints, Ints, Ints]:
    """Rows that are tested, their sub-labels without gaps, and the class of each sub-label.

    Given sub-labels are tested on all points. Found ones are tested on other points than those they were found on: on
    all points if they were found on those that the model was trained on, else on a random half.
    """
    x, y = decision.data.x, decision.data.y
    first, second = split(decision.codes, (1, 1), seed)
    tested = np.concatenate([first, second])
    if sublabels is not None:
        found = discover_sublabels(x, y, wanted, given=sublabels, seed=seed)
        labels = found.labels[tested]
    elif learned is not None:
        data, given = learned
        found = discover_sublabels(data.x, data.y, wanted, given=given, seed=seed)
        labels = found.assign(x[tested], y[tested])
    else:
        tested = second
        found = discover_sublabels(x[first], y[first], wanted, seed=seed)
        labels = found.assign(x[second], y[second])
    used, codes = np.unique(labels, return_inverse=True)
    return tested, codes.astype(np.int64), found.class_of[used]


def _names(given: ArrayLike | None, rows: Ints, labels: Ints, class_of: Ints, classes: Names) -> Names:
    """The sub-classes of these rows by name, as given or class.number: (row,)."""
    return np.asarray(given)[rows] if given is not None else np.array(numbered(class_of, classes))[labels]


def averages_of(decision: Decision, rows: Ints, labels: Ints, class_of: Ints) -> tuple[Averages, Array]:
    """How the weights relate to the sub-classes of these rows, and the centred means (subclass, feature) of those."""
    features = decision.data.x[rows]
    centers = centred_means(features, labels)
    mean = features.mean(axis=0)
    return averages(decision.rows, decision.row_class, decision.importance, centers, class_of, mean), centers


def centred_means(features: Array, labels: Ints) -> Array:
    """Mean features of each sub-class minus the mean of all points: (subclass, feature)."""
    return means(features, labels) - features.mean(axis=0)


@dataclass(frozen=True)
class Flips:
    """Shares of points that are misclassified after a perturbation of each size."""

    radii: Array  # (radius,)
    universal: Array  # (radius,)  −size · v_y, with v_y the average of the own sub-classes minus that of the others
    chance: Array  # (radius,)  size · a random direction, mean over several
    attack: Array  # (radius,)  a Newton walk for each point: a lower bound of what is possible
    ratio: float  # median radius of the universal direction over that of the attack; a lower bound if it is the largest
    ratio_interval: tuple[float, float]  # 95 %, bootstrap over points


def common_direction(decision: Decision, rows: Ints, attack: Array, centers: Array, class_of: Ints, seed: int) -> Flips:
    """Measure at `rows`, whose radii under attack are known, with centred sub-class means (subclass, feature)."""
    rng = np.random.default_rng(seed)
    right = attack[(attack > 0) & np.isfinite(attack)]
    reach = 4.0 * float(np.median(right)) if len(right) else 1.0
    radii = np.linspace(0.0, reach, RADII)
    x, codes = decision.data.x[rows], decision.codes[rows]
    toward = _toward(centers, class_of, len(decision.data.labels.names))[codes]
    fooled = np.stack([decision.predict(x - size * toward) != codes for size in radii])
    noise = rng.standard_normal((RANDOM_DIRECTIONS, x.shape[1]))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    chance = [np.mean([np.mean(decision.predict(x + size * one) != codes) for one in noise]) for size in radii]
    # Where the direction never flips a point, its radius is at least the largest that was tried.
    first = np.where(fooled.any(axis=0), radii[fooled.argmax(axis=0)], reach)
    pairs = first[attack > 0], attack[attack > 0]
    ratio, interval = bootstrap_ratio(*pairs, np.median, rng) if len(right) else (float("nan"), (float("nan"),) * 2)
    return Flips(
        radii, fooled.mean(axis=1), np.array(chance), np.mean(attack <= radii[:, None], axis=1), ratio, interval
    )  # fmt: skip


def _toward(centers: Array, class_of: Ints, classes: int) -> Array:
    """v_c of norm 1, from the average of the other classes to that of class c: (class, feature)."""
    average = np.stack([centers[class_of == c].mean(axis=0) for c in range(classes)])
    others = (average.sum(axis=0) - average) / (classes - 1)
    away = average - others
    return np.asarray(away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-300))


def _check(decision: Decision) -> None:
    names = decision.data.labels.names
    sizes = np.bincount(decision.codes, minlength=len(names))
    if sizes.min() < LEAST:
        name = names.tolist()[int(sizes.argmin())]
        raise InputError(f"a diagnosis needs at least {LEAST} points of every class, got {sizes.min()} of {name!r}")
    if not np.ptp(decision.data.x, axis=0).any():
        raise InputError("features must differ between points, got the same values everywhere; check the input")
    if not decision.importance.any():
        raise InputError("the weights of this model are all 0, so it decides nothing; train it first")


def _read_train(model: Any, train: Sequence[Any], decision: Decision, head: str | None) -> Learned:
    """The points that the model was trained on, in the space where it decides, and their sub-labels."""
    if len(train) not in (2, 3):
        raise InputError(f"train must be (X, y) or (X, y, sublabels), got {len(train)} parts")
    data = read_decision(model, train[0], train[1], head).data
    if not np.array_equal(data.labels.names, decision.data.labels.names):
        raise InputError(
            f"train must have the classes {decision.data.labels.names.tolist()}, got {data.labels.names.tolist()}"
        )
    return data, train[2] if len(train) == 3 else None


def _is_at_chance(right: Array, codes: Ints) -> bool:
    """Whether the mean accuracy over classes is less than two standard errors above 1/classes."""
    sizes = np.bincount(codes)
    recall = np.bincount(codes, right) / np.maximum(sizes, 1)
    error = np.sqrt((recall * (1 - recall) / np.maximum(sizes, 1)).sum()) / len(sizes)
    return bool(recall.mean() - ERRORS * error <= 1 / len(sizes))
