"""CIFAR-10 halves, whole networks of several widths: do ten labels bring the published gain, at equal accuracy too?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.experiments import Expect, Quantity
from featavg.experiments.images.gaps import gain_claims, gains, gains_over_points, gap, matched_gap, median_radius
from featavg.experiments.images.networks import resnet_pair
from featavg.experiments.images.pairs import clean_accuracy, fitted, load, question
from featavg.progress import Progress, part
from featavg.record import Column, Drawing, Table
from featavg.robustness import MinimalNorm

COST = ("long", 2600)
NEEDS = ("cifar10",)
SOURCE = "Fig. 3 right"
DATA, TASK = "cifar10", "halves"
HOW = "minimal-norm attack in pixels on the binary decision, upper bounds; fine networks by summed probabilities"
CASES = {"width": lambda config: config.widths}
COORDS = {"network": lambda config: [label for label, *_ in networks(config)]}
COLUMNS = {
    "upper": Quantity(f"ℓ2 radius; {HOW}", ("network", "point")),
    "clean": Quantity("clean accuracy of the binary decision on all test images", ("network",)),
}
CLAIMS = [
    *gain_claims(SOURCE, "Over the pairs of networks,"),
    *gain_claims(SOURCE, "In these pairs of networks,", "_points"),
    Expect("trend", "Wider networks gain more from fine labels.", "our own question", expected=0.0, tolerance=0.0,
           relation="at least", because="the sign alone: nobody has predicted how much"),
]  # fmt: skip
DRAWINGS = [
    Drawing("curves", {"x": "width", "y": "gain_by_width"}, band=0.95, within=(-1.0, 1.0),
            caption="Robust accuracy of the fine network minus that of the coarse one at the coarse median radius, by "
            f"the width of the networks; {HOW}. Bands are 95 % intervals over pairs.",
            options={"labels": ["same epochs", "equal clean accuracy"], "x_label": "base width of the ResNet-18",
                     "log_x": True, "y_label": "fine − coarse", "levels": [[0.0, "no gain"], [0.144, "published"]]}),
]  # fmt: skip


@dataclass(frozen=True)
class Config:
    """Pairs of networks of each width.

    A fine network reaches the coarse one's accuracy in half as many epochs or fewer. Each of `shorter` is trained in so
    many, to the end of a schedule of its own: a moment within a longer schedule has a high rate still, and differs in
    more. Every pair has images of its own, to learn from and to be attacked at.
    """

    widths: tuple[int, ...] = (4, 8)
    images: int = 37_500  # of 50,000, drawn anew for each pair: an epoch of all takes a minute
    epochs: int = 4
    shorter: tuple[int, ...] = (1, 2)
    learning_rate: float = 0.2
    points: int = 1000  # test images of each pair
    steps: int = 20
    seeds: int = 5
    first_seed: int = 0


def networks(config: Config) -> Iterator[tuple[str, str, int]]:
    """Label, kind and epochs of the networks of a pair."""
    yield "coarse", "coarse", config.epochs
    for epochs in sorted(config.shorter):
        yield f"fine in {epochs} epoch{'s' * (epochs > 1)}", "fine", epochs
    yield "fine", "fine", config.epochs


def measure(config: Config, seed: int, case: int, progress: Progress) -> dict[str, Any]:
    """Train the networks of a pair, or take them from the cache, and attack each at its binary decision."""
    # Pairs of one seed that shared their images would not be independent, as intervals over pairs and points want them.
    drawn = 1000 * seed + case
    learned, test = load(DATA, TASK, "train").draw(config.images, drawn), load(DATA, TASK, "test")
    points, members = test.draw(config.points, drawn), list(networks(config))
    upper, clean = [], []
    for number, (_, kind, epochs) in enumerate(members):
        tell = part(progress, number / len(members), (number + 1) / len(members))
        name = f"{DATA}-{TASK}-{kind}-width{case}-images{config.images}-epochs{epochs}-{drawn}"
        network = fitted(name, resnet_pair(case, config.learning_rate, epochs), learned, kind, seed, part(tell, 0, 0.9))
        tell(0.9, "attack")
        upper.append(MinimalNorm(steps=config.steps).on(question(TASK, network, points)).upper)
        clean.append(clean_accuracy(TASK, network, test))
    return {"upper": upper, "clean": clean}


def derive(config: Config, table: Table) -> Table:
    """Gains over all pairs, over their points, and by width."""
    upper, clean = table["upper"], table["clean"]  # (width, seed, network, point) and (width, seed, network)
    shape, flat = upper.shape[:2], upper.reshape(-1, *upper.shape[2:])
    accuracy = clean.reshape(len(flat), -1)
    coarse, fine = flat[:, 0], flat[:, -1]
    # The coarse network has one moment, its end; those of the fine one are networks of their own, ever more epochs.
    matched, left = matched_gap((accuracy[:, :1], accuracy[:, 1:]), (flat[:, :1], flat[:, 1:]), median_radius(coarse))
    each = np.stack([gap(coarse, fine, median_radius(coarse)), matched], axis=1).mean(axis=2).reshape(*shape, 2)
    slopes = np.polyfit(np.log2(config.widths), each[:, :, 0], 1)[0] if len(config.widths) > 1 else np.zeros(shape[1])
    return table.plus({
        **gains(coarse, fine, matched, HOW, axis="pair"),
        **gains_over_points(coarse, fine, matched, HOW),
        "matched_left": Column(left, ("pair",), "difference of clean accuracy that is left, fine − coarse"),
        "gain_by_width": Column(each, ("width", "seed", "match"), f"fine − coarse robust accuracy; {HOW}"),
        "trend": Column(slopes, ("seed",), f"gain per doubling of the width, at the coarse median radius; {HOW}"),
    })  # fmt: skip


def notes(config: Config, table: Table) -> list[str]:
    """How they were trained, how accurate they are, and how well they are matched."""
    said = []
    for width in config.widths:
        clean = [f"{label} {100 * table.sel('clean', width=width, network=label).mean():.1f} %"
                 for label, *_ in networks(config)]  # fmt: skip
        said.append(f"width {width}: {', '.join(clean)}")
    low, high = table.interval("gain_by_width")
    means = table.mean("gain_by_width")
    shown = "; ".join(
        f"width {width}: {100 * means[i, 0]:.1f} ({100 * low[i, 0]:.1f} to {100 * high[i, 0]:.1f}), at equal accuracy "
        f"{100 * means[i, 1]:.1f} ({100 * low[i, 1]:.1f} to {100 * high[i, 1]:.1f})"
        for i, width in enumerate(config.widths)
    )
    return [
        f"ResNet-18 of widths {', '.join(map(str, config.widths))} (the paper: 64), {config.epochs} epochs on "
        f"{config.images} images, shifted and mirrored, by a one-cycle schedule: far less than the paper's networks, "
        "and less accurate.",
        f"An interval over {len(config.widths) * config.seeds} pairs at the level of claims settles little; the same "
        "claims with an interval over points are about these networks only.",
        f"Clean accuracy of the binary decision on all test images: {'; '.join(said)}.",
        f"Gains in points (ordinary 95 % over {config.seeds} pairs): {shown}.",
        "Equal clean accuracy: between the fine networks of fewer and of all epochs, in proportion to accuracy; the "
        f"difference that is left is at most {100 * np.abs(table['matched_left']).max():.1f} points.",
    ]
