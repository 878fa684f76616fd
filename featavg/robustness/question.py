"""Which decision of which network, at which points: the question that every method here answers.

The network is the mathematical function of its parameters, each float being the rational that it is. A point is fooled
where the margin of the decision is <= 0: a tie is fooled, and there is no tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints, finite_matrix
from featavg.data import Names
from featavg.errors import InputError
from featavg.model import GROUPED, Network, as_network, as_relus, check_table, read_as, readouts, same_network
from featavg.robustness.norms import norm_of
from featavg.robustness.proof.format import Decision, Floats, Kind, Neurons, Problem
from featavg.robustness.proof.format import Norm as Norm

PROVED: tuple[Norm, ...] = ("l2", "linf")  # the norms that the checker knows
Readout = Literal["sign", "argmax", "summed-probabilities", "maximum", "summed-logits"]
Box = tuple[ArrayLike | None, ArrayLike | None]  # low, high: each a number or one per feature; None or ±∞ where open
KINDS: dict[str, Kind] = {
    "sign": "sign",
    "argmax": "argmax",
    "maximum": "maximum",
    "summed-logits": "logits",
    "summed-probabilities": "probabilities",
}


@dataclass(frozen=True, eq=False)
class Question:
    """At each x_i: how far, in `norm` and inside `box`, is the nearest point that is not decided for codes_i?"""

    network: Network
    x: Array  # (sample, axis)
    codes: Ints  # (sample,)  positions in the labels of the read-out
    readout: readouts.Readout
    norm: Norm = "l2"
    box: tuple[Floats, Floats] | None = None  # lowest and highest allowed value of each feature, or none: (axis,) both
    rival: Ints | None = None  # (sample,)  the one class that may take over, or any

    @property
    def labels(self) -> Names:
        """The label of every point, as the read-out calls it: (sample,)."""
        return np.asarray(self.readout.labels[self.codes])

    @property
    def y(self) -> Ints:
        """The label of every point in numbers: -1 and +1 where two classes are told apart by a score, else codes."""
        binary = self.readout.name != "argmax" and len(self.readout.labels) == 2
        return 2 * self.codes - 1 if binary else self.codes

    def margins(self, points: ArrayLike) -> Array:
        """By how much the decision at point i is still y_i, in floats: (sample,)."""
        return self.readout.margins(self.network.outputs(points), self.codes, self.rival)

    def slopes(self, points: ArrayLike) -> tuple[Array, Array]:
        """The margin at point i (sample,) and its gradient there (sample, axis); a neuron at 0 counts as active."""
        network, outputs = self.network, self.network.outputs(points)
        through = self.readout.slope(outputs, self.codes, self.rival) @ network.second
        through *= network.preactivations(points) >= 0
        return self.readout.margins(outputs, self.codes, self.rival), through @ network.weights

    @property
    def precision(self) -> str:
        """The floats that the network computes in."""
        return "float64"

    def fooled(self, points: ArrayLike) -> Bools:
        """Whether point i is misclassified or tied, in floats: margin <= 0."""
        return self.margins(points) <= 0

    def misclassified(self, points: ArrayLike) -> Bools:
        """Whether the model's own arithmetic decides point i otherwise, ties apart: margin < 0."""
        return self.margins(points) < 0

    def distances(self, points: ArrayLike) -> Array:
        """Distance in `norm` of point i from x_i: (sample,)."""
        return norm_of(self.norm).length(np.asarray(points) - self.x)

    def part(self, chosen: Any) -> Question:
        """The same question at some of its points."""
        rival = None if self.rival is None else self.rival[chosen]
        return replace(self, x=self.x[chosen], codes=self.codes[chosen], rival=rival)

    def same_as(self, other: Any) -> bool:
        """Whether both ask the same decision of the same network at the same points."""
        if not isinstance(other, Question) or self.norm != other.norm or not self.readout.same_as(other.readout):
            return False
        pairs: list[tuple[Any, Any]] = [(self.x, other.x), (self.codes, other.codes), (self.rival, other.rival)]
        pairs += zip(self.box or (None, None), other.box or (None, None), strict=True)
        one, two = self.network, other.network
        return (one is two or same_network(one, two)) and all(a is b or np.array_equal(a, b) for a, b in pairs)

    def problem(self) -> Problem | None:
        """The question in arrays, for the checker; None under a read-out or in a norm that it does not know.

        Coarse classes are its groups.
        """
        if self.readout.name not in KINDS or self.norm not in PROVED:
            return None
        network, kind = self.network, KINDS[self.readout.name]
        groups, labels, target = np.zeros(network.output_count, dtype=np.int64), self.codes, self.rival
        if isinstance(self.readout, readouts.Grouped):
            groups = self.readout.groups.codes
            if len(self.readout.labels) == len(groups):
                # The pool of one output is that output.
                output = np.argsort(groups)
                kind, labels, target = "argmax", output[labels], None if target is None else output[target]
        arrays = (network.weights, network.biases, network.second, network.output_bias)
        low, high = self.box or (None, None)
        return Problem(
            neurons=Neurons(*(np.ascontiguousarray(each, dtype=np.float64) for each in arrays)),
            x=np.ascontiguousarray(self.x, dtype=np.float64),
            labels=2 * labels - 1 if kind == "sign" else labels,
            decision=Decision(kind, groups),
            norm=self.norm,
            low=low,
            high=high,
            target=target,
        )

    def checkable(self) -> Problem:
        """The same, or one sentence that says there is none."""
        if (problem := self.problem()) is None:
            raise InputError(
                f"the checker does not know the read-out {self.readout.name} in {self.norm}, so nothing is proved; "
                f"attack it, which needs margins alone, or name one of {', '.join(KINDS)} and {' or '.join(PROVED)}"
            )
        return problem


