"""One direction fools nearly all points of the averaging network, for any split of the classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.analysis import theory
from featavg.arrays import Array
from featavg.data import Dataset
from featavg.experiments import Progress, record_of
from featavg.experiments._paper import Setting
from featavg.record import Claim, Drawing, Record
from featavg.robustness.attacks import UniversalDirection

COST = ("quick", 10)
NEEDS: tuple[str, ...] = ()
SOURCE = "Frei et al. 2023, Theorem 4.2; Vardi et al. 2022"


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting with 5, 3, 2 and 1 positive clusters of ten."""

    splits: tuple[int, ...] = (5, 3, 2, 1)
    seeds: int = 8


def run(config: Config, progress: Progress) -> Record:
    """Move all test points along −y Σ_j y_j μ_j, and along a random direction, and count who is fooled."""
    sizes = np.linspace(0.5, 2.0, 151)  # in units of √(d/k)
    unit = theory.averaging_radius(theory.Setting(config.clusters, config.dim))
    shares = np.empty((len(config.splits), config.seeds, len(sizes)))
    chance = np.empty((config.seeds, len(sizes)))
    for case, positive in enumerate(config.splits):
        for seed in range(config.seeds):
            data = config.data(seed, positive=positive)
            network = config.coarse(data, seed, [config.steps]).final
            test = config.test(data, seed)
            attack = UniversalDirection(direction=data.center_labels @ data.centers)
            shares[case, seed] = attack.share(network, test.x, test.y, sizes * unit)
            if case == 0:
                chance[seed] = _chance(data, config.first_seed + seed).share(network, test.x, test.y, sizes * unit)
            progress((case * config.seeds + seed + 1) / (len(config.splits) * config.seeds), f"{positive} positive")
    needed = _needed(shares, sizes)
    arrays = {
        "sizes": sizes,
        "shares": shares,
        "needed": needed,
        "curves": np.concatenate([shares.mean(axis=1), chance.mean(axis=0)[None]]),
    }
    drawing = Drawing(
        "curves",
        {"x": "sizes", "y": "curves"},
        caption="Share of test points fooled by one and the same step −y·t·Σ_j y_j μ_j for all of them, over the "
        "length of the step in units of √(d/k). A random direction of the same length fools nobody.",
        options={
            "labels": [f"{p} of {config.clusters} clusters positive" for p in config.splits] + ["random direction"],
            "x_label": "length of the step / √(d/k)",
            "y_label": "share fooled",
            "marks": [[1.0, "√(d/k)"]],
        },
    )
    return record_of(config, claims=_claims(config, needed, chance, sizes), arrays=arrays, drawings=[drawing])


def _chance(data: Dataset, seed: int) -> UniversalDirection:
    rng = np.random.default_rng(seed)
    return UniversalDirection(direction=rng.standard_normal(data.clusters) @ data.centers)


def _needed(shares: Array, sizes: Array) -> Array:
    """The smallest size that fools 99 % of the points, or the largest tried: (split, seed)."""
    enough = shares >= 0.99
    return np.where(enough.any(axis=2), sizes[enough.argmax(axis=2)], sizes[-1])


def _claims(config: Config, needed: Array, chance: Array, sizes: Array) -> list[Claim]:
    balanced = Claim.over_seeds(
        needed[0],
        "One direction little longer than √(d/k) fools 99 % of the points.",
        source=SOURCE,
        expected=1 + 2.33 / theory.averaging_radius(theory.Setting(config.clusters, config.dim)),
        tolerance=0.1,
        tolerance_reason="2.33 standard deviations of noise predict the value; uneven clusters widen it",
        how="smallest length of −y Σ y_j μ_j, in units of √(d/k), that fools 99 % of 1000 test points",
    )
    bounds = [
        Claim.over_seeds(
            needed[case],
            f"With {positive} of {config.clusters} clusters positive it takes at most √(d/(c²k)).",
            source=SOURCE,
            expected=config.clusters / min(positive, config.clusters - positive),
            tolerance=0.0,
            relation="at most",
            tolerance_reason="the theorem's bound with constant 1, c the share of the smaller class",
            how="smallest length, in units of √(d/k), that fools 99 % of 1000 test points",
        )
        for case, positive in enumerate(config.splits)
    ]
    control = Claim.over_seeds(
        chance[:, np.searchsorted(sizes, 1.15)],
        "A random direction in the span of the centers fools nobody at that length.",
        source="control",
        expected=0.0,
        tolerance=0.15,
        relation="at most",
        tolerance_reason="its cosine with the universal direction is 1/√k in size, of either sign",
        how="share of test points fooled by a random combination of centers of length 1.15 √(d/k)",
    )
    return [balanced, *bounds, control]
