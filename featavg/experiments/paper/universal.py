"""One direction fools nearly all points of the averaging network, for any split of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.analysis import theory
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.setting import Setting
from featavg.record import Column, Drawing, Table
from featavg.robustness import UniversalDirection

COST = ("quick", 10)
NEEDS: tuple[str, ...] = ()
SIZES = np.geomspace(0.5, 20.0, 370)  # in units of √(d/k), a percent apart; twice as far as the largest bound
NONE_SUFFICES = 40.0
TEST_POINTS = 1000
CASES = {"positive": lambda config: config.splits}
COORDS = {"size": SIZES}
COLUMNS = {
    "shares": Quantity("share of test points fooled by a step −y Σ y_j μ_j of this length", ("size",)),
    "chance": Quantity("share of test points fooled by a random combination of centers of this length", ("size",)),
    "needed": "smallest length of −y Σ y_j μ_j, in units of √(d/k), that fools 99 % of 1000 test points; 40 if none up "
    "to 20 does",
}
SOURCE = "Frei et al. 2023, Theorem 4.2; Vardi et al. 2022"
CLAIMS = [
    Expect("control", "A random direction in the span of the centers fools nobody at that length.", "control",
           expected=0.0, tolerance=0.01, relation="at most",
           because="to fool a center at 1.15 √(d/k) takes a cosine of ±0.87 with Σ y_j μ_j, which one random direction "
           "in two thousand has in ten dimensions"),
]  # fmt: skip


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting with 5, 3, 2 and 1 positive clusters of ten."""

    splits: tuple[int, ...] = (5, 3, 2, 1)
    seeds: int = 8


def measure(config: Config, seed: int, case: int) -> dict[str, Any]:
    """Move all test points along −y Σ_j y_j μ_j, and along a random direction, and count who is fooled."""
    data = config.data(seed, positive=case)
    network = config.coarse(data, seed, [config.steps]).final
    test, sizes = config.test(data, seed, TEST_POINTS), SIZES * theory.averaging_radius(config.theory)
    chance = np.random.default_rng(seed).standard_normal(data.clusters)
    shares, by_chance = (
        UniversalDirection(direction=weights @ data.centers).share(network, test.x, test.y, sizes)
        for weights in (data.center_labels, chance)
    )
    enough = shares >= 0.99
    return {
        "shares": shares,
        "chance": by_chance,
        "needed": SIZES[enough.argmax()] if enough.any() else NONE_SUFFICES,
    }


def derive(config: Config, table: Table) -> Table:
    """The random direction of the first split alone, as a control."""
    chance = table.sel("chance", positive=config.splits[0])  # (seed, size)
    how = "share of test points fooled by a random combination of centers of length 1.15 √(d/k)"
    return table.plus(
        {
            "random": Column(chance, ("seed", "size"), "the first split's share under a random direction"),
            "control": Column(chance[:, np.searchsorted(SIZES, 1.15)], ("seed",), how, points=TEST_POINTS),
        }
    )


def claims(config: Config) -> list[Expect]:
    """The length for balanced classes, and the bound for every split."""
    balanced = Expect("needed", "One direction little longer than √(d/k) fools 99 % of the points.", SOURCE,
        expected=1 + 2.33 / theory.averaging_radius(config.theory), tolerance=0.1, at={"positive": config.splits[0]},
        because="2.33 standard deviations of noise predict the value; uneven clusters widen it")  # fmt: skip
    bounds = [
        Expect("needed", f"With {positive} of {config.clusters} clusters positive it takes at most √(d/(c²k)).", SOURCE,
            expected=config.clusters / min(positive, config.clusters - positive), tolerance=0.0, relation="at most",
            because="the theorem's bound with constant 1, c the share of the smaller class", at={"positive": positive})
        for positive in config.splits
    ]  # fmt: skip
    return [balanced, *bounds]


def drawings(config: Config) -> list[Drawing]:
    """Shares over the length of the step."""
    splits = [f"{positive} of {config.clusters} clusters positive" for positive in config.splits]
    return [
        Drawing("curves", {"x": "size", "y": ("shares", "random")},
            caption="Share of test points fooled by one and the same step −y·t·Σ_j y_j μ_j for all of them, over the "
            "length of the step in units of √(d/k); the lines of all splits coincide. A random direction in the span "
            "of the centers fools nobody at the length at which this one fools all, and some from five times that on.",
            options={"labels": [*splits, "random direction"], "x_label": "length of the step / √(d/k)", "log_x": True,
                     "y_label": "share fooled", "marks": [[1.0, "√(d/k)"]]}),
    ]  # fmt: skip
