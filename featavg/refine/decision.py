"""What decides: the features a classifier decides on, its last weights, and a network that decides as it does."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix
from featavg.data import Dataset, Labels, Names, encode
from featavg.errors import InputError
from featavg.model import Argmax, Grouped, Groups, Network, Readout, Sign, as_network
from featavg.refine.discover.subclasses import two_classes
from featavg.robustness import Budget, NewtonWalk, RadiusBracket, robust_radius

INPUTS = "the inputs"


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
    if hasattr(model, "network_") and hasattr(model, "class_of_"):
        return two_layer_decision(model.network_, x, y, model.classes_, model.class_of_)
    if isinstance(model, tuple | list) and len(model) in (1, 2):
        return linear_decision(x, y, model[0], model[1] if len(model) == 2 else None, "linear head")
    if hasattr(model, "coef_") and hasattr(model, "intercept_"):
        kind = type(model).__name__
        return linear_decision(x, y, model.coef_, model.intercept_, kind, classes=model.classes_)
    if any(kind.__module__.startswith("torch.nn") for kind in type(model).__mro__):
        from featavg.refine.torch_head import read_module

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
    constants = np.zeros(outputs) if bias is None else np.atleast_1d(np.asarray(bias, dtype=np.float64))
    labels = _labels(y, len(points), classes)
    readout = _readout(outputs, labels.names, class_of)
    # A linear function is a pair of ReLUs: z = ReLU(z) − ReLU(−z).
    pair = (np.vstack([rows, -rows]), np.append(constants, -constants))
    second = np.hstack([np.eye(outputs), -np.eye(outputs)])
    network = replace(as_network((*pair, second, np.zeros(outputs))), readout=readout)
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
