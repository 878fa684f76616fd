"""What decides: the features a classifier decides on, its last weights, and a network that decides as it does.

A decision is measured at points that it was not trained on. Everything is repeated over splits, each with its own
training, and an interval covers both. With e² the variance that points alone give to a mean over all of them, and s²
that between the S splits,

    τ² = max(0, s² − S e²)        half width² = (that over points)² + (t τ/√S)²

t of Student with S − 1 degrees of freedom. So luck with one split or one start is not called sure, and splits that
differ by no more than their points explain add nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix, finite_vector
from featavg.data import Dataset, Labels, Names, encode
from featavg.errors import InputError
from featavg.intervals import bootstrap_ratio, normal, student_t
from featavg.model import (
    Argmax,
    Grouped,
    Groups,
    Layer,
    Network,
    Readout,
    Sign,
    as_network,
    as_relus,
    check_table,
)
from featavg.record import number
from featavg.refine.sublabels import two_classes
from featavg.robustness import Budget, NewtonWalk, RadiusBracket, robust_radius

INPUTS = "the inputs"
# Of a radius. Median at 16 digits, fifty sub-classes per class: 0.1 s prove 0.4 of it, 0.2 s 0.93, 0.3 s 0.97; what has
# one output per class mostly needs less.
BUDGET = Budget(nodes=500, seconds=0.3)
NORMAL = 1.96  # deviations of an interval of level 95 %
Interval = tuple[float, float]


@dataclass(frozen=True)
class Decision:
    """Points in the space where the weights live, and a decision on them."""

    data: Dataset  # points in that space with their classes
    network: Network  # its read-out decides between the classes of the data, in their order
    rows: Array  # (row, feature)  hidden neurons of a two-layer network, or the head's weights of each class
    row_class: Ints  # (row,)  the class a row speaks for
    importance: Array  # (row,)  ‖a_r‖‖w_r‖, by how much a row can move the outputs
    kind: str  # what was read, in words
    space: str = INPUTS  # in which points lie and radii are measured, in words

    @property
    def codes(self) -> Ints:
        """The classes of the points, as positions: (sample,)."""
        return self.data.labels.codes

    @property
    def refined(self) -> bool:
        """Whether some class has several outputs, so that it was trained on finer labels."""
        return self.network.output_count > max(len(self.data.labels.names), 2)

    def predict(self, features: Array) -> Ints:
        """The class decided for, as a code: (sample,)."""
        return self.network.readout.decide(self.network.outputs(features))

    def right(self) -> Array:
        """1 where a point is put in its class, 0 elsewhere: (sample,)."""
        return (self.predict(self.data.x) == self.codes).astype(np.float64)

    def margins(self, rows: Ints) -> Array:
        """By how much the outputs put these points in their classes, negative for errors: (row,)."""
        return self.network.margins(self.data.x[rows], self._names(rows))

    def take(self, rows: Ints) -> Decision:
        """The same decision at some of the points."""
        return replace(self, data=self.data.take(rows))

    def attack(self, rows: Ints) -> Array:
        """Radii (row,) at which a Newton walk fools these points: upper bounds, 0 for errors."""
        return NewtonWalk()(self.network, self.data.x[rows], self._names(rows)).upper

    def radius(self, rows: Ints, budget: Budget, executor: Executor | None = None) -> RadiusBracket:
        """Bracket the true radii of these points, of the decision that is made."""
        points, names = self.data.x[rows], self._names(rows)
        return robust_radius(self.network, points, names, budget=budget, executor=executor, proofs=False)

    def _names(self, rows: Ints) -> Names:
        """The classes of points as the read-out of the network calls them: (row,)."""
        return np.asarray(self.network.readout.labels[self.codes[rows]])


def read_decision(model: Any, x: ArrayLike | None, y: ArrayLike, head: str | None = None) -> Decision:
    """Return what there is to diagnose in `model`; see `diagnose` for what it may be."""
    if x is None and isinstance(model, tuple | list) and len(model) in (2, 3):
        x, model = model[0], tuple(model[1:])
    if x is None:
        raise InputError("x must be points, got None; pass (features, weights[, bias]) as the model to leave it out")
    check_table(model, x)
    if hasattr(model, "network_") and hasattr(model, "class_of_"):
        return two_layer_decision(model.network_, x, y, model.classes_, model.class_of_)
    if isinstance(model, tuple | list) and len(model) in (1, 2):
        return linear_decision(x, y, model[0], model[1] if len(model) == 2 else None, "linear head")
    if hasattr(model, "coef_") and hasattr(model, "intercept_"):
        kind = type(model).__name__
        return linear_decision(x, y, model.coef_, model.intercept_, kind, classes=model.classes_)
    if any(kind.__module__.startswith("torch.nn") for kind in type(model).__mro__):
        from featavg.refine.open_model import read_module

        return read_module(model, x, y, head)
    network, classes = as_network(model), getattr(model, "classes_", None)
    if len(network.layers) == 1:  # a linear classifier behind affine steps
        return linear_decision(x, y, network.weights, network.biases, type(model).__name__, classes=classes)
    return two_layer_decision(network, x, y, classes)


def linear_decision(
    features: ArrayLike, y: ArrayLike, weights: ArrayLike, bias: ArrayLike | None, kind: str,
    *, classes: Names | None = None, class_of: Ints | None = None, space: str = INPUTS,
) -> Decision:  # fmt: skip
    """The decision of a linear head: weights (output, feature), whose outputs speak for `class_of` if several do."""
    points, rows = finite_matrix(features, "features"), finite_matrix(np.atleast_2d(weights), "weights")
    if points.shape[1] != rows.shape[1]:
        raise InputError(
            f"features must be as wide as the head, got {points.shape[1]} features and {rows.shape[1]} weights"
        )
    outputs = len(rows)
    constants = np.zeros(outputs) if bias is None else finite_vector(np.atleast_1d(bias), "bias", outputs)
    labels = _labels(y, len(points), classes)
    readout = _readout(outputs, labels.names, class_of)
    network = as_relus(Network((Layer(rows, constants),), readout))
    # What all rows share moves no decision.
    centred = np.vstack([rows, -rows]) if outputs == 1 else rows - rows.mean(axis=0)
    row_class = np.array([1, 0]) if outputs == 1 else np.arange(outputs) if class_of is None else class_of
    importance = np.linalg.norm(centred, axis=1)
    return Decision(Dataset(points, labels), network, centred, row_class, importance, kind, space)


def two_layer_decision(
    network: Network, x: ArrayLike, y: ArrayLike, classes: Names | None = None, class_of: Ints | None = None,
    space: str = INPUTS,
) -> Decision:  # fmt: skip
    """The decision of a two-layer network, whose outputs speak for `class_of` if several do for one class."""
    points = finite_matrix(x, "x")
    if points.shape[1] != network.inputs:
        raise InputError(
            f"features must be as wide as the network, got {points.shape[1]} features and {network.inputs} weights"
        )
    labels = _labels(y, len(points), classes)
    if class_of is None and network.class_labels is not None and len(labels.names) == 2:
        class_of = (network.class_labels > 0).astype(np.int64)
    network = replace(network, readout=_readout(network.output_count, labels.names, class_of))
    # A neuron speaks for the class it raises most against the others.
    one = network.output_count == 1
    raised = network.second if one else network.second - network.second.mean(axis=0)
    loudest = raised.argmax(axis=0)
    row_class = (raised[0] > 0).astype(np.int64) if one else loudest if class_of is None else class_of[loudest]
    importance = np.linalg.norm(raised, axis=0) * np.linalg.norm(network.weights, axis=1)
    kind = f"two-layer network of {network.neurons} neurons"
    return Decision(Dataset(points, labels), network, network.weights, row_class, importance, kind, space)


def _labels(y: ArrayLike, count: int, classes: Names | None) -> Labels:
    """The classes of the points: the model's own where it knows them, else those that there are."""
    if classes is None:
        return two_classes(y, count)
    names = np.asarray(classes)
    return Labels(encode(y, names, "y", count), names)


