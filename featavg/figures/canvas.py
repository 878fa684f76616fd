"""The sheet every figure is drawn on: sizes, ink and colours, set on the figure itself and nowhere else."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.errors import InputError

INK = "#24292f"  # text and frames; the report replaces it by the colour of its page's text
FAINT = "#8a8f98"  # grid and reference lines: visible on light and dark paper
# Okabe and Ito's colours, told apart by colour-blind readers too, without the two that vanish on white or black.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
STROKES = ("solid", "dashed", "dashdot", "dotted")
TEXT, SMALL = 10.5, 9.5
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def sheet(caption: str, width: float = 6.4, height: float = 4.2) -> tuple[Figure, Axes]:
    """Return an empty figure, in inches, with its caption attached, and the axes to draw in."""
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08))
    figure.set_label(caption)
    axes = figure.add_subplot()
    axes.tick_params(which="both", colors=INK, labelsize=SMALL)
    for side, spine in axes.spines.items():
        spine.set_color(FAINT)
        spine.set_visible(side in ("left", "bottom"))
    return figure, axes


def name_axes(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    """Write title and axis labels in ink; a long title is broken rather than cut off."""
    letters = int((_inches(axes) - 1.2) * 10.5)
    axes.set_title(textwrap.fill(title, max(letters, 20)), color=INK, fontsize=TEXT + 1, loc="left")
    axes.set_xlabel(x_label, color=INK, fontsize=TEXT)
    axes.set_ylabel(y_label, color=INK, fontsize=TEXT)


def name_lines(figure: Figure, axes: Axes) -> None:
    """Put the legend under the axes, where it can hide nothing."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        # About 11 letters an inch, and room for 6 around each label.
        letters = int(figure.get_figwidth() * 11)
        columns = max(1, min(len(labels), letters // (max(map(len, labels)) + 6)))
        labels = [textwrap.fill(label, letters - 6) for label in labels]
        rows = -(-len(labels) // columns) + sum(label.count("\n") for label in labels)
        # The paper grows with the legend, so that the axes keep their size.
        figure.set_figheight(figure.get_figheight() + 0.2 * max(0, rows - 2))
        figure.legend(
            handles, labels, loc="outside lower left", ncols=columns, frameon=False, fontsize=SMALL, labelcolor=INK
        )


def _inches(axes: Axes) -> float:
    figure = axes.get_figure(root=True)
    return figure.get_figwidth() if figure is not None else 0.0


def line_look(index: int) -> tuple[str, str]:
    """Return colour and stroke of line number `index`: all colours first, then the next stroke."""
    return PALETTE[index % len(PALETTE)], STROKES[index // len(PALETTE) % len(STROKES)]


def lines_of(values: ArrayLike, name: str, shape: tuple[int, ...] | None = None) -> Array:
    """Return `values` as (line, point), from (point,) or (line, point), of `shape` if one is given; NaN is a gap."""
    lines = np.asarray(values, dtype=np.float64)
    if lines.ndim not in (1, 2) or not lines.size:
        raise InputError(f"{name} must be (point,) or (line, point) and not empty, got shape {lines.shape}")
    lines = np.atleast_2d(lines)
    if shape is not None and lines.shape != shape:
        if lines.shape != (1, shape[1]):
            raise InputError(f"{name} must have shape {shape} like y, got {lines.shape}")
        lines = np.broadcast_to(lines, shape)
    return lines


def one_label_each(labels: Sequence[str], count: int, name: str) -> list[str]:
    """Return `count` labels; none given means none written."""
    if labels and len(labels) != count:
        raise InputError(f"{name} must be {count} texts, got {len(labels)}")
    return [str(label) for label in labels] or [""] * count


def ticks_at(axes: Axes, places: Array) -> None:
    """Ticks of a logarithmic x-axis: at the measured places while they fit, else powers of ten, in plain numbers."""
    if len(places) <= 10:
        axes.set_xticks(places, labels=[readable(place) for place in places])
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: readable(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())


def readable(value: float) -> str:
    """Write an axis number: 3072, 0.25, and powers of ten as such.

    >>> readable(3072), readable(1e9), readable(2.5e-7)
    ('3072', '10⁹', '2.5e-07')
    """
    exponent = np.log10(value) if value > 0 else 0.0
    if abs(exponent) >= 4 and abs(exponent - round(exponent)) < 1e-9:
        return "10" + str(round(exponent)).translate(_SUPERSCRIPT)
    return f"{value:g}"