def ask(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    *,
    norm: Norm = "l2",
    readout: Readout | readouts.Readout | None = None,
    box: Box | None = None,
) -> Question:
    """Check everything that can be wrong with a question, once, at the border of the room.

    The read-out is the network's own unless another is named. Labels are those of the read-out; where two classes are
    told apart by a score, -1 and +1 will do as well.

    >>> ask(([[1.0]], [0.0], [[1.0]], [-1.0]), [[3.0]], [1]).margins([[2.5]])
    array([1.5])
    """
    network = as_relus(as_network(model))
    if len(network.layers) != 2 or not network.activation.is_relu:
        raise InputError(
            f"exact radii need two layers with ReLU or leaky ReLU between them, got {len(network.layers)} layers with "
            f"{network.activation}; for upper bounds attack it as a torch module (featavg.deep.ask_deep)"
        )
    check_table(model, x)
    points = _points(x, network.inputs)
    norm_of(norm)  # refuses what is none
    if network.coordinates == "compact" and (norm != "l2" or box is not None):
        raise InputError(
            "compact coordinates keep ℓ2 distances only: an ℓ∞ norm or a box has no meaning in them; "
            'sample with coordinates="ambient"'
        )
    chosen = readout if isinstance(readout, readouts.Readout) else read_as(network.readout, readout)
    chosen.check(network.output_count)
    return Question(network, points, encode(chosen, y, len(points)), chosen, norm, _box(box, points))


def encode(readout: readouts.Readout, labels: ArrayLike, count: int, name: str = "y") -> Ints:
    """Labels (sample,) as people write them, as positions in those of the read-out.

    >>> encode(readouts.Sign(np.array(["no", "yes"])), ["yes", "no"], 2), encode(readouts.Sign(), [1, -1], 2)
    (array([1, 0]), array([1, 0]))
    """
    given = np.asarray(labels)
    if given.shape != (count,):
        raise InputError(f"{name} must hold one label for each of {count} points, got shape {given.shape}")
    signs = given.dtype.kind in "if" and bool(np.isin(given, (-1, 1)).all())
    own = readout.labels.tolist()
    if readout.name != "argmax" and len(own) == 2 and signs and own[0] != 1 and own[1] != -1:
        return (given > 0).astype(np.int64)
    if signs and (given < 0).any() and -1 not in own:
        raise InputError(
            f"{name} holds the labels -1 and +1, but the read-out {readout.name} decides among {own}; "
            f"name a binary one, readout= {', '.join(GROUPED)}, or use these labels"
        )
    return readout.encode(given, name)


def _points(x: ArrayLike, axes: int) -> Array:
    if getattr(x, "requires_grad", False):
        raise InputError("x must be plain numbers, got a tensor that records gradients; pass x.detach()")
    if np.iscomplexobj(x):
        raise InputError("x must be real numbers, got complex ones; pass their real and imaginary parts as features")
    return finite_matrix(x, "x", columns=axes)


def _box(box: Box | None, points: Array) -> tuple[Floats, Floats] | None:
    if box is None:
        return None
    axes = points.shape[1]
    try:
        sides = (open_side if side is None else side for side, open_side in zip(box, (-np.inf, np.inf), strict=True))
        low, high = (np.broadcast_to(np.asarray(side, dtype=np.float64), axes).copy() for side in sides)
    except (TypeError, ValueError):
        raise InputError(
            f"box must be a pair (low, high) of numbers, or of vectors with a number for each of {axes} features, "
            f"got {box!r}"
        ) from None
    if not (low <= high).all() or not ((low <= points) & (points <= high)).all():
        raise InputError(f"every point must lie in the box, got {box}; rescale the points or widen the box")
    return None if np.isinf(low).all() and np.isinf(high).all() else (low, high)
