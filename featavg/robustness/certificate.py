"""Proofs of lower bounds, and the plain arithmetic that checks them; nothing here is used by the search.

A proof is a tree. A node holds intervals [low, high] of the pre-activations, valid for every fooled point of the node
within the reach, and a sequence of cuts (`relaxation.py`). By weak duality a cut is a half-space {⟨h,δ⟩ + β <= 0} that
holds these points, whatever its multipliers; so they are at least β/‖h‖ away, they lie in the cap that the half-space
takes off the ball, and over that cap the next intervals are computed. A branch splits a node by the sign of one
neuron. What is proved is the least distance over the leaves, and never more than the least reach.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.balls import Ball, ball_of
from featavg.robustness.first_proof import Cut, Emptiness, Node
from featavg.robustness.question import TIE, Question
from featavg.robustness.region import FooledSet, fooled_set

ROUNDING = 1e-15
# Intervals are widened by this share of the terms they are made of.
OUTWARD = 1e-14
# A half-space whose normal is this small, against the terms it sums, holds no point at all.
ENDLESS = 1e-9


@dataclass(frozen=True)
class Scene:
    """Everything that a proof is about, recomputed from the question: axes point, row, neuron."""

    ball: Ball
    start: Array  # (point, neuron)  z0
    magnitude: Array  # (point, neuron)  ‖w‖·‖x‖ + |b|
    rows: Array  # (point, row, neuron)  A
    constants: Array  # (point, row)  c
    tie_weights: Array  # (neuron,)
    tie_constant: float


@dataclass(frozen=True)
class Stage:
    """What the scenes of one question share."""

    question: Question
    fooled: FooledSet
    start: Array  # (sample, neuron)
    magnitude: Array  # (sample, neuron)

    @classmethod
    def of(cls, question: Question) -> Stage:
        """Pre-activations of all points, from the network's own weights."""
        fooled = fooled_set(question)
        neurons = fooled.neurons
        norms = np.linalg.norm(neurons.weights, axis=1)
        magnitude = np.outer(np.linalg.norm(question.x, axis=1), norms) + np.abs(neurons.biases)
        return cls(question, fooled, question.x @ neurons.weights.T + neurons.biases, magnitude)

    def rivals(self, point: int) -> list[int]:
        """Everyone who must be excluded for a lower bound at this point."""
        chosen = self.question.rival
        return self.fooled.rivals(int(self.question.y[point])) if chosen is None else [int(chosen[point])]

    def scene(self, points: Ints, rivals: Ints) -> Scene:
        """The scene of these points and rivals."""
        keys = list(zip(self.question.y[points].tolist(), rivals.tolist(), strict=True))
        table = {key: self.fooled.rows(*key) for key in set(keys)}
        rows, constants = (np.stack([table[key][part] for key in keys]) for part in (0, 1))
        return replace(self.outline(points), rows=rows, constants=constants)

    def outline(self, points: Ints) -> Scene:
        """The scene of these points, still without rows."""
        neurons = self.fooled.neurons
        return Scene(
            ball=ball_of(self.question, neurons.weights, points),
            start=self.start[points],
            magnitude=self.magnitude[points],
            rows=np.zeros((len(points), 0, len(neurons.weights))),
            constants=np.zeros((len(points), 0)),
            tie_weights=neurons.tie_weights,
            tie_constant=neurons.tie_constant,
        )


def tree_distance(scene: Scene, root: Node) -> Array:
    """Walk the tree, carrying intervals and the best distance down and the least distance up: (point,)."""
    least = np.full(len(scene.start), np.inf)
    pending = [(root, np.full(scene.start.shape, -np.inf), np.full(scene.start.shape, np.inf), np.zeros(len(least)))]
    while pending:
        node, low, high, distance = pending.pop()
        for cut in node.cuts:
            ball = cut.reach[:, None] * scene.ball.norms
            low, high = meet(scene, low, high, cut.reach, -ball, ball)
            normal, offset, now = half_space(scene, cut, low, high)
            low, high = meet(scene, low, high, cut.reach, *scene.ball.extent(normal, offset, now, cut.reach))
            distance, least = np.maximum(distance, now), np.minimum(least, cut.reach)
        if node.children:
            below, above = node.children
            zero, j = np.zeros(len(low)), node.neuron
            pending.append((below, low, _with_column(high, j, np.minimum(high[:, j], zero)), distance))
            pending.append((above, _with_column(low, j, np.maximum(low[:, j], zero)), high, distance))
        else:
            empty = (low > high).any(axis=1)
            least = np.where(empty, least, np.minimum(least, distance))
    return least


