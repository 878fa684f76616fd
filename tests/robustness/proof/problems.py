"""Small random problems of every kind, and the truth about them from rays: a radius that no valid bound may exceed."""

from __future__ import annotations

import numpy as np

from featavg.robustness.proof.format import Decision, Neurons, Problem
from featavg.robustness.proof.regions import rivals, rows

KINDS = ("sign", "argmax", "maximum", "logits", "probabilities")


def random_problem(rng: np.random.Generator, kind: str, norm: str, box: str, points: int = 2) -> Problem:
    """Two features at most, five neurons at most; box is none, both or one-sided."""
    axes, neurons = int(rng.integers(1, 3)), int(rng.integers(1, 6))
    outputs = 1 if kind == "sign" else int(rng.integers(2, 5))
    class_of = np.arange(outputs) % 2
    layer = Neurons(
        rng.normal(size=(neurons, axes)),
        rng.normal(size=neurons),
        rng.normal(size=(outputs, neurons)),
        rng.normal(size=outputs) * rng.choice([0.0, 0.3, 1.0]),
    )
    x = rng.normal(size=(points, axes)) * 2.0
    known = [-1, 1] if kind == "sign" else list(range(outputs)) if kind == "argmax" else [0, 1]
    unboxed = Problem(layer, x, np.zeros(points, dtype=np.int64), Decision(kind, class_of), norm)
    labels = np.array(known)[np.argmax([margins(unboxed, label, x) for label in known], axis=0)]
    low = high = None
    if box != "none":
        low, high = x.min(axis=0) - rng.uniform(0, 1, axes), x.max(axis=0) + rng.uniform(0, 1, axes)
        if box == "one-sided":
            high[rng.random(axes) < 0.7] = np.inf
            low[rng.random(axes) < 0.3] = -np.inf
    return unboxed._replace(labels=labels.astype(np.int64), low=low, high=high)


def outputs_at(problem: Problem, points: np.ndarray) -> np.ndarray:
    weights, biases, second, constants = problem.neurons
    return np.maximum(points @ weights.T + biases, 0.0) @ second.T + constants


def margins(problem: Problem, label: int, points: np.ndarray) -> np.ndarray:
    """Fooled where <= 0: the least, over the rivals, of the largest row."""
    f = outputs_at(problem, points)
    result = np.full(len(points), np.inf)
    for rival in rivals(problem.decision, label, f.shape[1]).tolist():
        signs = rows(problem.decision, label, rival, f.shape[1])
        if problem.decision.kind == "probabilities":
            own, other = f[:, signs[0] > 0], f[:, signs[0] < 0]
            margin = np.logaddexp.reduce(own, axis=1) - np.logaddexp.reduce(other, axis=1)
        else:
            margin = (f @ signs.T).max(axis=1)
        result = np.minimum(result, margin)
    return result


def radius_on_rays(problem: Problem, point: int, rays: int = 360, steps: int = 100, reach: float = 30.0) -> float:
    """A distance at which some point is fooled, in floats, the least over many rays; ∞ if none within reach is."""
    x, label = problem.x[point], int(problem.labels[point])
    angles = np.linspace(0.0, 2.0 * np.pi, rays, endpoint=False)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1) if len(x) == 2 else np.array([[1.0], [-1.0]])
    if problem.norm == "linf":
        directions /= np.abs(directions).max(axis=1, keepdims=True)
    kinks = -(problem.neurons.weights @ x + problem.neurons.biases)[:, None] / (problem.neurons.weights @ directions.T)
    spaced = np.geomspace(1e-3, reach, steps)[:, None].repeat(len(directions), 1)
    lengths = np.concatenate([spaced, np.abs(kinks), np.zeros((1, len(directions)))])
    lengths = np.sort(np.where(np.isfinite(lengths), lengths, 0.0), axis=0)
    if problem.low is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(directions > 0, (problem.high - x) / directions, (problem.low - x) / directions)
        exit_at = np.where(directions == 0, np.inf, room).min(axis=1)
        lengths = np.minimum(lengths, np.maximum(exit_at, 0.0) * (1 - 1e-12))
    values = margins(problem, label, (x + lengths[..., None] * directions).reshape(-1, len(x))).reshape(lengths.shape)
    hit = (values <= 0.0).argmax(axis=0)
    rays_hit = np.flatnonzero((values <= 0.0).any(axis=0))
    if not len(rays_hit):
        return np.inf
    hit, directions = hit[rays_hit], directions[rays_hit]
    high = lengths[hit, rays_hit]
    low = np.where(hit > 0, lengths[hit - 1, rays_hit], 0.0)
    for _ in range(50):
        middle = 0.5 * (low + high)
        fooled = margins(problem, label, x + middle[:, None] * directions) <= 0.0
        low, high = np.where(fooled, low, middle), np.where(fooled, middle, high)
    return float(high.min())
