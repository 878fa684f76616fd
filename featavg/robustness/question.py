"""Which decision of which network, at which points: the question that every method here answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints, finite_matrix, labels_among
from featavg.errors import InputError
from featavg.model import GROUPED, Network, as_network, read_as, with_hidden_layer
from featavg.robustness.norms import norm_of

Norm = Literal["l2", "linf"]
Readout = Literal["sign", "argmax", "summed-probabilities", "maximum", "summed-logits"]

# A margin below this share of the terms it is made of is a tie, and a tie counts as fooled, for both labels.
TIE = 1e-9


@dataclass(frozen=True)
class Question:
    """At each x_i: how far, in `norm`, is the nearest point that the read-out does not put in class y_i?"""

    network: Network
    x: Array  # (sample, axis)
    y: Ints  # (sample,)  -1 or +1 for binary read-outs, the class for argmax
    norm: Norm
    readout: Readout
    box: tuple[float, float] | None  # lowest and highest allowed coordinate, or none
    rival: Ints | None = None  # (sample,)  the one class that may take over (argmax only), or any

    def margins(self, points: ArrayLike) -> Array:
        """By how much the decision at point i is still y_i: (sample,)."""
        codes = self.y if self.readout == "argmax" else (self.y + 1) // 2
        readout = read_as(self.network.readout, self.readout)
        return readout.margins(self.network.outputs(points), codes, self.rival)

    def slopes(self, points: ArrayLike) -> tuple[Array, Array]:
        """The margin at point i (sample,) and its gradient there (sample, axis); a neuron at 0 counts as active."""
        network, outputs = self.network, self.network.outputs(points)
        codes = self.y if self.readout == "argmax" else (self.y + 1) // 2
        readout = read_as(network.readout, self.readout)
        through = readout.slope(outputs, codes, self.rival) @ network.second * (network.preactivations(points) >= 0)
        return readout.margins(outputs, codes, self.rival), through @ network.weights

    def part(self, chosen: Bools | Ints) -> Question:
        """The same question at some of its points, each as often as it is named."""
        rival = None if self.rival is None else self.rival[chosen]
        return replace(self, x=self.x[chosen], y=self.y[chosen], rival=rival)

    @property
    def precision(self) -> str:
        """The floats that the network computes in."""
        return "float64"

    def fooled(self, points: ArrayLike, tie: float = TIE) -> Bools:
        """Whether point i is misclassified or tied: margin <= 1e-9 · (Σ|a_j z_j| + |c|), summed over active neurons."""
        network = self.network
        hidden = np.maximum(network.preactivations(points), 0.0)
        scale = hidden @ np.abs(network.second).sum(axis=0) + np.abs(network.output_bias).sum()
        return self.margins(points) <= tie * scale

    def distances(self, points: ArrayLike) -> Array:
        """Distance in `norm` of point i from x_i: (sample,)."""
        return norm_of(self.norm).length(np.asarray(points) - self.x)

    def same_as(self, other: Any) -> bool:
        """Whether both ask the same decision of the same network at the same points."""
        if self is other or type(self) is not type(other):
            return self is other
        ours, theirs = self._arrays(), other._arrays()
        plain = (self.norm, self.readout, self.box) == (other.norm, other.readout, other.box)
        return plain and all(a is b or np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))

    def _arrays(self) -> list[Any]:
        network = self.network
        return [self.x, self.y, self.rival, network.weights, network.biases, network.second, network.output_bias]


def ask(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    *,
    norm: Norm = "l2",
    readout: Readout | None = None,
    box: tuple[float, float] | None = None,
) -> Question:
    """Check everything that can be wrong with a question, once, at the border of the room.

    The read-out is `sign` for one output and `argmax` for several unless a binary read-out is named. Labels are -1 and
    +1, or 0 ... k - 1 for argmax; of a scikit-learn classifier those that it was fitted on.

    >>> ask(([[1.0]], [0.0], [[1.0]], [-1.0]), [[3.0]], [1]).margins([[2.5]])
    array([1.5])
    """
    network = with_hidden_layer(as_network(model))
    if len(network.layers) != 2 or not network.activation.is_relu:
        raise InputError(f"exact radii need two layers with ReLU between them, got {len(network.layers)} layers")
    points = finite_matrix(x, "x", columns=network.weights.shape[1])
    norm_of(norm)
    if network.coordinates == "compact" and (norm != "l2" or box is not None):
        raise InputError(
            "compact coordinates keep ℓ2 distances only: an ℓ∞ norm or a box has no meaning in them; "
            'sample with coordinates="ambient"'
        )
    chosen = _readout(network, readout)
    return Question(network, points, codes(model, y, chosen, len(points)), norm, chosen, _box(box, points))


def codes(model: Any, labels: ArrayLike, readout: Readout, count: int, name: str = "y") -> Ints:
    """Labels in the network's terms: -1 or +1, or 0 ... k - 1 for argmax; a scikit-learn classifier's are its own.

    >>> codes(([[1.0]], [0.0], [[1.0], [2.0]], [0.0, 0.0]), [1, 0], "argmax", count=2)
    array([1, 0])
    """
    allowed = range(len(as_network(model).second)) if readout == "argmax" else (-1, 1)
    classes = getattr(model, "classes_", None)
    if classes is None:
        return labels_among(labels, allowed, count, name)
    given = np.asarray(labels)
    if given.shape != (count,) or not np.isin(given, classes).all():
        raise InputError(f"{name} must be {count} of the classifier's own labels {list(map(str, classes))}")
    return np.asarray(allowed)[np.searchsorted(classes, given)]


def part(question: Question, chosen: Bools | Ints) -> Question:
    """The same question at some of its points."""
    return question.part(chosen)


def _readout(network: Network, readout: Readout | None) -> Readout:
    if network.output_count == 1:
        if readout not in (None, "sign"):
            raise InputError(f"a network with one output has the read-out sign, got {readout!r}")
        return "sign"
    if readout is None or readout == "argmax":
        return "argmax"
    if readout not in GROUPED:
        raise InputError(f"readout must be argmax, {', '.join(GROUPED)}, got {readout!r}")
    read_as(network.readout, readout)
    return readout


def _box(box: tuple[float, float] | None, points: Array) -> tuple[float, float] | None:
    if box is None:
        return None
    low, high = float(box[0]), float(box[1])
    if not low < high or points.min(initial=high) < low or points.max(initial=low) > high:
        raise InputError(f"every point must lie in the box {low} ... {high}; rescale the points or widen the box")
    return low, high
