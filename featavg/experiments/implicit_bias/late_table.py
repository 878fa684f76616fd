"""The published table of models down to a loss of 1e-881, on digits: how much margin, and how much robustness?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from featavg.experiments.implicit_bias.late_digits import (
    TABLE_COLUMNS,
    Digits,
    models_table,
    rows_over_the_first,
    table_claims,
    table_growth,
)
from featavg.record import Drawing, Table

COST = ("long", 600)
NEEDS: tuple[str, ...] = ()
COORDS = {"model": lambda config: config.models}
COLUMNS = TABLE_COLUMNS
CLAIMS = table_claims(10.45, 20.9, "1e-881")
DRAWINGS = [
    Drawing("curves", {"x": "orders", "y": ("margin_ratio", "train_ratio", "test_ratio")}, band=0.95,
        caption="Margin over the product of the norms of the layers, and median radii at training and test digits, "
        "over the decimal orders of the loss and in units of the first row. The published margin grows by 21.",
        options={"labels": ["margin", "radius, training digits", "radius, test digits"], "log_x": True,
                 "x_label": "−log10 loss", "y_label": "over the first row"}),
]  # fmt: skip
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


def derive(config: Config, table: Table) -> Table:
    """Growth from row to row, and all rows over the first."""
    return table.plus({**table_growth(table), **rows_over_the_first(table, config.models)})
