"""Numbers grow with their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.experiments import Expect, Quantity
from featavg.record import Drawing

COST = ("quick", 0.1)
NEEDS: tuple[str, ...] = ()
COLUMNS = {"value": Quantity("a number with noise", ("place",))}
CLAIMS = [
    Expect("value", "The last is <script>alert(1)</script> largest.", "Lemma 1", 4, 0.1, "noise 0.01", published=4.02,
           at={"place": 4}),
    Expect("value", "The first is nine.", "Lemma 2", 9, 0.1, "noise", at={"place": 0}),
]  # fmt: skip
DRAWINGS = [Drawing("curves", {"x": "place", "y": "value"}, caption="They grow.", options={"x_label": "place"})]
NOTES = ["Nothing is proved here."]


@dataclass(frozen=True)
class Config:
    length: int = 5
    places: tuple[int, ...] = (1, 2)
    seeds: int = 5
    first_seed: int = 0


def measure(config: Config, seed: int) -> dict[str, Any]:
    return {"value": np.arange(config.length) + np.random.default_rng(seed).normal(0, 0.01, config.length)}
