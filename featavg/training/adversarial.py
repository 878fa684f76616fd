"""Adversarial training: every batch is moved to where its loss is high before the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from featavg.arrays import Array, Ints
from featavg.errors import InputError
from featavg.training.iterate import Iterate
from featavg.training.rules import check_positive


@dataclass(frozen=True)
class WorstInBall:
    """Projected gradient ascent on the loss (Madry et al. 2018), to be given to `train` as `perturb=`.

        δ ← project(δ + 2.5·radius/steps · steepest(∇_x L(x + δ)), radius)

    from δ = 0 and from `restarts` random points of the sphere; of the ends that with the smallest margin is taken. It
    is an attack: what a network so trained withstands is told by `robust_radius`, never by this.

    >>> from featavg import BinaryNetwork, GradientDescent, sample_clusters, train
    >>> data = sample_clusters(clusters=4, dim=400, samples=40, seed=0)
    >>> start = BinaryNetwork.random(data, neurons_per_class=2, seed=1)
    >>> train(start, data, GradientDescent(steps=20), perturb=WorstInBall(5.0)).status
    'finished'
    """

    radius: float
    steps: int = 10
    restarts: int = 0
    norm: Literal["l2", "linf"] = "l2"
    box: tuple[float, float] | None = None  # lowest and highest value of a moved point
    still: int = 0  # so many last coordinates never move, as a constant that biases are the weights of
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive("radius", self.radius)
        check_positive("steps", self.steps)
        if self.norm not in ("l2", "linf"):
            raise InputError(f"norm must be l2 or linf, got {self.norm!r}")
        if self.restarts < 0:
            raise InputError(f"restarts must not be negative, got {self.restarts}")

    def __call__(self, at: Iterate, rows: Ints | None) -> Array:
        """x + δ at the points of a batch: (..., row, axis)."""
        x = at.problem.first.x
        if self.norm != "l2" and at.dim != x.shape[-1]:
            raise InputError('ℓ∞ has no meaning in compact coordinates; sample with coordinates="ambient"')
        points = x if rows is None else x[..., rows, :]
        best = self._climb(at, rows, points, np.zeros_like(points))
        for delta in self._starts(at, points):
            other = self._climb(at, rows, points, delta)
            worse = at.on(rows, other).margins < at.on(rows, best).margins
            best = np.where(worse[..., None], other, best)
        return best

    def _climb(self, at: Iterate, rows: Ints | None, points: Array, delta: Array) -> Array:
        stride = points.dtype.type(2.5 * self.radius / self.steps)
        for _ in range(self.steps):
            gradient = at.on(rows, points + delta).input_gradient
            if self.still:
                gradient[..., -self.still :] = 0
            delta = self._inside(delta + self._steepest(stride, gradient))
            if self.box is not None:
                delta = np.clip(points + delta, *self.box) - points
        return points + delta

    def _steepest(self, stride: np.floating[Any], gradient: Array) -> Array:
        """The step of length `stride` along which the loss rises most; 0 where it is flat."""
        if self.norm == "linf":
            return stride * np.sign(gradient)
        step: Array = stride * gradient
        return step / np.maximum(_lengths(gradient), np.finfo(gradient.dtype).tiny)

    def _inside(self, delta: Array) -> Array:
        """The nearest point of the ball."""
        radius = delta.dtype.type(self.radius)
        if self.norm == "linf":
            return np.clip(delta, -radius, radius)
        return delta * np.minimum(delta.dtype.type(1.0), radius / np.maximum(_lengths(delta), delta.dtype.type(1e-30)))

    def _starts(self, at: Iterate, points: Array) -> list[Array]:
        """Random δ of full length; the same for every run of a stack, others at every time."""
        rng = np.random.default_rng([self.seed, int(np.float64(at.time).view(np.uint64))])
        found = []
        for _ in range(self.restarts):
            drawn = rng.standard_normal(points.shape[-2:]).astype(points.dtype)
            if self.still:
                drawn[:, -self.still :] = 0
            delta = self._inside(self._steepest(points.dtype.type(self.radius), drawn))
            delta = np.broadcast_to(delta, points.shape)
            found.append(delta if self.box is None else np.clip(points + delta, *self.box) - points)
        return found


def _lengths(vectors: Array) -> Array:
    return np.sqrt(np.einsum("...a,...a->...", vectors, vectors))[..., None]