def _with_column(matrix: Array, column: int, values: Array) -> Array:
    changed = matrix.copy()
    changed[:, column] = values
    return changed


def meet(scene: Scene, low: Array, high: Array, reach: Array, least: Array, most: Array) -> tuple[Array, Array]:
    """Intersect the intervals with z0 + [least, most], rounded outward."""
    slack = OUTWARD * (scene.magnitude + reach[:, None] * scene.ball.norms)
    return np.maximum(low, scene.start + least - slack), np.minimum(high, scene.start + most + slack)


def half_space(scene: Scene, cut: Cut, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Normal h (point, coordinate), offset β and distance (point,) of a cut; its multipliers are made valid first."""
    on, off = low >= 0, (high <= 0) & (low < 0)
    between = ~(on | off)
    slope = np.where(between, high / np.where(between, high - low, 1.0), 0.0)
    rows = np.maximum(cut.rows, 0.0)
    plus = np.einsum("pm,pmj->pj", rows, np.maximum(scene.rows, 0.0))
    minus = np.einsum("pm,pmj->pj", rows, np.maximum(-scene.rows, 0.0))
    most = np.where(on, plus - minus, np.where(off, np.inf, plus - minus * slope))
    least = np.where(on, -np.inf, np.where(off, 0.0, -minus * slope))
    theta = np.clip(cut.slopes, least, most)
    lift = np.where(between, -low * slope, 0.0)
    tie = TIE * (np.maximum(high, 0.0) @ scene.tie_weights + scene.tie_constant)
    terms = [theta * scene.start, rows * scene.constants, -minus * lift, -rows * tie[:, None]]
    offset = sum(term.sum(axis=1) for term in terms)
    offset -= ROUNDING * (np.abs(theta) * scene.magnitude).sum(axis=1)
    offset -= ROUNDING * sum(np.abs(term).sum(axis=1) for term in terms[1:])
    normal = theta @ scene.ball.weights
    return normal, offset, scene.ball.distance(normal, offset, ROUNDING * np.abs(theta) @ scene.ball.norms)


def empty_distance(scene: Scene, proof: Emptiness) -> Array:
    """∞ where every subset has a cut that recedes beyond all size of the problem, else 0: (point,)."""
    subtracted = np.flatnonzero((scene.rows < 0).any(axis=(0, 1)))
    if len(proof.cuts) != 2 ** len(subtracted):
        return np.zeros(len(scene.start))
    endless = np.ones(len(scene.start), dtype=bool)
    for subset, cut in enumerate(proof.cuts):
        chosen = np.zeros(scene.start.shape[1], dtype=bool)
        chosen[subtracted] = (subset >> np.arange(len(subtracted))) & 1 == 1
        endless &= _recedes(scene, cut, chosen)
    return np.where(endless, np.inf, 0.0)


def _recedes(scene: Scene, cut: Cut, chosen: Bools) -> Bools:
    """Whether a cut, with the chosen neurons' negative coefficients linear and the others' 0, is endlessly far away."""
    rows = np.maximum(cut.rows, 0.0)
    plus = np.einsum("pm,pmj->pj", rows, np.maximum(scene.rows, 0.0))
    minus = np.einsum("pm,pmj->pj", rows, np.maximum(-scene.rows, 0.0)) * chosen
    theta = np.clip(cut.slopes, -minus, plus - minus)
    terms = np.einsum("pmj,pj->pm", np.abs(scene.rows), scene.magnitude) + np.abs(scene.constants)
    steepest = (np.abs(scene.rows) @ np.linalg.norm(scene.ball.weights, axis=1)).max(axis=1)
    offset = (theta * scene.start).sum(axis=1) + (rows * scene.constants).sum(axis=1)
    offset -= ROUNDING * (rows * terms).sum(axis=1)
    length = np.linalg.norm(theta @ scene.ball.weights, axis=1)
    return (offset > 0) & (length * terms.max(axis=1) <= ENDLESS * offset * steepest)
