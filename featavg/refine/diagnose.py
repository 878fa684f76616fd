"""`diagnose`: does a classifier average, how robust is it, and would finer labels help?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.data import Dataset, split
from featavg.errors import InputError
from featavg.progress import Progress, silent
from featavg.refine.averages import IMPORTANT, Averages, averages, centred_means
from featavg.refine.classifier import SubclassClassifier
from featavg.refine.comparison import KEEP, Comparison
from featavg.refine.decision import Decision, read_decision, two_layer_decision
from featavg.refine.diagnosis import Diagnosis, Gain
from featavg.refine.direction import common_direction
from featavg.refine.discover import Counts, discover_sublabels
from featavg.refine.measured import measure
from featavg.refine.select import Selection
from featavg.robustness import Budget
from featavg.threads import one_thread

MEASURED = 100  # points whose radii are attacked and bracketed
GAINED = 300  # held-out points of all splits at which three classifiers are attacked
SPLITS = 3
LEAST = 8
BUDGET = Budget(nodes=500, seconds=0.1)  # of a radius
ERRORS = 2.0  # standard errors by which accuracy must exceed chance

Learned = tuple[Dataset, Any]  # points that a model was trained on, and their sub-labels or None


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
            gain = measure_gain(decision, sublabels, learned, keep_accuracy, seed)
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


def averages_of(decision: Decision, rows: Ints, labels: Ints, class_of: Ints) -> tuple[Averages, Array]:
    """How the weights relate to the sub-classes of these rows, and the centred means (subclass, feature) of those."""
    features = decision.data.x[rows]
    centers = centred_means(features, labels)
    mean = features.mean(axis=0)
    return averages(decision.rows, decision.row_class, decision.importance, centers, class_of, mean), centers


def measure_gain(
    decision: Decision, sublabels: ArrayLike | None, learned: Learned | None, keep_accuracy: float, seed: int
) -> Gain:
    """Train again on coarse and on finer labels, three times, each time judged at another third of the points.

    The number of sub-classes, the rate and the steps are chosen once, at the first time.
    """
    data = decision.data
    sides: tuple[list[Decision], ...] = ([], [], [])
    given = None if sublabels is None else np.asarray(sublabels, dtype=object)
    models = [SubclassClassifier(1, random_state=seed), SubclassClassifier(random_state=seed)]
    most = np.ones(len(data.labels.names), dtype=np.int64)
    for turn, judge in enumerate(split(decision.codes, (1,) * SPLITS, seed)):
        rest = np.setdiff1d(np.arange(len(data)), judge)
        points, told = (data.take(rest), None if given is None else given[rest]) if learned is None else learned
        judged = data.take(judge)
        sides[0].append(decision.take(judge))
        for side, model in enumerate(models):
            model.fit(points.x, points.y, sublabels=told if side else None)
            sides[side + 1].append(
                two_layer_decision(model.network_, judged.x, judged.y, data.labels.names, model.class_of_)
            )
        most = np.maximum(most, np.bincount(models[1].class_of_))
        models = [_as_chosen(model.choice_, seed + turn + 1) for model in models]
    before, coarse, finer = (measure(side, GAINED) for side in sides)
    per_class = tuple(most.tolist())
    how = f"an attack on the decision that predict makes, in {decision.space}"
    names = (decision.kind, "coarse labels", "finer labels")
    over_model, over_coarse = (
        Comparison((name, names[2]), how, per_class, side, finer, keep_accuracy, seed=seed)
        for name, side in zip(names[:2], (before, coarse), strict=True)
    )
    rarest = int(np.bincount(points.labels.codes).min())
    return Gain(over_model, over_coarse, len(points), rarest, learned is not None)


def _as_chosen(choice: Selection, seed: int) -> SubclassClassifier:
    return SubclassClassifier(choice.count, learning_rate=choice.rate, steps=choice.steps, random_state=seed)


def _check(decision: Decision) -> None:
    names = decision.data.labels.names
    sizes = np.bincount(decision.codes, minlength=len(names))
    if sizes.min() < LEAST:
        name = names[int(sizes.argmin())]
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
