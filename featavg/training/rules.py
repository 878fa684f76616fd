"""Step rules: how far to go at each step, and when to stop. What is stepped on is `train`'s business."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.training.losses import LossName


@dataclass(frozen=True)
class Rule:
    """What all rules share."""

    loss: LossName | None = None  # the network's own: logistic for one output, cross-entropy for several
    train_biases: bool | None = None  # as in the paper: yes for BinaryNetwork, no for MulticlassNetwork


@dataclass(frozen=True, kw_only=True)
class GradientDescent(Rule):
    """θ ← θ − η ∇loss, over all points at once or, with `batch_size`, over a fresh random batch each step.

    The default step size 3.072/dim is the paper's 1e-3 at d = 3072 and holds η·dim fixed elsewhere.
    """

    steps: int = 100
    step_size: float | None = None
    batch_size: int | None = None
    batch_seed: int = 0

    def __post_init__(self) -> None:
        check_positive("steps", self.steps)
        check_positive("step_size", self.step_size)
        check_positive("batch_size", self.batch_size)

    def eta(self, data: Dataset) -> float:
        """η for this data."""
        return 3.072 / data.dim if self.step_size is None else self.step_size


@dataclass(frozen=True, kw_only=True)
class GradientFlow(Rule):
    """dθ/dt = −∇loss up to `time` = Σ η, by Euler steps short enough that max|ΔZ| <= `accuracy` · mean|Z|.

    Halve `accuracy` to see how far the answer is from the flow: the error is of first order in it.
    """

    time: float
    accuracy: float = 0.02
    most_steps: int = 100_000

    def __post_init__(self) -> None:
        check_positive("time", self.time)
        check_positive("accuracy", self.accuracy)
        check_positive("most_steps", self.most_steps)


@dataclass(frozen=True, kw_only=True)
class Adam(Rule):
    """Adam (Kingma & Ba 2015), which looks at single coordinates and so has a meaning in ambient ones only."""

    steps: int = 100
    step_size: float = 1e-3
    decay: tuple[float, float] = (0.9, 0.999)
    batch_size: int | None = None
    batch_seed: int = 0

    def __post_init__(self) -> None:
        check_positive("steps", self.steps)
        check_positive("step_size", self.step_size)
        check_positive("batch_size", self.batch_size)


class AdamMemory:
    """The running moments of Adam, with the usual correction for their start at zero."""

    def __init__(self, rule: Adam) -> None:
        self.rule = rule
        self.count = 0
        self.first: list[Array | float] = [0.0, 0.0]
        self.second: list[Array | float] = [0.0, 0.0]

    def steps(self, gradients: tuple[Array, Array]) -> tuple[Array, Array]:
        """m̂ / (√v̂ + 1e-8) for weights and biases."""
        slow, fast = self.rule.decay
        self.count += 1
        made = []
        for i, gradient in enumerate(gradients):
            self.first[i] = slow * self.first[i] + (1 - slow) * gradient
            self.second[i] = fast * self.second[i] + (1 - fast) * gradient**2
            mean, square = self.first[i] / (1 - slow**self.count), self.second[i] / (1 - fast**self.count)
            made.append(mean / (np.sqrt(square) + 1e-8))
        return made[0], made[1]


def check_positive(name: str, value: float | None) -> None:
    """Refuse a rule's number that is not positive."""
    if value is not None and not (np.isfinite(value) and value > 0):
        raise InputError(f"{name} must be positive, got {value}")
