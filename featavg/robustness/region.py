"""Where the decision is no longer y: a union over rivals of sets Σ_j A_mj ReLU(⟨w_j,u⟩+b_j) + c_m <= tie, all m.

| read-out      | rivals of label y          | rows m, all of them must hold              |
|---------------|----------------------------|--------------------------------------------|
| sign          | one                        | y f                                        |
| summed-logits | one                        | y (Σ_{J+} f_j − Σ_{J-} f_j)                |
| argmax        | the other classes r        | f_y − f_r                                  |
| maximum       | the other side's classes r | f_i − f_r for every class i of the own side|
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.model import Network
from featavg.robustness.question import TIE, Question

# Rows (w, b) that differ by less than this after scaling are one neuron: the rounding of their own products.
SAME_DIRECTION = 1e-14


@dataclass(frozen=True)
class Neurons:
    """A two-layer network with its constant neurons folded into c and its parallel ones merged."""

    weights: Array  # (neuron, axis)
    biases: Array  # (neuron,)
    outputs: Array  # (output, neuron)
    constants: Array  # (output,)
    tie_weights: Array  # (neuron,)  s_j = Σ_outputs |A_j|
    tie_constant: float  # s_0 = Σ_outputs |c|

    def tie(self, high: Array) -> Array:
        """The largest margin that still is a tie where z_j <= high_j: 1e-9 (Σ_j s_j ReLU(high_j) + s_0)."""
        return TIE * (np.maximum(high, 0.0) @ self.tie_weights + self.tie_constant)


@dataclass(frozen=True)
class FooledSet:
    """All that must be known of a question's network to say which points are fooled."""

    neurons: Neurons
    readout: str
    sides: Ints  # (output,)  the sign of each class under a binary read-out, else zeros

    def rivals(self, label: int) -> list[int]:
        """The rivals whose sets together are the fooled set of `label`."""
        if self.readout in ("sign", "summed-logits"):
            return [0]
        if self.readout == "argmax":
            return [r for r in range(len(self.neurons.outputs)) if r != label]
        return np.flatnonzero(self.sides == -label).tolist()

    def rows(self, label: int, rival: int) -> tuple[Array, Array]:
        """A (row, neuron) and c (row,) of one rival's set."""
        outputs, constants = self.neurons.outputs, self.neurons.constants
        if self.readout == "sign":
            return label * outputs, label * constants
        if self.readout == "summed-logits":
            signs = label * self.sides
            return (signs @ outputs)[None], (signs @ constants)[None]
        own = [label] if self.readout == "argmax" else np.flatnonzero(self.sides == label)
        return outputs[own] - outputs[rival], constants[own] - constants[rival]


def fooled_set(question: Question) -> FooledSet:
    """Return the fooled set of a question, ready for search and for proof.

    >>> from featavg.robustness.question import ask
    >>> twice = ([[1.0], [2.0]], [0.0, 0.0], [[1.0, 1.0]], [-3.0])
    >>> fooled_set(ask(twice, [[4.0]], [1])).rows(1, 0)
    (array([[3.]]), array([-3.]))
    """
    network = question.network
    labels = getattr(network, "class_labels", None)
    if question.readout in ("sign", "argmax") or labels is None:
        labels = np.zeros(len(network.second), dtype=np.int64)
    return FooledSet(merge(network), question.readout, np.sign(labels))


def merge(network: Network) -> Neurons:
    """Fold neurons with w = 0 into the constants and add up those with (w, b) on one ray: ReLU(αz) = α ReLU(z)."""
    tie = np.abs(network.second).sum(axis=0)
    length = np.linalg.norm(network.weights, axis=1)
    fixed = length == 0
    level = np.maximum(network.biases, 0.0) * fixed
    alive = np.flatnonzero(~fixed)
    first, scale = _rays(network, alive, length)
    kept = np.flatnonzero(first == np.arange(len(alive)))
    outputs = np.zeros((len(network.second), len(alive)))
    np.add.at(outputs.T, first, (network.second[:, alive] * scale).T)
    ties = np.zeros(len(alive))
    np.add.at(ties, first, tie[alive] * scale)
    return Neurons(
        weights=network.weights[alive[kept]],
        biases=network.biases[alive[kept]],
        outputs=outputs[:, kept],
        constants=network.output_bias + network.second @ level,
        tie_weights=ties[kept],
        tie_constant=float(np.abs(network.output_bias).sum() + tie @ level),
    )


def _rays(network: Network, alive: Ints, length: Array) -> tuple[Ints, Array]:
    """For each live neuron the first one on its ray, and how many times longer than that one it is."""
    rays = np.column_stack([network.weights[alive], network.biases[alive]]) / length[alive, None]
    same: Bools = np.ones((len(alive), len(alive)), dtype=bool)
    for i, ray in enumerate(rays):
        same[i] = np.abs(rays - ray).max(axis=1) <= SAME_DIRECTION * np.abs(ray).max()
    first = same.argmax(axis=1) if len(alive) else alive
    return first, length[alive] / length[alive][first]
