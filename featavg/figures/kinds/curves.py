"""Lines over time or radius, with bands, theory values and published points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from featavg.figures.canvas import (
    INK,
    line_look,
    lines_of,
    log_ticks,
    name_axes,
    name_lines,
    one_label_each,
    paper,
    sheet,
    ticks_at,
)


def curves(
    x: ArrayLike,
    y: ArrayLike,
    *,
    caption: str,
    labels: Sequence[str] = (),
    dashed: Sequence[str] = (),
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    published_x: ArrayLike | None = None,
    published_y: ArrayLike | None = None,
    published_labels: Sequence[str] = (),
    levels: Sequence[tuple[float, str]] = (),
    marks: Sequence[tuple[float, str]] = (),
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    title: str = "",
    width: float = 6.4,
) -> Figure:
    """Draw `y` (line, point) over `x` (point,) or (line, point), with a band between `lower` and `upper`.

    Lines with a label in `dashed` are dashes, which show a line that they lie on.
    `levels` are horizontal lines, `marks` vertical ones, each (value, label); published series (line, point) are
    open markers in the colour of the line of the same number.

    >>> curves([0, 1, 2], [[0.0, 0.5, 0.9]], caption="It grows.", labels=["λ"]).axes[0].get_lines()[0].get_label()
    'λ'
    """
    lines = lines_of(y, "y")
    places = lines_of(x, "x", lines.shape)
    figure, axes = sheet(caption, width)
    paper(axes, log_x, log_y)
    for index, label in enumerate(one_label_each(labels, len(lines), "labels")):
        colour, stroke = line_look(index)
        stroke = "dashed" if label in dashed else stroke
        axes.plot(places[index], lines[index], color=colour, linestyle=stroke, linewidth=1.8, label=label or None)
    if lower is not None and upper is not None:
        bottom, top = lines_of(lower, "lower", lines.shape), lines_of(upper, "upper", lines.shape)
        for index in range(len(lines)):
            axes.fill_between(
                places[index], bottom[index], top[index], color=line_look(index)[0], alpha=0.2, linewidth=0
            )
    if published_x is not None and published_y is not None:
        _points(axes, published_x, published_y, published_labels)
    if log_x:
        ticks_at(axes, np.unique(places[places > 0]))
    if log_y:
        log_ticks(axes.yaxis)
    _references(axes, levels, marks)
    name_axes(axes, title, x_label, y_label)
    name_lines(figure, axes)
    return figure


def _points(axes: Axes, x: ArrayLike, y: ArrayLike, labels: Sequence[str]) -> None:
    series = lines_of(y, "published_y")
    places = lines_of(x, "published_x", series.shape)
    for index, label in enumerate(one_label_each(labels, len(series), "published_labels")):
        colour, _ = line_look(index)
        axes.plot(
            places[index], series[index], "o", markersize=5.5, markerfacecolor="none", color=colour, label=label or None
        )


def _references(axes: Axes, levels: Sequence[tuple[float, str]], marks: Sequence[tuple[float, str]]) -> None:
    dashes = ((5, 2), (1.5, 1.5), (7, 2, 1.5, 2), (3, 3))
    for number, (value, label) in enumerate(levels):
        axes.axhline(float(value), color=INK, linewidth=1.1, dashes=dashes[number % len(dashes)], label=label)
    for number, (value, label) in enumerate(marks, start=len(levels)):
        axes.axvline(float(value), color=INK, linewidth=1.1, dashes=dashes[number % len(dashes)], label=label)
