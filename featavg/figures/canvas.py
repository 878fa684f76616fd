"""The sheet every figure is drawn on: sizes, ink and colours, set on the figure itself, and where everything goes.

Margins come from the widths of the texts, measured once each: matplotlib's own layout engines draw every figure twice
to find them, which is most of the time a page takes.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.errors import InputError

INK = "#24292f"  # text and frames; the report replaces it by the colour of its page's text
FAINT = "#8a8f98"  # grid and reference lines: visible on light and dark paper
# Okabe and Ito's colours, told apart by colour-blind readers too, without the two that vanish on white or black.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
STROKES = ("solid", "dashed", "dashdot", "dotted")
TEXT, SMALL = 10.5, 9.5
PAD = 0.1  # inches at every edge
GAP = 0.12  # between an axis and the numbers at it
LINE = 1.25  # heights of a letter
BESIDE = 0.65  # inches around a label of the legend: its mark and the gaps
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def sheet(caption: str, width: float = 6.4, height: float = 4.2) -> tuple[Figure, Axes]:
    """Return an empty figure, in inches, with its caption attached, and the axes to draw in."""
    figure = Figure(figsize=(width, height))
    figure.set_label(caption)
    axes = figure.add_subplot()
    axes.tick_params(which="both", colors=INK, labelsize=SMALL)
    for side, spine in axes.spines.items():
        spine.set_color(FAINT)
        spine.set_visible(side in ("left", "bottom"))
    return figure, axes


def paper(axes: Axes, log_x: bool = False, log_y: bool = False) -> None:
    """Linear or logarithmic axes with a faint grid at a few numbers: more would take most of the time of a drawing."""
    for axis, name, log in ((axes.xaxis, "x", log_x), (axes.yaxis, "y", log_y)):
        axes.set(**{f"{name}scale": "log" if log else "linear"})
        if log:
            axis.set_minor_locator(NullLocator())
        else:
            axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.grid(color=FAINT, alpha=0.25, linewidth=0.7)


def name_axes(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    """Write title and axis labels in ink; a long title is broken rather than cut off."""
    letters = int((_inches(axes) - 1.2) * 10.5)
    axes.set_title(textwrap.fill(title, max(letters, 20)), color=INK, fontsize=TEXT + 1, loc="left", y=1.0)
    axes.set_xlabel(x_label, color=INK, fontsize=TEXT)
    axes.set_ylabel(y_label, color=INK, fontsize=TEXT)


def name_lines(figure: Figure, axes: Axes) -> None:
    """Put the legend under the axes, where it can hide nothing, and everything else in its place."""
    handles, labels = axes.get_legend_handles_labels()
    below = 0.0
    if labels:
        labels = [textwrap.fill(label, int(figure.get_figwidth() * 11) - 6) for label in labels]
        widest = max(text_width(label, SMALL) for label in labels) + BESIDE
        columns = max(1, min(len(labels), int(figure.get_figwidth() / widest)))
        rows = -(-len(labels) // columns) + sum(label.count("\n") for label in labels)
        # The paper grows with the legend, so that the axes keep their size.
        figure.set_figheight(figure.get_figheight() + 0.2 * max(0, rows - 2))
        below = rows * 1.5 * SMALL / 72 + 0.1  # half a letter between rows
        look = {"frameon": False, "fontsize": SMALL, "labelcolor": INK, "borderaxespad": 0.3}
        figure.legend(handles, labels, loc="lower left", bbox_to_anchor=(0.0, 0.0), ncols=columns, **look)
    settle(figure, axes, below=below)


def _inches(axes: Axes) -> float:
    part = axes.get_figure()  # may be a part of a figure
    return part.figure.get_figwidth() if part is not None else 0.0


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
        apart = _apart(np.log10(places))
        axes.set_xticks(places[apart], labels=[readable(place) for place in places[apart]])
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        log_ticks(axes.xaxis)


def log_ticks(axis: Axis) -> None:
    """Numbers that people write along a logarithmic axis: 1, 2, 3, 5 and powers of ten, the latter alone if many."""
    low, high = sorted(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0) if high / low < 300 else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: readable(value)))
    axis.set_minor_formatter(NullFormatter())


def _apart(places: Array) -> list[int]:
    """Which of the sorted places can be labelled without running into each other, from the right."""
    least = 0.08 * (places[-1] - places[0])
    kept: list[int] = []
    for index in reversed(range(len(places))):
        if not kept or places[kept[-1]] - places[index] >= least:
            kept.append(index)
    return kept


def readable(value: float) -> str:
    """Write an axis number: 3072, 0.25, and powers of ten as such.

    >>> readable(3072), readable(1e9), readable(2.5e-7)
    ('3072', '10⁹', '2.5e-07')
    """
    exponent = np.log10(value) if value > 0 else 0.0
    if abs(exponent) >= 4 and abs(exponent - round(exponent)) < 1e-9:
        return "10" + str(round(exponent)).translate(_SUPERSCRIPT)
    return f"{value:g}"


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """The width of the longest line in inches, at `size` points.

    >>> 0.3 < text_width("robust", 10.0) < 0.8
    True
    """
    font = get_font(findfont(FontProperties()))
    font.set_size(size, 72)
    widths = []
    for line in text.split("\n"):
        font.set_text(line, 0.0)
        widths.append(font.get_width_height()[0] / 64 / 72)
    return max(widths)


def text_height(text: str, size: float) -> float:
    """The height of all lines in inches; none takes no room."""
    return (text.count("\n") + 1) * LINE * size / 72 if text else 0.0


def settle(figure: Figure, axes: Axes, *, below: float = 0.0, beside: float = 0.0, slant: float = 0.0) -> None:
    """Leave room for numbers, labels and title around the axes, and `below` and `beside` them for what else is there.

    `slant` is the angle of the labels under the axes, in degrees.
    """
    width, height = figure.get_size_inches()
    # A formatter asks for the size of the axes before it thins out its numbers, so they need one now.
    figure.subplots_adjust(0.15, 0.2, 0.95, 0.9)
    up, across = _numbers(axes.yaxis), _numbers(axes.xaxis)
    size = axes.yaxis.get_tick_params()["labelsize"]
    left = PAD + max((text_width(text, size) for text in up), default=0.0) + GAP
    widest = max((text_width(text, size) for text in across), default=0.0)
    angle = math.radians(slant)
    numbers = widest * math.sin(angle) + text_height("0", size) if across else 0.0
    name_x, name_y, title = axes.xaxis.label, axes.yaxis.label, axes.get_title(loc="left")
    left += text_height(name_y.get_text(), float(name_y.get_fontsize()))
    left = max(left, PAD + widest / 2 * math.cos(angle))
    bottom = PAD + below + text_height(name_x.get_text(), float(name_x.get_fontsize())) + numbers + GAP
    top = PAD + text_height(title, 11.5) + (GAP / 2 if title else 0.0)
    right = max(PAD + beside, PAD + widest / 2)
    figure.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height)
    # Places of its own keep matplotlib from measuring everything again to find them.
    inner_width, inner_height = max(width - left - right, 0.1), max(height - top - bottom, 0.1)
    axes.yaxis.set_label_coords(-(left - PAD) / inner_width, 0.5)
    name_y.set_verticalalignment("top")
    axes.xaxis.set_label_coords(0.5, -(numbers + GAP) / inner_height)
    name_x.set_verticalalignment("top")


def _numbers(axis: Axis) -> list[str]:
    """What is written at an axis."""
    places = [place for place in axis.get_majorticklocs() if _inside(axis, place)]
    return [text for text in axis.get_major_formatter().format_ticks(places) if text]


def _inside(axis: Axis, place: float) -> bool:
    low, high = sorted(axis.get_view_interval())
    return bool(low - 1e-9 * abs(low) <= place <= high + 1e-9 * abs(high))
