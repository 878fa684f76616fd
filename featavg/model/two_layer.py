"""The two networks of the paper: two layers, ReLU, one output or one per class."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.data import Coordinates, Dataset, Names
from featavg.errors import InputError
from featavg.model.activation import RELU, Activation
from featavg.model.network import Network, two_layers
from featavg.model.readouts import Argmax, Groups, Sign


class _Binary:
    """f(x) = (1/m) Σ_r ReLU(⟨w_r, x⟩ + b_r) over positive neurons − the same over negative ones; the class is sgn f.

    Any second layer and output bias are allowed; f = 0 is a tie and counts as an error for both labels.

    >>> BinaryNetwork([[1.0, 0.0]], [0.0], [[1.0]], [-0.5]).score([[2.0, 7.0]])
    array([1.5])
    """

    def __call__(
        self,
        weights: ArrayLike,
        biases: ArrayLike,
        second: ArrayLike,
        output_bias: ArrayLike,
        *,
        labels: Names | None = None,
        activation: Activation = RELU,
        coordinates: Coordinates = "ambient",
    ) -> Network:
        """W (neuron, axis), b (neuron,), A (1, neuron), c (1,); `labels` are -1 and +1 by default."""
        layers = two_layers(weights, biases, second, output_bias)
        readout = Sign() if labels is None else Sign(np.asarray(labels))
        return Network(layers, readout, activation, coordinates)

    def random(
        self,
        data: Dataset,
        neurons_per_class: int = 5,
        *,
        seed: int = 0,
        scale: float | None = None,
        bias_scale: float | None = None,
    ) -> Network:
        """m positive and m negative neurons, w ~ N(0, σ_w² I), b ~ N(0, σ_b²), second layer ±1/m.

        The default scale σ_w = σ_b = 1e-5 · 3072/dim is the paper's at d = 3072 and holds σ_w·dim fixed elsewhere.

        >>> from featavg import sample_clusters
        >>> BinaryNetwork.random(sample_clusters(samples=50, seed=0), neurons_per_class=2, seed=1).second
        array([[ 0.5,  0.5, -0.5, -0.5]])
        """
        _check_width(neurons_per_class)
        rng = np.random.default_rng(seed)
        scale = default_scale(data) if scale is None else scale
        signs = np.repeat([1.0, -1.0], neurons_per_class)
        return self(
            weights=scale * data.gaussian(len(signs), rng),
            biases=(scale if bias_scale is None else bias_scale) * rng.standard_normal(len(signs)),
            second=signs[None] / neurons_per_class,
            output_bias=np.zeros(1),
            coordinates=data.coordinates,
        )


def as_relus(network: Network) -> Network:
    """The same function by two layers of ReLU, if the network is linear or a leaky one of two layers; else as it is.

        W x + b = ReLU(W x + b) − ReLU(−W x − b)
        a φ(z)  = a ReLU(z) − a·leak ReLU(−z)

    Not rounded: where a float cannot hold a·leak, a neuron more holds the rest.

    >>> from featavg.model import Layer
    >>> as_relus(Network((Layer(np.array([[2.0]]), np.array([1.0])),))).outputs([[-3.0], [3.0]]).ravel()
    array([-5.,  7.])
    >>> as_relus(BinaryNetwork([[1.0]], [0.0], [[2.0]], [0.0], activation=Activation(leak=0.5))).second
    array([[ 2., -1.]])
    """
    second: Array = np.eye(network.output_count)
    constants: Array = np.zeros(network.output_count)
    if len(network.layers) == 1:
        mirrored: list[Array] = [-second]
    elif len(network.layers) == 2 and network.activation.leak:
        second, constants = network.second, network.output_bias
        mirrored = _negative_product(network.activation.leak, second)
    else:
        return network
    first, sides = network.layers[0], [1.0] + [-1.0] * len(mirrored)
    weights, biases = (np.concatenate([side * rows for side in sides]) for rows in (first.weights, first.biases))
    layers = two_layers(weights, biases, np.hstack([second, *mirrored]), constants)
    return replace(network, layers=layers, activation=RELU)


def _negative_product(leak: float, second: Array) -> list[Array]:
    """−leak·A as a sum of float arrays: the product, and what its rounding dropped, a float too (underflow apart)."""
    rounded = -leak * second
    pairs = zip(second.ravel().tolist(), rounded.ravel().tolist(), strict=True)
    rest = [float(-Fraction(leak) * Fraction(one) - Fraction(got)) for one, got in pairs]
    return [rounded, np.reshape(rest, second.shape)] if any(rest) else [rounded]


class _Multiclass:
    """f_j(x) = (1/h) Σ_r ReLU(⟨w_jr, x⟩) for each of k classes, the class is the argmax.

    `class_labels` says which coarse class each output belongs to; with it the network also decides between these,
    under a named read-out.

    >>> MulticlassNetwork(np.eye(2), np.zeros(2), np.eye(2), np.zeros(2)).predict([[1.0, 3.0]])
    array([1])
    """

    def __call__(
        self,
        weights: ArrayLike,
        biases: ArrayLike,
        second: ArrayLike,
        output_bias: ArrayLike,
        class_labels: ArrayLike | None = None,
        *,
        labels: Names | None = None,
        activation: Activation = RELU,
        coordinates: Coordinates = "ambient",
    ) -> Network:
        """W (neuron, axis), b (neuron,), A (output, neuron), c (output,); `labels` are 0 ... k − 1 by default."""
        layers = two_layers(weights, biases, second, output_bias)
        groups = None if class_labels is None else Groups.of(class_labels)
        readout = Argmax(np.arange(len(layers[1].weights)) if labels is None else np.asarray(labels), groups)
        return Network(layers, readout, activation, coordinates)

    def random(
        self, data: Dataset, neurons_per_class: int = 1, *, seed: int = 0, scale: float | None = None
    ) -> Network:
        """h neurons for each fine label, w ~ N(0, σ_w² I), no biases, second layer 1/h in blocks.

        >>> from featavg import sample_clusters
        >>> MulticlassNetwork.random(sample_clusters(clusters=4, samples=50, seed=0), seed=1).second.shape
        (4, 4)
        """
        _check_width(neurons_per_class)
        rng = np.random.default_rng(seed)
        scale = default_scale(data) if scale is None else scale
        labels = data.center_labels
        second = np.repeat(np.eye(len(labels)), neurons_per_class, axis=1) / neurons_per_class
        return self(
            weights=scale * data.gaussian(second.shape[1], rng),
            biases=np.zeros(second.shape[1]),
            second=second,
            output_bias=np.zeros(len(labels)),
            class_labels=labels,
            coordinates=data.coordinates,
        )


# Constructors, not types: what they build is a `Network`.
BinaryNetwork = _Binary()
MulticlassNetwork = _Multiclass()


def default_scale(data: Dataset) -> float:
    """σ_w = 1e-5 · 3072/d: small, so that the first steps choose directions and not sizes (paper, Assumption 3)."""
    return 1e-5 * 3072 / data.dim


def _check_width(neurons_per_class: int) -> None:
    if neurons_per_class < 1:
        raise InputError(f"neurons_per_class must be at least 1, got {neurons_per_class}")
