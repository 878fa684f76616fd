"""A plane of margins with the decision boundary in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from featavg.arrays import finite_matrix, finite_vector
from featavg.figures.canvas import INK, name_axes, name_lines, sheet


def plane(
    places: ArrayLike,
    values: ArrayLike,
    *,
    caption: str,
    boundary: Sequence[ArrayLike] = (),
    marks: Sequence[tuple[float, float, str, str]] = (),
    x_label: str = "",
    y_label: str = "",
    title: str = "",
) -> Figure:
    """Draw `values` (row, column) over a square grid of `places`, with lines (point, 2) and marks (x, y, sign, name).

    >>> plane([-1, 0, 1], [[1, 0, -1]] * 3, caption="Left of 0.", boundary=[[[0, -1], [0, 1]]]).get_label()
    'Left of 0.'
    """
    matrix, grid = finite_matrix(values, "values"), finite_vector(places, "places")
    largest = float(np.abs(matrix).max()) or 1.0
    figure, axes = sheet(caption, 5.2, 5.2)
    axes.pcolormesh(grid, grid, matrix, cmap="RdBu", vmin=-largest, vmax=largest, shading="nearest", rasterized=True)
    for number, line in enumerate(boundary):
        axes.plot(*np.asarray(line, dtype=np.float64).T, color="black", label="boundary" if not number else None)
    for x, y, sign, name in marks:
        axes.plot([x], [y], sign, label=name, markersize=9, markeredgecolor="white", color=INK)
    axes.set_xlim(grid[0], grid[-1])
    axes.set_ylim(grid[0], grid[-1])
    name_axes(axes, title, x_label, y_label)
    name_lines(figure, axes)
    return figure
