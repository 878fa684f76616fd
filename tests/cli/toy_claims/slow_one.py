"""Waits until it is interrupted."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.experiments import Expect, Quantity
from featavg.progress import Progress

COST = ("long", 60)
NEEDS = ("mnist",)
COLUMNS = {"one": "one", "grid": Quantity("numbers", ("x", "y")), "early": Quantity("of the first", once=True)}
CLAIMS = [Expect("one", "Done.", "none", 1, 0, "exact")]


@dataclass(frozen=True)
class Config:
    seconds: float = float(os.environ.get("TOY_SECONDS", "60"))
    seeds: int = 1
    first_seed: int = 0


def measure(config: Config, seed: int, progress: Progress) -> dict[str, Any]:
    if log := os.environ.get("TOY_LOG"):
        with open(log, "a", encoding="ascii") as file:
            file.write(f"{seed}\n")
    start = time.monotonic()
    while (waited := time.monotonic() - start) < config.seconds:
        progress(waited / config.seconds, "")
        time.sleep(0.01)
    grid = np.random.default_rng(seed).normal(size=(2, 3))
    return {"one": 1.0, "grid": grid, "early": seed} if seed == 0 else {"one": 1, "grid": grid.tolist()}
