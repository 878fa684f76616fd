"""Waits until it is interrupted."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from featavg.experiments import Expect
from featavg.progress import Progress

COST = ("long", 60)
NEEDS = ("mnist",)
COLUMNS = {"one": "one"}
CLAIMS = [Expect("one", "Done.", "none", 1, 0, "exact")]


@dataclass(frozen=True)
class Config:
    seconds: float = float(os.environ.get("TOY_SECONDS", "60"))
    seeds: int = 1
    first_seed: int = 0


def measure(config: Config, progress: Progress) -> dict[str, Any]:
    start = time.monotonic()
    while (waited := time.monotonic() - start) < config.seconds:
        progress(waited / config.seconds, "")
        time.sleep(0.01)
    return {"one": 1.0}