def _readout(outputs: int, classes: Names, class_of: Ints | None) -> Readout:
    """How so many outputs decide between the classes: sign, largest output, or summed probabilities."""
    if class_of is not None:
        if class_of.max() + 1 != len(classes):
            raise InputError(f"the model decides between {class_of.max() + 1} classes, got {len(classes)}; check y")
        if not np.array_equal(class_of, np.arange(len(classes))):
            return Grouped(Groups.of(class_of))
    if outputs == 1 and len(classes) == 2:
        return Sign()
    if outputs != len(classes):
        raise InputError(
            f"a network of {outputs} outputs cannot decide between {len(classes)} classes; check y or the model"
        )
    return Argmax(np.arange(outputs))


@dataclass(frozen=True)
class Measured:
    """One kind of classifier at the held-out points of all splits, each split with its own training."""

    right: Array  # (held out,)  1 where the decision is right, else 0
    right_split: Ints  # (held out,)  which split a point belongs to
    lower: Array  # (measured,)  proved radii of some of these points; all 0 from an attack
    upper: Array  # (measured,)  radii at which a perturbation was found; 0 for errors
    split: Ints  # (measured,)

    @property
    def accuracy(self) -> float:
        """The share of held-out points that are right."""
        return float(self.right.mean())


def measure(
    decisions: Sequence[Decision], points: int, budget: Budget | None = None, executor: Executor | None = None
) -> Measured:
    """Measure a decision of each split at its own points, radii at `points` of them in all.

    Radii are bracketed with a budget per point, by an executor if there is one, and without a budget by an attack,
    which gives upper bounds only.
    """
    rights: list[Array] = []
    lowers: list[Array] = []
    uppers: list[Array] = []
    for decision in decisions:
        rows = np.arange(min(len(decision.data), -(-points // len(decisions))))
        rights.append(decision.right())
        if budget is None:
            uppers.append(decision.attack(rows))
            lowers.append(np.zeros(len(rows)))
        else:
            found = decision.radius(rows, budget, executor)
            lowers.append(found.lower)
            uppers.append(found.upper)
    numbers = [np.repeat(np.arange(len(parts)), [len(part) for part in parts]) for parts in (rights, uppers)]
    right, lower, upper = (np.concatenate(parts) for parts in (rights, lowers, uppers))
    return Measured(right, numbers[0], lower, upper, numbers[1])


def widened(value: float, points: Sequence[float], splits: Sequence[float]) -> Interval:
    """A 95 % interval over points around `value`, widened by what splits differ beyond that (the module's formula).

    >>> widened(0.0, (-1.0, 1.0), (0.1, -0.1, 0.0))
    (-1.0, 1.0)
    >>> low, high = widened(0.0, (-1.0, 1.0), (9.0, -9.0))
    >>> high > 50
    True
    """
    count = len(splits)
    error = (points[1] - points[0]) / (2 * NORMAL)
    between = float(np.var(splits, ddof=1)) - count * error**2 if count > 1 else 0.0
    extra = student_t(splits)[1] - float(np.mean(splits)) if between > 0 else 0.0
    # Student's half width is t s/√S; of s² the share τ²/s² is not explained by the points.
    extra *= float(np.sqrt(between / np.var(splits, ddof=1))) if between > 0 else 0.0
    return value - float(np.hypot(value - points[0], extra)), value + float(np.hypot(points[1] - value, extra))


@dataclass(frozen=True)
class Standing:
    """One classifier of a comparison: accuracy and median radius, each with its 95 % interval.

    Radii are upper bounds for all of them: a proved radius beside an attacked one would make the proved one look worse.
    """

    name: str
    accuracy: float
    accuracy_interval: Interval
    radius: float
    radius_interval: Interval

    @classmethod
    def of(cls, name: str, measured: Measured, seed: int) -> Standing:
        """From what was measured."""
        right, radii, splits = measured.right, measured.upper, np.unique(measured.right_split)
        shares = [float(right[measured.right_split == s].mean()) for s in splits]
        middle, points = bootstrap_ratio(radii, np.ones(len(radii)), np.median, np.random.default_rng(seed))
        medians = [float(np.median(radii[measured.split == s])) for s in np.unique(measured.split)]
        finite = bool(np.isfinite([middle, *points, *medians]).all())
        low, high = widened(measured.accuracy, normal(right), shares)
        near, far = widened(middle, points, medians) if finite else (0.0, np.inf)
        return cls(name, measured.accuracy, (max(low, 0.0), min(high, 1.0)), middle, (max(near, 0.0), far))


def standings_table(found: Sequence[Standing]) -> list[tuple[str, ...]]:
    """All classifiers of a comparison in one table, with its head; empty without any."""
    rows: list[tuple[str, ...]] = [("classifier", "accuracy", "median ℓ2 radius, at most")] if found else []
    for one in found:
        values = ((one.accuracy, one.accuracy_interval), (one.radius, one.radius_interval))
        told = (f"{number(value)} ({number(low)} to {number(high)})" for value, (low, high) in values)
        rows.append((one.name, *told))
    return rows
