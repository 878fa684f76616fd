"""Images in a grid: adversarial examples beside their originals, perturbations, universal directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.errors import InputError
from featavg.figures.canvas import GAP, INK, PAD, SMALL, TEXT, one_label_each, text_height, text_width

SIDE = 1.05  # inches an image


def images(
    images: ArrayLike, *, caption: str, rows: Sequence[str] = (), columns: Sequence[str] = (), title: str = ""
) -> Figure:
    """Draw images (row, column, height, width[, colour]) with values in [0, 1], a label a row and one a column.

    >>> images(np.zeros((1, 2, 8, 8)), caption="Two black squares.", columns=["before", "after"]).get_label()
    'Two black squares.'
    """
    grid = _checked(images)
    height, width = grid.shape[:2]
    row_labels = one_label_each(rows, height, "rows")
    column_labels = one_label_each(columns, width, "columns")
    # Wide enough for the longest column label too.
    side = max(SIDE + GAP / 2, max(text_width(label, SMALL) for label in column_labels) + GAP)
    beside = PAD + max(text_width(label, SMALL) for label in row_labels) + GAP
    above = PAD + text_height(title, TEXT + 1) + text_height("".join(column_labels), SMALL) + GAP / 2
    tall = SIDE * grid.shape[2] / grid.shape[3]
    size = beside + side * width + PAD, above + (tall + GAP) * height + PAD
    figure = Figure(figsize=size)
    figure.set_label(caption)
    figure.text(PAD / size[0], 1 - PAD / size[1], title, color=INK, fontsize=TEXT + 1, va="top")
    # Pixels keep their edges: what an attack changed must not be smoothed away.
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0.0, size[0]), ylim=(size[1], 0.0), frame_on=False)
    axes.set_axis_off()
    for (row, column), _ in np.ndenumerate(np.empty((height, width))):
        left, top = beside + side * column + (side - SIDE) / 2, above + (tall + GAP) * row
        place = (left, left + SIDE, top + tall, top)
        axes.imshow(
            grid[row, column], extent=place, cmap="gray", vmin=0.0, vmax=1.0, interpolation="none", aspect="auto"
        )
    axes.set(xlim=(0.0, size[0]), ylim=(size[1], 0.0))
    for column, label in enumerate(column_labels):
        axes.text(beside + side * (column + 0.5), above - GAP / 2, label, color=INK, fontsize=SMALL, ha="center")
    for row, label in enumerate(row_labels):
        middle = above + (tall + GAP) * row + tall / 2
        axes.text(beside - GAP / 2, middle, label, color=INK, fontsize=SMALL, ha="right", va="center")
    return figure


def _checked(images: ArrayLike) -> Array:
    grid = np.asarray(images, dtype=np.float64)
    if not grid.size or grid.ndim not in (4, 5) or (grid.ndim == 5 and grid.shape[4] not in (1, 3)):
        raise InputError(f"images must be (row, column, height, width) or with 3 colours last, got shape {grid.shape}")
    if not (grid.min() >= 0 and grid.max() <= 1):  # NaN is neither
        raise InputError(f"images must lie in [0, 1], got {grid.min():g} to {grid.max():g}; scale or clip them first")
    return grid[..., 0] if grid.ndim == 5 and grid.shape[4] == 1 else grid
