"""What a network is worth on points it was not trained on: accuracy, and a cheap estimate of its robustness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.refine.descent import State

NEWTON_STEPS = 8
MOST_POINTS = 500


class Worth(NamedTuple):
    """Weighted means over held-out points, and the points themselves."""

    accuracy: float
    radius: float  # mean Newton distance, which is the area under the curve of robust accuracy; 0 for errors
    right: Bools  # (sample,)  which points are classified rightly


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
