"""Sums of powers of ReLU: values, slopes, how far two of them are apart on the sphere, and attacks on their sign."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints
from featavg.model import Network, Readout, Sign
from featavg.robustness import Attack, Field, Found, MinimalNorm, NewtonWalk, Norm, RadiusBracket, best_of, shrink


@dataclass(frozen=True, eq=False)
class Powers:
    """f(x) = Σ_r a_r ReLU(⟨u_r, x⟩)^p with unit u_r.

    >>> Powers(np.eye(2), np.array([1.0, -1.0]), 3)(np.array([[2.0, 1.0]]))
    array([7.])
    """

    directions: Array  # (neuron, axis)
    sizes: Array  # (neuron,)  a
    power: int

    @classmethod
    def of(cls, network: Network) -> Powers:
        """A network of normalised powers: v ReLU(⟨w, x⟩)^p/‖w‖^(p−1) = v‖w‖ ReLU(⟨w/‖w‖, x⟩)^p."""
        lengths = np.linalg.norm(network.weights, axis=1)
        return cls(network.weights / lengths[:, None], network.second[0] * lengths, network.activation.power)

    def __call__(self, x: ArrayLike) -> Array:
        """f (sample,)."""
        return np.maximum(np.asarray(x) @ self.directions.T, 0) ** self.power @ self.sizes

    def slope(self, x: ArrayLike) -> Array:
        """∇f (sample, axis)."""
        z = np.asarray(x) @ self.directions.T
        on = np.where(z > 0, self.power * np.maximum(z, 0) ** (self.power - 1), 0.0)
        return (on * self.sizes) @ self.directions


def farthest(one: Powers, other: Powers, starts: Array, steps: int) -> float:
    """The largest |f − g| met on the sphere by normalised gradient ascent from unit `starts` (sample, axis)."""
    x, largest = starts, 0.0
    for step in range(steps):
        gap = one(x) - other(x)
        largest = max(largest, float(np.abs(gap).max()))
        uphill = np.sign(gap)[:, None] * (one.slope(x) - other.slope(x))
        size = np.linalg.norm(uphill, axis=1, keepdims=True)
        # From steps of a fifth down to a thousandth of the radius, the same share less every time.
        x = x + 0.2 * 0.005 ** (step / steps) * uphill / np.where(size > 0, size, 1.0)
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return largest


@dataclass(frozen=True, eq=False)
class PowersQuestion:
    """How far is the nearest point at which the sign of f is not y? What every attack asks; nothing is proved of it."""

    function: Powers
    x: Array  # (sample, axis)
    y: Ints  # (sample,)  −1 or +1
    norm: Norm = "l2"
    box: None = None
    precision: str = "float64"
    readout: Readout = field(default_factory=Sign)

    def margins(self, points: ArrayLike) -> Array:
        """y f: (sample,)."""
        return np.asarray(self.y * self.function(points))

    def slopes(self, points: ArrayLike) -> tuple[Array, Array]:
        """y f (sample,) and its gradient (sample, axis)."""
        return self.margins(points), self.y[:, None] * self.function.slope(points)

    def fooled(self, points: ArrayLike) -> Bools:
        """Whether y f <= 0: (sample,)."""
        return self.margins(points) <= 0

    def distances(self, points: ArrayLike) -> Array:
        """‖point − x‖: (sample,)."""
        return np.asarray(np.linalg.norm(np.asarray(points) - self.x, axis=1))

    def part(self, chosen: Any) -> PowersQuestion:
        """The same at some of the points."""
        return replace(self, x=self.x[chosen], y=self.y[chosen])

    def same_as(self, other: Any) -> bool:
        """Whether both are this very function at the same points."""
        same = isinstance(other, PowersQuestion) and self.function is other.function
        return same and np.array_equal(self.x, other.x) and np.array_equal(self.y, other.y)

    def problem(self) -> None:
        """There is no checker for powers."""


@dataclass(frozen=True, kw_only=True)
class TowardsPoints(Attack):
    """Minimal-norm descent from beyond the middle of the way to each of some points.

    Where a neuron that is off at x has no slope, a descent from x never finds it.
    """

    name: ClassVar[str] = "towards points"
    points: Array  # (target, axis)
    steps: int = 60

    def search(self, field: Field) -> Found:
        """The shortest over all targets."""
        best = field.nothing
        for point in self.points:
            best = shrink(field, 0.6 * (point - field.x), best, self.steps)[0]
        return Found(field.shorter(best, field.first_along(best)))


def attacked(function: Powers, x: Array, y: Ints, targets: Array) -> RadiusBracket:
    """The best of three attacks on sign f, an upper bound of the radius."""
    question = PowersQuestion(function, x, y)
    attacks = (MinimalNorm(restarts=1), NewtonWalk(), TowardsPoints(points=targets))
    return best_of(*(attack.on(question) for attack in attacks))
