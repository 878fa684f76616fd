"""Images in a grid: adversarial examples beside their originals, perturbations, universal directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.errors import InputError
from featavg.figures.canvas import INK, SMALL, TEXT, one_label_each

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
    beside = max(map(len, row_labels), default=0) / 12
    # Wide enough for the longest column label too: about 11 letters an inch.
    side = max(SIDE, max(map(len, column_labels), default=0) / 11 + 0.1)
    figure = Figure(
        figsize=(0.3 + beside + side * width, 0.6 + 1.05 * side * height),
        layout=ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03),
    )
    figure.set_label(caption)
    figure.suptitle(title, color=INK, fontsize=TEXT + 1)
    for (row, column), axes in np.ndenumerate(figure.subplots(height, width, squeeze=False)):
        # Pixels keep their edges: what an attack changed must not be smoothed away.
        axes.imshow(grid[row, column], cmap="gray", vmin=0.0, vmax=1.0, interpolation="none")
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set_visible(False)
        if row == 0:
            axes.set_title(column_labels[column], color=INK, fontsize=SMALL)
        if column == 0:
            label = row_labels[row]
            axes.set_ylabel(label, color=INK, fontsize=SMALL, rotation=0, ha="right", va="center")
    return figure


def _checked(images: ArrayLike) -> Array:
    grid = np.asarray(images, dtype=np.float64)
    if not grid.size or grid.ndim not in (4, 5) or (grid.ndim == 5 and grid.shape[4] not in (1, 3)):
        raise InputError(f"images must be (row, column, height, width) or with 3 colours last, got shape {grid.shape}")
    if not (grid.min() >= 0 and grid.max() <= 1):  # NaN is neither
        raise InputError(f"images must lie in [0, 1], got {grid.min():g} to {grid.max():g}; scale or clip them first")
    return grid[..., 0] if grid.ndim == 5 and grid.shape[4] == 1 else grid
