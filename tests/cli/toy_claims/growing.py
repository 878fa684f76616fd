"""Numbers grow with their place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.experiments import Progress, record_of
from featavg.record import Claim, Drawing, Record

COST = ("quick", 0.1)
NEEDS: tuple[str, ...] = ()


@dataclass(frozen=True)
class Config:
    length: int = 5
    places: tuple[int, ...] = (1, 2)
    seeds: int = 5


def run(config: Config, progress: Progress) -> Record:
    values = np.empty((config.seeds, config.length))
    for seed in range(config.seeds):
        values[seed] = np.arange(config.length) + np.random.default_rng(seed).normal(0, 0.01, config.length)
        progress((seed + 1) / config.seeds, f"seed {seed}")
    claims = [
        Claim.over_seeds(
            values[:, -1],
            "The last is <script>alert(1)</script> largest.",
            source="Lemma 1",
            expected=config.length - 1,
            tolerance=0.1,
            tolerance_reason="noise 0.01",
            published=4.02,
        ),
        Claim.over_seeds(
            values[:, 0], "The first is nine.", source="Lemma 2", expected=9, tolerance=0.1, tolerance_reason="noise"
        ),
    ]
    arrays = {"place": np.arange(config.length), "value": values.mean(axis=0)}
    drawing = Drawing("curves", {"x": "place", "y": "value"}, caption="They grow.", options={"x_label": "place"})
    return record_of(config, claims=claims, arrays=arrays, drawings=[drawing], notes=["Nothing is proved here."])
