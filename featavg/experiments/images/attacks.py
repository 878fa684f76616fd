"""Attacks on a pair of image networks, each an upper bound of the radius, and pictures of what they find."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax

from featavg.arrays import Array, Ints
from featavg.experiments.images.gaps import NETWORKS
from featavg.robustness import (
    PGD,
    Attack,
    BoundaryWalk,
    MinimalNorm,
    RadiusBracket,
    Transfer,
    UniversalDirection,
    best_of,
    field_of,
    norm_of,
)

if TYPE_CHECKING:
    from featavg.deep import DeepQuestion
    from featavg.experiments.images.pairs import Images, ImageSetting

ATTACKS = ("minimal_norm", "pgd", "transfer", "boundary_walk", "feature_direction", "best")
CONTROL_RADII = 9  # evenly spread up to the largest radius
EXAMPLES = 4


def battery(
    config: ImageSetting, questions: Mapping[str, DeepQuestion], reference: Images
) -> dict[str, dict[str, RadiusBracket]]:
    """Every attack on both networks at the same points; `best` is the smallest upper bound point by point."""
    from featavg.deep import as_rows, feature_directions

    minimal = {kind: MinimalNorm(steps=config.steps).on(question) for kind, question in questions.items()}
    found = {}
    for kind, other in zip(NETWORKS, reversed(NETWORKS), strict=True):
        directions = feature_directions(questions[kind], reference.x, reference.y)
        attacks: dict[str, Attack] = {
            "pgd": PGD(radii=config.ball_radii, steps=config.ball_steps, restarts=1, shorten=False),
            "transfer": Transfer(source=minimal[other]),
            "boundary_walk": BoundaryWalk(start=as_rows(reference.x), starts=1, steps=40),
            "feature_direction": UniversalDirection(direction=directions),
        }
        own = {"minimal_norm": minimal[kind]}
        own |= {name: attack.on(questions[kind]) for name, attack in attacks.items()}
        found[kind] = own | {"best": best_of(**own)}
    return found


def minimal_radii(config: ImageSetting, question: DeepQuestion) -> Array:
    """The upper bounds of the minimal-norm attack alone: (sample,)."""
    return MinimalNorm(steps=config.steps).on(question).upper


def control_radii(config: ImageSetting) -> Array:
    """The radii of the control: (radius,)."""
    return np.linspace(0.0, config.reach, CONTROL_RADII + 1)[1:]


def control(config: ImageSetting, question: DeepQuestion, classes: Ints) -> Array:
    """The faulty attack of the public reproduction: PGD on 10-way cross-entropy, scored on the binary decision.

    δ ← project(δ + 2.5·radius/steps · steepest(∇ CE(F(x + δ), class)), radius) from a random start; what counts is
    whether the last point fools. Returns for each point the smallest of the tried radii at which it does, ∞ if none.
    """

    def uphill(outputs: Array, rows: slice) -> Array:
        """∂CE/∂F = softmax(F) − e_class."""
        return softmax(outputs, axis=1) - np.eye(outputs.shape[1])[classes[rows]]

    field, norm = field_of(question), norm_of(question.norm)
    upper = np.where(question.fooled(question.x), 0.0, np.inf)
    for radius in control_radii(config).tolist():
        delta = field.random(np.random.default_rng(0), radius)
        for _ in range(config.ball_steps):
            _, gradient = question.pull_back(field.points(delta), uphill)
            step = 2.5 * radius / config.ball_steps * norm.steepest(gradient)
            delta = field.inside(norm.project(delta + step, radius))
        fooled = question.fooled(field.points(delta))
        upper = np.where(fooled, np.minimum(upper, radius), upper)
    return upper


def example_images(best: Mapping[str, RadiusBracket]) -> Array:
    """Original, then perturbation and result for each network: (example, 5, height, width, channel) in [0, 1].

    The examples are the first points that both networks have right; perturbations of one row share their scale, grey
    is no change and the largest change is black or white.
    """
    coarse = best["coarse"]
    shape = coarse.question.shape  # type: ignore[attr-defined]
    x = coarse.question.x
    shown = np.all([(found.upper > 0) & np.isfinite(found.upper) for found in best.values()], axis=0)
    rows = np.flatnonzero(shown)[:EXAMPLES]
    deltas = [found.witness[rows] - x[rows] for found in best.values()]
    largest = np.max(np.abs(deltas), axis=(0, 2))[:, None]
    columns = [x[rows]]
    for delta in deltas:
        columns += [_amplified(delta, largest), x[rows] + delta]
    return np.stack([_pictures(column, shape) for column in columns], axis=1).clip(0.0, 1.0)


def universal_images(questions: Mapping[str, DeepQuestion], reference: Images) -> Array:
    """Where `feature direction` moves all points of a label: (network, label, height, width, channel) in [0, 1].

    Labels are −1 and +1; grey is no change, the largest change is black or white.
    """
    from featavg.deep import feature_directions

    rows = []
    for question in questions.values():
        steps = -feature_directions(question, reference.x, reference.y)
        rows.append(_pictures(_amplified(steps, np.abs(steps).max(axis=1, keepdims=True)), question.shape))
    return np.stack(rows)


def _amplified(delta: Array, largest: Array) -> Array:
    """Changes (image, axis) as pixels: grey is none, ± the largest is white or black."""
    return 0.5 + 0.5 * delta / np.maximum(largest, 1e-12)


def _pictures(flat: Array, shape: Any) -> Array:
    """Flat channel-first images as (image, height, width, channel)."""
    return np.moveaxis(flat.reshape(-1, *shape), 1, -1)
