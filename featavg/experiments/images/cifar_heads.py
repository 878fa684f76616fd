"""CIFAR-10 halves, heads on one frozen backbone attacked in pixels: do fine labels bring the published gain?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from featavg.arrays import Array
from featavg.experiments import Expect, Quantity
from featavg.experiments.images import heads
from featavg.experiments.images.gaps import NETWORKS, gain_claims, gains, gap, log_ratios, median_radius, standing
from featavg.experiments.images.heads import HeadSetting, Sample
from featavg.model import Network
from featavg.progress import Progress
from featavg.record import Column, Drawing, Table
from featavg.robustness import BoundaryWalk, MinimalNorm

if TYPE_CHECKING:
    from torch import nn

    from featavg.deep import DeepQuestion

COST = ("long", 1800)
NEEDS = ("cifar10",)
prepare = heads.backbone_of_cifar
SOURCE = "Fig. 3 right, on heads"
READOUT = "summed-probabilities"
CANDIDATES = 200  # images from which walks without gradients may start
HOW = "minimal-norm attack in pixels on the binary decision, upper bounds; the fine head by summed probabilities"
COORDS = {"network": NETWORKS, "moment": lambda config: config.moments}
COLUMNS = {
    "clean": Quantity("accuracy of the binary decision on the test images of the seed", ("network", "moment")),
    "upper": Quantity(f"ℓ2 radius at the end of training; {HOW}", ("network", "point")),
    "matched_upper": Quantity(
        f"the same, the head that ends more accurate taken back to the other's accuracy; {HOW}", ("network", "point")
    ),
    "matched_left": "difference of accuracy that is left then, fine − coarse",
    "free": Quantity(
        "ℓ2 radius by a boundary walk that sees decisions alone, an upper bound", ("network", "free_point")
    ),
    "free_shorter": Quantity(
        "share of points, of both heads, at which decisions alone lead to a shorter perturbation than gradients do",
        points=lambda config: 2 * config.free_points,
    ),
}
CLAIMS = [
    *gain_claims(SOURCE, "On one frozen backbone"),
    Expect("matched_left", "The matched heads are equally accurate.", "the match itself", expected=0.0, tolerance=0.01,
           because="a point: the moments of training that are kept lie about that far apart in accuracy"),
    Expect("free_shorter", "Gradients are not masked: a walk without them is shorter nowhere.",
           "sanity of attacks (Carlini et al. 2019)", expected=0.0, tolerance=0.05, relation="at most",
           because="one point in twenty: attacks of so few steps are not to the last digit"),
    Expect("free_difference", "A walk without gradients sees the same ratio of fine to coarse radii.",
           "sanity of attacks (Carlini et al. 2019)", expected=0.0, tolerance=0.3,
           because="such walks end several times too far out, for both heads alike but for some thirty per cent"),
]  # fmt: skip
DRAWINGS = [
    Drawing("curves", {"x": "radius", "y": name}, band=0.95, within=(0.0, 1.0),
            caption=f"Robust accuracy of the coarse decision {when}, an upper bound; {HOW}. Bands are 95 % intervals "
            "over seeds.",
            options={"labels": ["coarse head", "fine head"], "x_label": "ℓ2 radius in pixels of [0, 1]",
                     "y_label": "robust accuracy (upper bound)"})
    for name, when in (("standing", "at the end of training"), ("matched_standing", "at equal clean accuracy"))
]  # fmt: skip


@dataclass(frozen=True)
class Config(HeadSetting):
    """Many seeds of few points: heads differ more from seed to seed than a hundred points can tell."""

    test: int = 2000
    scale: float = 0.01
    moments: tuple[int, ...] = (5, 10, 20, 35, 50, 75, 100, 150, 200, 500, 1000)
    points: int = 100
    attack_steps: int = 40
    free_points: int = 4
    free_steps: int = 20
    queries: int = 20
    curve_points: int = 41
    seeds: int = 32


def measure(config: Config, seed: int, case: nn.Module, progress: Progress) -> dict[str, Any]:
    """Train both heads, match them by accuracy, and attack them in pixels with gradients and without."""
    drawn = heads.draw(case, config, seed)
    paths = heads.head_paths(drawn.data, config, config.scale, seed, config.moments)
    networks = [[path.at(t) for t in range(-len(config.moments), 0)] for path in paths]
    test = drawn.test
    right = [[np.mean(network.predict_binary(test.x) == test.y) for network in each] for each in networks]
    clean = np.array(right)  # by summed probabilities where there are ten outputs
    moments = matched_moments(clean)
    progress(0.2, "attack")
    ends = [_question(case, each[-1], drawn, config) for each in networks]
    upper = [MinimalNorm(steps=config.attack_steps).on(end).upper for end in ends]
    matched = list(upper)
    for i, moment in enumerate(moments):
        if moment < len(config.moments) - 1:
            asked = _question(case, networks[i][moment], drawn, config)
            matched[i] = MinimalNorm(steps=config.attack_steps).on(asked).upper
    progress(0.8, "attack without gradients")
    free = [_free(end, drawn, config) for end in ends]
    few = np.stack(upper)[:, : config.free_points]
    return {
        "clean": clean,
        "upper": upper,
        "matched_upper": matched,
        "matched_left": clean[1, moments[1]] - clean[0, moments[0]],
        "free": free,
        "free_shorter": np.mean(np.stack(free) < 0.99 * few),
    }


def matched_moments(clean: Array) -> list[int]:
    """When each network is as accurate as the one that ends less accurate: the last of its nearest moments.

    clean is (network, moment).

    >>> matched_moments(np.array([[0.5, 0.8], [0.78, 0.9]]))
    [1, 0]
    """
    away = np.abs(clean - clean[:, -1].min()).round(9)
    return [int(np.flatnonzero(row == row.min())[-1]) for row in away]


def _question(backbone: nn.Module, network: Network, drawn: Sample, config: Config) -> DeepQuestion:
    """How far the first images are from another binary decision, in pixels."""
    from featavg.deep import HeadedNetwork, ask_deep, channels_first

    options: dict[str, Any] = {}
    if network.output_count > 1:
        options = {"readout": READOUT, "class_labels": drawn.data.center_labels}
    few = slice(config.points)
    images = channels_first(drawn.images.images)
    return ask_deep(HeadedNetwork(backbone, network), images[few], drawn.images.y[few], batch=50, **options)


def _free(question: DeepQuestion, drawn: Sample, config: Config) -> Array:
    """Upper bounds of the first points from decisions alone, from the nearest of some images of another decision."""
    from featavg.deep import as_rows, channels_first

    start = as_rows(channels_first(drawn.images.images[:CANDIDATES]))
    walk = BoundaryWalk(start=start, starts=1, steps=config.free_steps, queries=config.queries)
    return walk.on(question.part(np.arange(config.free_points))).upper


def derive(config: Config, table: Table) -> Table:
    """Gains, and curves over radii."""
    upper, matched = table["upper"], table["matched_upper"]  # (seed, network, point)
    radius = median_radius(matched[:, 0])
    radii = np.linspace(0, np.quantile(upper, 0.98), config.curve_points)
    few, free = upper[:, :, : config.free_points], table["free"]
    difference = log_ratios(free[:, 0], free[:, 1]) - log_ratios(few[:, 0], few[:, 1])
    both = difference[np.isfinite(difference)]
    how = "mean logarithm of the ratio of radii, fine over coarse, at points that both put right: that of the walk "
    how += f"without gradients minus that of the minimal-norm attack; over {both.size} points"
    columns = {
        **gains(upper[:, 0], upper[:, 1], gap(matched[:, 0], matched[:, 1], radius), HOW),
        "free_difference": Column(both, ("free_pair",), how),
    }
    for name, found in (("standing", upper), ("matched_standing", matched)):
        columns[name] = Column(standing(found, radii), ("seed", "network", "radius"), f"robust accuracy; {HOW}")
    return table.plus(columns, {"radius": radii})


def notes(config: Config, table: Table) -> Sequence[str]:
    """The backbone, accuracies and what the walk without gradients is worth."""
    clean = 100 * table["clean"][:, :, -1].mean(axis=0)
    excess = np.exp(np.nanmean(log_ratios(table["upper"][:, :, : config.free_points], table["free"])))
    low, high = table.interval("gain")
    return [
        "The backbone is this project's ResNet-18 of width 16, trained on the ten classes; only the two-layer heads "
        "know coarse or fine labels. So this is about heads: a backbone of coarse labels may differ.",
        f"Accuracy of the binary decision at the end: coarse {clean[0]:.1f} %, fine {clean[1]:.1f} %. Gain "
        f"{100 * table.mean('gain'):.1f} points ({100 * low:.1f} to {100 * high:.1f}, ordinary 95 % over seeds).",
        f"The walk without gradients ends {excess:.1f} times as far out as the minimal-norm attack: it would reveal "
        "gradients that are masked grossly, no more.",
        f"{config.seeds} seeds of {config.points} points; 32 of 100 have as many points as 16 of 200 and a narrower "
        "interval over heads.",
    ]
