"""How many points one common direction flips, against a random direction and an attack made for each point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array, Ints
from featavg.intervals import bootstrap_ratio
from featavg.refine.decision import Decision

RADII = 41
RANDOM_DIRECTIONS = 8


@dataclass(frozen=True)
class Flips:
    """Shares of points that are misclassified after a perturbation of each size."""

    radii: Array  # (radius,)
    universal: Array  # (radius,)  −size · v_y, with v_y the average of the own sub-classes minus that of the others
    chance: Array  # (radius,)  size · a random direction, mean over several
    attack: Array  # (radius,)  a Newton walk for each point: a lower bound of what is possible
    ratio: float  # median radius of the universal direction over that of the attack; a lower bound if it is the largest
    ratio_interval: tuple[float, float]  # 95 %, bootstrap over points


def common_direction(decision: Decision, rows: Ints, attack: Array, centers: Array, class_of: Ints, seed: int) -> Flips:
    """Measure at `rows`, whose radii under attack are known, with centred sub-class means (subclass, feature)."""
    rng = np.random.default_rng(seed)
    right = attack[(attack > 0) & np.isfinite(attack)]
    reach = 4.0 * float(np.median(right)) if len(right) else 1.0
    radii = np.linspace(0.0, reach, RADII)
    x, codes = decision.data.x[rows], decision.codes[rows]
    toward = _toward(centers, class_of, len(decision.data.labels.names))[codes]
    fooled = np.stack([decision.predict(x - size * toward) != codes for size in radii])
    noise = rng.standard_normal((RANDOM_DIRECTIONS, x.shape[1]))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    chance = [np.mean([np.mean(decision.predict(x + size * one) != codes) for one in noise]) for size in radii]
    # Where the direction never flips a point, its radius is at least the largest that was tried.
    first = np.where(fooled.any(axis=0), radii[fooled.argmax(axis=0)], reach)
    pairs = first[attack > 0], attack[attack > 0]
    ratio, interval = bootstrap_ratio(*pairs, np.median, rng) if len(right) else (float("nan"), (float("nan"),) * 2)
    return Flips(
        radii, fooled.mean(axis=1), np.array(chance), np.mean(attack <= radii[:, None], axis=1), ratio, interval
    )  # fmt: skip


def _toward(centers: Array, class_of: Ints, classes: int) -> Array:
    """v_c of norm 1, from the average of the other classes to that of class c: (class, feature)."""
    average = np.stack([centers[class_of == c].mean(axis=0) for c in range(classes)])
    others = (average.sum(axis=0) - average) / (classes - 1)
    away = average - others
    return np.asarray(away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-300))
