"""A network is its layers, its activation and its read-out; two layers of ReLU are the common member."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints, finite_matrix, finite_vector
from featavg.data import Coordinates, Dataset, Names
from featavg.errors import InputError
from featavg.model.activation import RELU, Activation
from featavg.model.readouts import Argmax, Groups, Readout, Sign, read_as


@dataclass(frozen=True, eq=False)
class Layer:
    """z = W h + b."""

    weights: Array  # (out, in)  W
    biases: Array  # (out,)  b

    def __call__(self, inputs: Array) -> Array:
        """z (sample, out) of inputs h (sample, in)."""
        return inputs @ self.weights.T + self.biases


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """x ↦ W_L φ(… φ(W_1 x + b_1) …) + b_L, then a read-out that turns outputs into a decision.

    `BinaryNetwork` and `MulticlassNetwork` build the paper's two; `as_network` reads those of other libraries. A linear
    model is one layer. Nothing subclasses this: what differs between networks is in their parts.

    >>> hidden, last = Layer(np.eye(2), np.ones(2)), Layer(np.ones((1, 2)), np.zeros(1))
    >>> deep = Network((Layer(np.eye(2), np.zeros(2)), hidden, last))
    >>> deep.outputs([[1.0, -2.0]])
    array([[3.]])
    >>> deep
    Network(2 → 2 → 2 → 1; 2 classes by sign)
    """

    layers: tuple[Layer, ...]
    readout: Readout = field(default_factory=Sign)
    activation: Activation = RELU
    coordinates: Coordinates = "ambient"

    def __post_init__(self) -> None:
        if not self.layers:
            raise InputError("a network needs at least one layer, got none")
        object.__setattr__(self, "layers", _fitting(self.layers))
        self.readout.check(self.output_count)

    def __repr__(self) -> str:
        sizes = " → ".join(str(size) for size in (self.inputs, *(len(layer.weights) for layer in self.layers)))
        bent = "" if self.activation == RELU else f", {self.activation}"
        return f"Network({sizes}{bent}; {len(self.readout.labels)} classes by {self.readout.name})"

    @property
    def inputs(self) -> int:
        """How many numbers a point has."""
        return int(self.layers[0].weights.shape[1])

    @property
    def output_count(self) -> int:
        """How many outputs there are."""
        return len(self.layers[-1].weights)

    @property
    def weights(self) -> Array:
        """W_1 (neuron, axis)."""
        return self.layers[0].weights

    @property
    def biases(self) -> Array:
        """b_1 (neuron,)."""
        return self.layers[0].biases

    @property
    def neurons(self) -> int:
        """M, the number of neurons of the first layer."""
        return len(self.weights)

    @property
    def second(self) -> Array:
        """A (output, neuron), the second layer of a two-layer network."""
        return self._two_layers()[1].weights

    @property
    def output_bias(self) -> Array:
        """c (output,), the output biases of a two-layer network."""
        return self._two_layers()[1].biases

    def preactivations(self, x: ArrayLike) -> Array:
        """Z (sample, neuron) = x Wᵀ + b of the first layer."""
        return self.layers[0](finite_matrix(x, "x", columns=self.inputs))

    def active(self, x: ArrayLike) -> Bools:
        """Which neurons of the first layer are on at which points: (sample, neuron), Z >= 0."""
        return self.preactivations(x) >= 0

    def outputs(self, x: ArrayLike) -> Array:
        """F (sample, output)."""
        z = self.preactivations(x)
        for below, layer in pairwise(self.layers):
            sizes = np.linalg.norm(below.weights, axis=1) if self.activation.normalized else None
            z = layer(self.activation.value(z, sizes))
        return z

    def probabilities(self, x: ArrayLike) -> Array:
        """softmax(F): (sample, output)."""
        outputs = self.outputs(x)
        shares: Array = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def score(self, x: ArrayLike, readout: str | None = None) -> Array:
        """The score of a decision between two classes, positive for the second: (sample,).

        sign: f; summed-probabilities (the paper's): log Σ_{J+} exp f_j − log Σ_{J-} exp f_j;
        maximum: max_{J+} f_j − max_{J-} f_j; summed-logits: Σ_{J+} f_j − Σ_{J-} f_j.
        """
        return read_as(self.readout, readout or _binary(self.readout)).score(self.outputs(x))

    def predict(self, x: ArrayLike) -> Names:
        """The decision as a label of the read-out: (sample,); with labels -1 and +1 a tie is 0."""
        return self.readout.predict(self.outputs(x))

    def predict_binary(self, x: ArrayLike, readout: str | None = None) -> Ints:
        """Sign of the binary score: -1 or +1, and 0 for a tie."""
        return np.sign(self.score(x, readout)).astype(np.int64)

    def margins(self, x: ArrayLike, y: ArrayLike) -> Array:
        """By how much each point is put in class y: (sample,), negative if it is not."""
        return self.readout.margins(self.outputs(x), self.readout.encode(y))

    def targets(self, data: Dataset) -> Ints:
        """The labels of `data` that the outputs are trained on: coarse for one output, fine for several."""
        return self.readout.targets(data)

    @property
    def neuron_class(self) -> Ints:
        """The class each neuron of a two-layer network speaks for: -1 or +1 for one output, else the output."""
        return self.readout.neuron_class(self.second)

    def degree(self, trained: Collection[str] = ("weights", "biases")) -> int | None:
        """How the outputs scale with the trained parameters: f(cθ) = c^degree f(θ) for c > 0; None if they do not.

        Parameters are named weights, biases (first layer), second, output_bias, or weights_l, biases_l of layer l.

        >>> network = Network((Layer(np.eye(2), np.ones(2)), Layer(np.ones((1, 2)), np.zeros(1))))
        >>> network.degree(), network.degree(("weights", "biases", "second")), network.degree(("weights",))
        (1, 2, None)
        """
        chosen = self.block_names(trained)
        degree = 0
        for number, layer in enumerate(self.layers, start=1):
            below = f"weights_{number - 1}" in chosen
            grown = self.activation.degree(degree, below) + (f"weights_{number}" in chosen)
            moves = f"biases_{number}" in chosen
            if (layer.biases.any() or moves) and moves != grown:
                return None
            degree = grown
        return degree

    def block_names(self, trained: Collection[str]) -> set[str]:
        """Names of parameters as weights_l and biases_l: weights and biases are those of the first layer.

        >>> sorted(Network((Layer(np.eye(1), np.ones(1)), Layer(np.eye(1), np.zeros(1)))).block_names(["second"]))
        ['weights_2']
        """
        last = len(self.layers)
        short = {"weights": "weights_1", "biases": "biases_1", "second": "weights_2", "output_bias": f"biases_{last}"}
        known = {f"{kind}_{number}" for kind in ("weights", "biases") for number in range(1, last + 1)}
        chosen = {short.get(name, name) for name in trained}
        wrong = sorted(chosen - known)
        if wrong:
            raise InputError(f"trained parameters are {', '.join(sorted(known))}, got {wrong[0]!r}")
        return chosen

    def changed(
        self,
        *,
        weights: ArrayLike | None = None,
        biases: ArrayLike | None = None,
        second: ArrayLike | None = None,
        output_bias: ArrayLike | None = None,
        class_labels: ArrayLike | None = None,
    ) -> Network:
        """The same two-layer network with other parameters, or other coarse classes of its outputs.

        >>> Network((Layer(np.eye(1), np.ones(1)), Layer(np.eye(1), np.zeros(1)))).changed(biases=[2.0]).biases
        array([2.])
        """
        given, own = (weights, biases, second, output_bias), self._arrays()
        arrays = [mine if new is None else new for new, mine in zip(given, own, strict=True)]
        readout = self.readout
        if class_labels is not None:
            readout = Argmax(np.arange(self.output_count), Groups.of(class_labels))
        return replace(self, layers=two_layers(*arrays), readout=readout)

    def reading(self, readout: str | None) -> Network:
        """The same network under another read-out, by name; itself for None."""
        return self if readout is None else replace(self, readout=read_as(self.readout, readout))

    @property
    def class_labels(self) -> Names | None:
        """The coarse label of each output, if known: (output,)."""
        groups: Groups | None = getattr(self.readout, "groups", None)
        return None if groups is None else groups.values

    def _arrays(self) -> tuple[Array, Array, Array, Array]:
        first, last = self._two_layers()
        return first.weights, first.biases, last.weights, last.biases

    def _two_layers(self) -> tuple[Layer, ...]:
        if len(self.layers) != 2:
            raise InputError(f"this needs a network of two layers, got {len(self.layers)}")
        return self.layers


def two_layers(weights: ArrayLike, biases: ArrayLike, second: ArrayLike, output_bias: ArrayLike) -> tuple[Layer, Layer]:
    """W (neuron, axis), b (neuron,), A (output, neuron), c (output,) as layers that fit each other."""
    first = layer(weights, biases, "weights", "biases")
    return first, layer(second, output_bias, "second", "output_bias", len(first.weights))


def layer(
    weights: ArrayLike, biases: ArrayLike, weights_name: str, biases_name: str, columns: int | None = None
) -> Layer:
    """A layer of finite float64 arrays, or one sentence that says by name what does not fit."""
    matrix = finite_matrix(weights, weights_name, columns)
    return Layer(matrix, finite_vector(biases, biases_name, len(matrix)))


def _fitting(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    found: list[Layer] = []
    for number, given in enumerate(layers, start=1):
        columns = len(found[-1].weights) if found else None
        found.append(layer(given.weights, given.biases, f"weights_{number}", f"biases_{number}", columns))
    return tuple(found)


def _binary(readout: Readout) -> str:
    """The read-out that a binary score takes by default: the paper's for several outputs."""
    return "summed-probabilities" if isinstance(readout, Argmax) else readout.name


def same_network(one: Any, other: Any) -> bool:
    """Whether two networks have the same layers, activation and read-out."""
    if not (isinstance(one, Network) and isinstance(other, Network)) or len(one.layers) != len(other.layers):
        return False
    arrays = [(a.weights, b.weights) for a, b in zip(one.layers, other.layers, strict=True)]
    arrays += [(a.biases, b.biases) for a, b in zip(one.layers, other.layers, strict=True)]
    plain = (one.activation, one.coordinates) == (other.activation, other.coordinates)
    return plain and one.readout.same_as(other.readout) and all(np.array_equal(a, b) for a, b in arrays)
