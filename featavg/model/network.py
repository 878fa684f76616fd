"""The two networks of the paper: two layers, ReLU, one output or one a class.

At a pre-activation of exactly 0 a neuron counts as active (paper, Def. 2.4: ReLU'(0) = 1; torch takes 0).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, logsumexp

from featavg.arrays import Array, Bools, Ints, finite_matrix, finite_vector, labels_among
from featavg.data import Coordinates, Points
from featavg.errors import InputError

BinaryReadout = Literal["summed-probabilities", "maximum", "summed-logits"]
BINARY_READOUTS: tuple[BinaryReadout, ...] = ("summed-probabilities", "maximum", "summed-logits")


@dataclass(frozen=True)
class TwoLayerNetwork(ABC):
    """x ↦ A ReLU(W x + b) + c."""

    weights: Array  # (neuron, axis)  W
    biases: Array  # (neuron,)  b
    second: Array  # (output, neuron)  A
    output_bias: Array  # (output,)  c
    coordinates: Coordinates = field(default="ambient", kw_only=True)

    def __post_init__(self) -> None:
        weights = finite_matrix(self.weights, "weights")
        second = finite_matrix(self.second, "second", columns=len(weights))
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "biases", finite_vector(self.biases, "biases", len(weights)))
        object.__setattr__(self, "second", second)
        object.__setattr__(self, "output_bias", finite_vector(self.output_bias, "output_bias", len(second)))

    @property
    def neurons(self) -> int:
        """M, the number of hidden neurons."""
        return len(self.weights)

    def preactivations(self, x: ArrayLike) -> Array:
        """Z (sample, neuron) = x Wᵀ + b."""
        return finite_matrix(x, "x", columns=self.weights.shape[1]) @ self.weights.T + self.biases

    def active(self, x: ArrayLike) -> Bools:
        """Which neurons are on at which points: (sample, neuron), Z >= 0."""
        return self.preactivations(x) >= 0

    def outputs(self, x: ArrayLike) -> Array:
        """F (sample, output) = ReLU(Z) Aᵀ + c."""
        return np.maximum(self.preactivations(x), 0.0) @ self.second.T + self.output_bias

    @property
    @abstractmethod
    def neuron_class(self) -> Ints:
        """The class s that each neuron speaks for: (neuron,)."""

    @abstractmethod
    def targets(self, data: Points) -> Ints:
        """The labels of `data` that this network is trained on: (sample,)."""

    @abstractmethod
    def margins(self, x: ArrayLike, target: ArrayLike) -> Array:
        """By how much each point is classified correctly: (sample,), negative if it is not."""


@dataclass(frozen=True)
class BinaryNetwork(TwoLayerNetwork):
    """f(x) = (1/m) Σ_r ReLU(⟨w_r, x⟩ + b_r) over positive neurons − the same over negative ones; the class is sgn f.

    Any second layer and output bias are allowed; f = 0 is a tie and counts as an error for both labels.
    """

    @classmethod
    def random(
        cls,
        data: Points,
        neurons_per_class: int = 5,
        *,
        seed: int = 0,
        scale: float | None = None,
        bias_scale: float | None = None,
    ) -> BinaryNetwork:
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
        return cls(
            weights=scale * data.gaussian(len(signs), rng),
            biases=(scale if bias_scale is None else bias_scale) * rng.standard_normal(len(signs)),
            second=signs[None] / neurons_per_class,
            output_bias=np.zeros(1),
            coordinates=data.coordinates,
        )

    def score(self, x: ArrayLike) -> Array:
        """f(x): (sample,)."""
        return self.outputs(x)[:, 0]

    def predict(self, x: ArrayLike) -> Ints:
        """sgn f(x): -1 or +1, and 0 for a tie."""
        return np.sign(self.score(x)).astype(np.int64)

    @property
    def neuron_class(self) -> Ints:
        """The sign of a neuron's second-layer weight."""
        return np.sign(self.second[0]).astype(np.int64)

    def targets(self, data: Points) -> Ints:
        """The coarse labels."""
        return data.y

    def margins(self, x: ArrayLike, target: ArrayLike) -> Array:
        """y f(x)."""
        return np.asarray(target) * self.score(x)


