"""The published table of models down to a loss of 1e-881, on digits: how much margin, and how much robustness?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from featavg.experiments.implicit_bias.late_digits import (
    TABLE_COLUMNS,
    Digits,
    models_table,
    rows_drawing,
    rows_table,
    table_claims,
)

COST = ("long", 600)
NEEDS: tuple[str, ...] = ()
COORDS = {"model": lambda config: config.models}
COLUMNS = TABLE_COLUMNS
CLAIMS = table_claims(10.45, 20.9, "1e-881")
DRAWINGS = [rows_drawing("Margin", "by 21")]
derive = rows_table
NOTES = [
    "{config.table_images} digits, three layers of width {config.table_width} without biases; the published table is "
    "of a convolutional network on MNIST, for which see chapter late_cnn. Radii of three layers are the best of an "
    "attack: upper bounds.",
]


@dataclass(frozen=True)
class Config(Digits):
    """The digits of `max_margin`, five rows."""

    models: tuple[float, ...] = (-10.0, -15.0, -20.0, -120.0, -881.0)
    table_every: int = 100
    equal_loss: float = -120.0
    seeds: int = 8
    first_seed: int = 0


def measure(config: Config, seed: int) -> dict[str, Any]:
    """One run to the last loss, and steps of constant size beside it."""
    return models_table(config, seed)
