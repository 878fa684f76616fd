"""Which points are held out, and what a network is worth on them: accuracy, and a cheap estimate of its robustness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.refine.descent import Frame, State

NEWTON_STEPS = 8
MOST_POINTS = 500  # whose distances are walked
SHARE = 0.2  # of the points is held out
LEAST = 20  # classes with fewer points are too small to be split: trials are judged where they were trained
MOST_TRAINED = 10_000  # points that trials are trained on; the chosen one is trained on all
MOST_JUDGED = 5_000
ENOUGH_JUDGED = 2_000  # so many leave half a point of error on the difference of two accuracies


class Worth(NamedTuple):
    """Weighted means over held-out points, and the points themselves."""

    accuracy: float
    radius: float  # mean Newton distance, which is the area under the curve of robust accuracy; 0 for errors
    right: Bools  # (sample,)  which points are classified rightly


class Parts(NamedTuple):
    """Points to train on and points to judge by, in the frame of the first."""

    frame: Frame
    x: Array  # (fitted, axis)
    codes: Ints  # (fitted,)
    weights: Array  # (fitted,)
    held: Array  # (judged, axis)
    held_codes: Ints  # (judged,)
    held_weights: Array  # (judged,)

    @classmethod
    def of(cls, x: Array, codes: Ints, weights: Array, fitted: Ints, judged: Ints) -> Parts:
        """The rows to train on and the rows to judge by."""
        frame = Frame.of(x[fitted], weights[fitted])
        inside, held = frame.inside(x[fitted]), frame.inside(x[judged])
        return cls(frame, inside, codes[fitted], weights[fitted], held, codes[judged], weights[judged])

    def judge(self, state: State, class_of: Ints) -> Worth:
        """What a state is worth on the held-out points; its radius in the units of the data."""
        worth = measure(state, class_of, self.held, self.held_codes, self.held_weights)
        return worth._replace(radius=worth.radius * self.frame.size)


def folds(codes: Ints, weights: Array, seed: int, least: int = 1) -> list[tuple[Ints, Ints]]:
    """Pairs of rows to train on and rows to judge by, a fifth of every class; all for both where a class is small.

    One fifth where that is enough points to judge by, and up to all five in turn where it is not. Of very many rows
    some are taken, if they hold at least `least` points of every class.
    """
    everyone = np.arange(len(codes))
    if np.bincount(codes, weights).min() < LEAST or np.bincount(codes).min() < 2 / SHARE:
        return [(everyone, everyone)]
    order = np.random.default_rng(seed).permutation(everyone)
    fold = np.empty(len(codes), dtype=np.int64)
    for c in np.unique(codes):
        own = order[codes[order] == c]
        fold[own] = np.floor((np.arange(len(own)) + 0.5) / (len(own) * SHARE))
    turns = int(np.clip(np.ceil(ENOUGH_JUDGED / (SHARE * len(codes))), 1, round(1 / SHARE)))
    ranked = fold[order]
    return [
        (np.sort(_some(order[ranked != turn], codes, MOST_TRAINED, least)),
         _some(order[ranked == turn], codes, MOST_JUDGED, 1))
        for turn in range(turns)
    ]  # fmt: skip


def _some(rows: Ints, codes: Ints, most: int, least: int) -> Ints:
    """The first `most` rows, all of them if a class would keep fewer than `least` points."""
    kept = np.bincount(codes[rows[:most]], minlength=int(codes.max()) + 1)
    return rows[:most] if kept.min() >= least else rows


def measure(state: State, class_of: Ints, x: Array, codes: Ints, weights: Array) -> Worth:
    """Return the worth of a state of training whose output j speaks for coarse class `class_of[j]`.

    x (sample, axis) lies in the frame of training, and so does the radius.
    """
    shares = weights / weights.sum()
    own = codes[:, None] == class_of
    right = coarse_margins(state.outputs(x), own, class_of) > 0
    few = slice(0, MOST_POINTS)
    distance = newton_distances(state, own[few], x[few])
    return Worth(float(shares @ right), float(shares[few] @ distance / shares[few].sum()), right)


def pool(worths: Sequence[Worth], weights: Array) -> Worth:
    """The worth of one kind of network trained on several folds, on all their held-out points; weights (sample,)."""
    right = np.concatenate([worth.right for worth in worths])
    return Worth(float(weights @ right / weights.sum()), float(np.mean([worth.radius for worth in worths])), right)


def coarse_margins(outputs: Array, own: Bools, class_of: Ints) -> Array:
    """log Σ_own exp f − the largest log Σ exp f of another class: (sample,), positive where the decision is right."""
    rivals = [np.where(own[:, class_of == c].any(axis=1), -np.inf, _pool(outputs[:, class_of == c]))
              for c in np.unique(class_of)]  # fmt: skip
    return _pool(np.where(own, outputs, -np.inf)) - np.max(rivals, axis=0)


def newton_distances(state: State, own: Bools, x: Array) -> Array:
    """Length of a Newton walk to where the own class holds half of the probability: (sample,), 0 for errors.

    δ ← −(m − ⟨g,δ⟩)/‖g‖² g, the nearest point of the boundary linearised at δ, with m = log Σ_own exp f − log Σ_others
    exp f and its gradient g. Fixed points are perpendicular to the boundary, as the nearest point of it is. With more
    than two classes half of the probability is lost before the decision is, so there the walk ends early.
    """
    delta, wrong = np.zeros_like(x), np.zeros(len(x), dtype=bool)
    for step in range(NEWTON_STEPS):
        z = (x + delta) @ state.weights.T + state.biases
        outputs = np.maximum(z, 0.0) @ state.second.T
        (mine, up), (theirs, down) = (_soft(np.where(side, outputs, -np.inf)) for side in (own, ~own))
        gradient = (((up - down) @ state.second) * (z >= 0)) @ state.weights
        if step == 0:
            wrong = mine <= theirs
        steep = np.maximum((gradient**2).sum(axis=1), np.finfo(np.float32).tiny)
        level = mine - theirs - (gradient * delta).sum(axis=1)
        delta = -(level / steep)[:, None] * gradient
    return np.where(wrong, 0.0, np.linalg.norm(delta, axis=1))


def _pool(votes: Array) -> Array:
    return _soft(votes)[0]


def _soft(votes: Array) -> tuple[Array, Array]:
    """Logsumexp over the last axis and its softmax shares; −∞ is no vote, and a row without votes has −∞."""
    top = np.maximum(votes.max(axis=1, keepdims=True), -1e30)
    shares = np.exp(votes - top)
    total = shares.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return (top + np.log(total))[:, 0], shares / np.where(total > 0, total, 1.0)