@dataclass(frozen=True)
class MulticlassNetwork(TwoLayerNetwork):
    """f_j(x) = (1/h) Σ_r ReLU(⟨w_jr, x⟩) for each of k classes, the class is the argmax; biases 0 unless given.

    `class_labels` says which classes are positive; with it the network is also a binary one, under a named read-out.
    """

    class_labels: Ints | None = None  # (output,)  -1 or +1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.class_labels is not None:
            labels = labels_among(self.class_labels, (-1, 1), self.classes, "class_labels")
            object.__setattr__(self, "class_labels", labels)

    @classmethod
    def random(
        cls, data: Points, neurons_per_class: int = 1, *, seed: int = 0, scale: float | None = None
    ) -> MulticlassNetwork:
        """h neurons for each fine label, w ~ N(0, σ_w² I), no biases, second layer 1/h in blocks.

        >>> from featavg import sample_clusters
        >>> MulticlassNetwork.random(sample_clusters(clusters=4, samples=50, seed=0), seed=1).second.shape
        (4, 4)
        """
        _check_width(neurons_per_class)
        rng = np.random.default_rng(seed)
        scale = default_scale(data) if scale is None else scale
        labels = coarse_labels(data)
        second = np.repeat(np.eye(len(labels)), neurons_per_class, axis=1) / neurons_per_class
        return cls(
            weights=scale * data.gaussian(second.shape[1], rng),
            biases=np.zeros(second.shape[1]),
            second=second,
            output_bias=np.zeros(len(labels)),
            class_labels=labels,
            coordinates=data.coordinates,
        )

    @property
    def classes(self) -> int:
        """k, the number of outputs."""
        return len(self.second)

    def probabilities(self, x: ArrayLike) -> Array:
        """softmax(F): (sample, output)."""
        return np.exp(log_softmax(self.outputs(x), axis=1))

    def predict(self, x: ArrayLike) -> Ints:
        """argmax_j f_j(x): (sample,)."""
        return np.argmax(self.outputs(x), axis=1)

    def score(self, x: ArrayLike, readout: BinaryReadout = "summed-probabilities") -> Array:
        """Binary score (sample,), positive for class +1.

        summed-probabilities (the paper's): log Σ_{J+} exp f_j − log Σ_{J-} exp f_j;
        maximum: max_{J+} f_j − max_{J-} f_j; summed-logits: Σ_{J+} f_j − Σ_{J-} f_j.
        """
        positive, negative = self.split()
        outputs = self.outputs(x)
        if readout not in BINARY_READOUTS:
            raise InputError(f"readout must be one of {', '.join(BINARY_READOUTS)}, got {readout!r}")
        pools: dict[str, Any] = {"summed-probabilities": logsumexp, "maximum": np.max, "summed-logits": np.sum}
        pool = pools[readout]
        return np.asarray(pool(outputs[:, positive], axis=1) - pool(outputs[:, negative], axis=1))

    def predict_binary(self, x: ArrayLike, readout: BinaryReadout = "summed-probabilities") -> Ints:
        """Sign of the binary score: -1 or +1, and 0 for a tie."""
        return np.sign(self.score(x, readout)).astype(np.int64)

    def split(self) -> tuple[Ints, Ints]:
        """The positive and the negative classes."""
        if self.class_labels is None or abs(np.sum(np.sign(self.class_labels))) == self.classes:
            raise InputError("a binary read-out needs class_labels with both signs; set them on the network")
        return np.flatnonzero(self.class_labels > 0), np.flatnonzero(self.class_labels < 0)

    @property
    def neuron_class(self) -> Ints:
        """The class whose output a neuron drives most."""
        return np.argmax(np.abs(self.second), axis=0)

    def targets(self, data: Points) -> Ints:
        """The fine labels."""
        return data.cluster

    def margins(self, x: ArrayLike, target: ArrayLike) -> Array:
        """f_y(x) − max over the other classes."""
        return multiclass_margins(self.outputs(x), np.asarray(target))


def multiclass_margins(outputs: Array, target: Ints) -> Array:
    """F_y − max_{j≠y} F_j: (sample,)."""
    own = np.take_along_axis(outputs, target[:, None], axis=1)
    rivals = outputs.copy()
    np.put_along_axis(rivals, target[:, None], -np.inf, axis=1)
    return own[:, 0] - rivals.max(axis=1)


def default_scale(data: Points) -> float:
    """σ_w = 1e-5 · 3072/d: small, so that the first steps choose directions and not sizes (paper, Assumption 3)."""
    return 1e-5 * 3072 / data.dim


def coarse_labels(data: Points) -> Ints:
    """The coarse label of each fine one: (cluster,)."""
    known = getattr(data, "center_labels", None)
    if known is not None:
        return np.asarray(known)
    fine, first = np.unique(data.cluster, return_index=True)
    if not np.array_equal(fine, np.arange(len(fine))):
        raise InputError(f"fine labels must be 0 ... {len(fine) - 1} without gaps, got {fine.tolist()}")
    labels = data.y[first]
    if not np.array_equal(labels[data.cluster], data.y):
        raise InputError("every fine label must belong to one coarse label; some of yours have both")
    return labels


def _check_width(neurons_per_class: int) -> None:
    if neurons_per_class < 1:
        raise InputError(f"neurons_per_class must be at least 1, got {neurons_per_class}")
