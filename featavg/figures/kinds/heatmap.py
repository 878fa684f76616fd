"""A matrix as colours with its numbers in it: alignment of neurons and clusters, as in the paper's Fig. 2."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from featavg.arrays import Array, finite_matrix
from featavg.figures.canvas import FAINT, INK, SMALL, TEXT, name_axes, one_label_each, settle, sheet, text_width

APART = 0.06  # inches between names of cells
MOST_NUMBERS = 20  # a side; beyond it numbers in cells cannot be read


def heatmap(
    values: ArrayLike,
    *,
    caption: str,
    rows: str = "neuron",
    columns: str = "cluster",
    row_labels: Sequence[str] = (),
    column_labels: Sequence[str] = (),
    row_blocks: Sequence[int] = (),
    column_blocks: Sequence[int] = (),
    limit: float | None = None,
    scale_label: str = "cosine",
    title: str = "",
) -> Figure:
    """Draw `values` (row, column) as colours, with a line before each row and column in the blocks.

    Colours are centred at 0 if a value is negative, and begin at 0 otherwise.

    >>> heatmap([[0.4, -0.1], [-0.1, 0.4]], caption="Two neurons, two clusters.").get_label()
    'Two neurons, two clusters.'
    """
    matrix = finite_matrix(values, "values")
    height, width = matrix.shape
    largest = float(limit or np.abs(matrix).max() or 1.0)
    cell = 0.55 if max(matrix.shape) <= MOST_NUMBERS else 6.0 / max(matrix.shape)
    # The cells keep their size however long the labels are: about 12 letters an inch, slanted under the columns.
    beside = max(map(len, row_labels), default=0) / 12
    below = max(map(len, column_labels), default=0) / 18
    size = max(3.6, 2.2 + beside + cell * width), max(2.4, 1.3 + below + cell * 0.8 * height)
    figure, axes = sheet(caption, *size)
    signed = matrix.min(initial=0.0) < 0
    colours, lowest = ("RdBu_r", -largest) if signed else ("Reds", 0.0)
    mesh = axes.pcolormesh(matrix, cmap=colours, vmin=lowest, vmax=largest, edgecolors="face", linewidth=0.4)
    axes.invert_yaxis()
    slant = 40.0 if max(map(len, column_labels), default=0) > 5 else 0.0
    _label_cells(axes.xaxis, one_label_each(column_labels, width, "column_labels"), 0.0 if slant else cell)
    _label_cells(axes.yaxis, one_label_each(row_labels, height, "row_labels"))
    axes.tick_params(axis="x", labelrotation=slant)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    _separate(axes, row_blocks, column_blocks, matrix.shape)
    if max(matrix.shape) <= MOST_NUMBERS:
        _write_numbers(axes, matrix, largest)
    name_axes(axes, title, columns, rows)
    settle(figure, axes, beside=1.0, slant=slant)
    _scale(figure, axes, mesh, scale_label)
    return figure


def _scale(figure: Figure, axes: Axes, mesh: QuadMesh, label: str) -> None:
    """The bar of colours beside the matrix."""
    place = axes.get_position()
    inch = 1 / figure.get_figwidth()
    bar = figure.colorbar(mesh, cax=figure.add_axes((place.x1 + 0.1 * inch, place.y0, 0.14 * inch, place.height)))
    bar.ax.tick_params(colors=INK, labelsize=SMALL)
    bar.set_label(label, color=INK, fontsize=TEXT)
    bar.ax.yaxis.set_label_coords(0.85 / 0.14, 0.5)
    bar.outline.set_edgecolor(FAINT)


def _label_cells(axis: Axis, labels: list[str], room: float = 0.0) -> None:
    """Name the cells, or every other one, and so on, where names side by side have no `room`, in inches for each."""
    names = labels if any(labels) else [str(number + 1) for number in range(len(labels))]
    every = -(-len(names) // 30)
    if room:
        widest = max(text_width(name, SMALL) for name in names) + APART
        every = max(every, math.ceil(widest / room))
    chosen = range(0, len(names), every)
    axis.set_ticks([place + 0.5 for place in chosen], labels=[names[place] for place in chosen])


def _separate(axes: Axes, row_blocks: Sequence[int], column_blocks: Sequence[int], shape: tuple[int, ...]) -> None:
    for row in row_blocks:
        axes.plot([0, shape[1]], [row, row], color="black", linewidth=1.6)
    for column in column_blocks:
        axes.plot([column, column], [0, shape[0]], color="black", linewidth=1.6)
    axes.set_xlim(0, shape[1])
    axes.set_ylim(shape[0], 0)


def _write_numbers(axes: Axes, matrix: Array, largest: float) -> None:
    for (row, column), value in np.ndenumerate(matrix):
        # Large values are dark in both colour maps, small ones nearly white.
        colour = "white" if abs(value) > 0.6 * largest else "black"
        text = f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=SMALL - 1, color=colour)
