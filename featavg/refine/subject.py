"""What is diagnosed: the features a classifier decides on, its last weights, and a network that decides as it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints, finite_matrix
from featavg.data import Names
from featavg.errors import InputError
from featavg.model import Network, as_network
from featavg.refine.coarse_radius import coarse_radius, one_against_rest
from featavg.refine.sublabels import class_codes, known_classes
from featavg.refine.torch_head import inputs_of, is_two_layer, split_module, two_layer_head
from featavg.robustness import Budget, NewtonWalk, robust_radius


@dataclass(frozen=True)
class Subject:
    """Points in the space where the weights live, and a decision on them."""

    features: Array  # (sample, feature)
    codes: Ints  # (sample,)  positions of the labels in `classes`
    classes: Names  # (class,)
    rows: Array  # (neuron, feature)  hidden neurons of a two-layer network, or the head's weights of each class
    row_class: Ints  # (neuron,)  the class a row speaks for
    importance: Array  # (neuron,)  ‖a_r‖‖w_r‖, by how much a row can move the outputs
    network: Network
    output_class: Ints  # (output,)  the class of each output of the network; (1,) for a single one
    kind: str  # what was read, in words
    readout: str = "maximum"

    def predict(self, features: Array) -> Ints:
        """The class decided for, as a code: (sample,)."""
        if self.network.output_count == 1:
            return (self.network.score(features) > 0).astype(np.int64)
        if self.readout == "summed-probabilities":
            member = self.output_class[:, None] == np.arange(len(self.classes))
            return np.argmax(self.network.probabilities(features) @ member, axis=1)
        return self.output_class[self.network.predict(features)]

    def attack(self, rows: Ints) -> Array:
        """Radii (row,) at which a Newton walk fools these points: upper bounds, 0 for errors."""
        x, codes, walk = self.features[rows], self.codes[rows], NewtonWalk()
        if self.network.output_count == 1:
            return walk(self.network, x, self.network.readout.labels[codes]).upper
        upper = np.empty(len(rows))
        for c in np.unique(codes):
            own: Bools = codes == c
            side = one_against_rest(self.network, self.output_class, int(c))
            labels = np.ones(int(own.sum()), dtype=np.int64)
            upper[own] = walk(side, x[own], labels, readout=self.readout).upper  # type: ignore[arg-type]
        return upper

    def exact(self, rows: Ints, budget: Budget) -> tuple[Array, Array]:
        """Lower and upper bounds (row,) of the true radii of these points, equal where the search ended."""
        x, codes = self.features[rows], self.codes[rows]
        if self.network.output_count == 1:
            found = robust_radius(self.network, x, self.network.readout.labels[codes], budget=budget, proofs=False)
        else:
            found = coarse_radius(
                self.network, self.output_class, x, codes, readout=self.readout, norm="l2", box=None, budget=budget,
                workers=1,
            )  # fmt: skip
        return found.lower, found.upper


def read_subject(model: Any, x: ArrayLike | None, y: ArrayLike, head: str | None = None) -> Subject:
    """Return what there is to diagnose in `model`; see `diagnose` for what it may be."""
    if x is None and isinstance(model, tuple | list) and len(model) in (2, 3):
        x, model = model[0], tuple(model[1:])
    if x is None:
        raise InputError("x must be points, got None; pass (features, weights[, bias]) as the model to leave it out")
    if hasattr(model, "network_") and hasattr(model, "class_of_"):
        return _two_layer(model.network_, x, y, model.classes_, model.class_of_, "summed-probabilities")
    if isinstance(model, tuple | list) and len(model) in (1, 2):
        return linear_subject(x, y, model[0], model[1] if len(model) == 2 else None, None, "linear head")
    if hasattr(model, "coef_") and hasattr(model, "intercept_"):
        return linear_subject(x, y, model.coef_, model.intercept_, model.classes_, type(model).__name__)
    if head is None and _is_torch(model) and type(getattr(model, "readout", None)).__name__ == "CoarseReadout":
        return _refined(model, x, y)
    if _is_torch(model) and not is_two_layer(model):
        features, weights, bias, name = split_module(model, x, head)
        return linear_subject(features, y, weights, bias, None, f"{type(model).__name__} with the linear head {name!r}")
    network = as_network(model)
    return _two_layer(network, x, y, getattr(model, "classes_", None), None, "maximum")


def linear_subject(
    features: ArrayLike,
    y: ArrayLike,
    weights: ArrayLike,
    bias: ArrayLike | None,
    classes: Any,
    kind: str,
    output_class: Ints | None = None,
) -> Subject:
    """The subject of a linear head: one row of weights for two classes, or one for each class or sub-class.

    >>> linear_subject([[1.0, 0.0], [0.0, 1.0]], [0, 1], [[-1.0, 1.0]], None, None, "head").row_class
    array([1, 0])
    """
    points = finite_matrix(features, "features")
    rows = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    if rows.shape[1] != points.shape[1]:
        raise InputError(
            f"features must be as wide as the head, got {points.shape[1]} features and {rows.shape[1]} weights"
        )
    names = known_classes(y, len(points)) if classes is None else np.asarray(classes)
    outputs = len(rows)
    deciding = outputs if output_class is None else int(output_class.max()) + 1
    if deciding != len(names) and not (outputs == 1 and len(names) == 2):
        raise InputError(
            f"a head of {deciding} outputs cannot decide between {len(names)} classes; check y or the head"
        )
    constants = np.zeros(outputs) if bias is None else np.atleast_1d(np.asarray(bias, dtype=np.float64))
    # A linear function is a pair of ReLUs: z = ReLU(z) − ReLU(−z).
    double = (np.vstack([rows, -rows]), np.append(constants, -constants))
    second = np.hstack([np.eye(outputs), -np.eye(outputs)])
    network = as_network((*double, second, np.zeros(outputs)))
    # What all rows share moves no decision.
    centred = np.vstack([rows, -rows]) if outputs == 1 else rows - rows.mean(axis=0)
    speaks_for = np.arange(outputs) if output_class is None else output_class
    row_class = np.array([1, 0]) if outputs == 1 else speaks_for
    readout = "maximum" if output_class is None else "summed-probabilities"
    return Subject(
        points, class_codes(y, len(points), names), names, centred, row_class, np.linalg.norm(centred, axis=1), network,
        speaks_for, kind, readout,
    )  # fmt: skip


def _refined(module: Any, x: ArrayLike, y: ArrayLike) -> Subject:
    """The subject of what `refine_module` returns: sub-class logits by a head of one or two layers, then summed."""
    class_of: Ints = module.readout.class_of.numpy()
    head = two_layer_head(module.fine)
    if head is None:
        cut = split_module(module.fine, x)
        kind = f"refined {type(module.fine).__name__} with the linear head {cut.name!r}"
        return linear_subject(cut.features, y, cut.weights, cut.bias, None, kind, class_of)
    features = inputs_of(head[1], head[0], module, x)
    names = known_classes(y, len(features))
    return _two_layer(as_network(head[1]), features, y, names, class_of, "summed-probabilities")


def _two_layer(
    network: Network, x: ArrayLike, y: ArrayLike, classes: Any, output_class: Ints | None, readout: str
) -> Subject:
    points = finite_matrix(x, "x")
    if points.shape[1] != network.weights.shape[1]:
        raise InputError(
            f"features must be as wide as the network, got {points.shape[1]} features and "
            f"{network.weights.shape[1]} weights"
        )
    names = known_classes(y, len(points)) if classes is None else np.asarray(classes)
    if output_class is None:
        output_class, readout = _output_classes(network, len(names), readout)
    elif output_class.max() + 1 != len(names):
        raise InputError(f"the model decides between {output_class.max() + 1} classes, got {len(names)}; check y")
    # A neuron speaks for the class it raises most against the others.
    raised = network.second - network.second.mean(axis=0) if len(network.second) > 1 else network.second
    speaks_for: Ints = raised.argmax(axis=0) if network.output_count > 1 else (raised[0] > 0).astype(np.int64)
    row_class = output_class[speaks_for] if network.output_count > 1 else speaks_for
    importance = np.linalg.norm(raised, axis=0) * np.linalg.norm(network.weights, axis=1)
    codes = class_codes(y, len(points), names)
    kind = f"two-layer network of {network.neurons} neurons"
    return Subject(
        points, codes, names, network.weights, row_class, importance, network, output_class, kind, readout
    )  # fmt: skip


def _output_classes(network: Network, classes: int, readout: str) -> tuple[Ints, str]:
    if network.output_count == 1 and classes == 2:
        return np.zeros(1, dtype=np.int64), readout
    labels = getattr(network, "class_labels", None)
    if labels is not None and classes == 2:
        return (labels > 0).astype(np.int64), "summed-probabilities" if len(labels) > 2 else readout
    if len(network.second) != classes or network.output_count == 1:
        raise InputError(
            f"a network of {len(network.second)} outputs cannot decide between {classes} classes; check y or the model"
        )
    return np.arange(classes), readout


def _is_torch(model: Any) -> bool:
    return any(kind.__module__.startswith("torch.nn") for kind in type(model).__mro__)
