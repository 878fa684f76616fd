"""Points on log-log paper with a theoretical line: is the exponent the theorem's?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from featavg.errors import InputError
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

MARKERS = ("o", "s", "^", "D", "v", "P")


def scaling(
    x: ArrayLike,
    y: ArrayLike,
    *,
    caption: str,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    theory: ArrayLike | None = None,
    labels: Sequence[str] = (),
    theory_labels: Sequence[str] = (),
    x_label: str = "",
    y_label: str = "",
    title: str = "",
    width: float = 6.4,
) -> Figure:
    """Draw `y` (line, point) over `x` (point,) with intervals; `theory` are the values of dashed lines at `x`.

    >>> figure = scaling([4, 16], [8.0, 4.0], caption="Slope −1/2.", theory=[8, 4], theory_labels=["√(d/k)"])
    >>> figure.axes[0].get_yscale()
    'log'
    """
    points = lines_of(y, "y")
    places = lines_of(x, "x", points.shape)
    if not (np.nanmin(points) > 0 and np.nanmin(places) > 0):
        raise InputError("a log-log figure needs x and y above 0; draw these numbers with curves")
    figure, axes = sheet(caption, width)
    paper(axes, log_x=True, log_y=True)
    reach = None
    if lower is not None and upper is not None:
        bottom, top = lines_of(lower, "lower", points.shape), lines_of(upper, "upper", points.shape)
        # A bar that would reach 0 cannot be drawn on log paper: it ends far below the point instead.
        reach = np.stack([points - np.maximum(bottom, points * 1e-3), top - points])
    for index, label in enumerate(one_label_each(labels, len(points), "labels")):
        axes.errorbar(
            places[index],
            points[index],
            yerr=None if reach is None else np.maximum(reach[:, index], 0),
            fmt=MARKERS[index % len(MARKERS)],
            color=line_look(index)[0],
            capsize=3,
            markersize=6,
            label=label or "measured",
        )
    if theory is not None:
        lines = lines_of(theory, "theory", points.shape)
        for index, label in enumerate(one_label_each(theory_labels, len(lines), "theory_labels")):
            # One theory is ink; several are told apart by the colours of their points.
            colour = INK if len(lines) == 1 else line_look(index)[0]
            name = label or "theory"
            axes.plot(places[index], lines[index], color=colour, linestyle="dashed", linewidth=1.4, label=name)
    ticks_at(axes, np.unique(places))
    log_ticks(axes.yaxis)
    name_axes(axes, title, x_label, y_label)
    name_lines(figure, axes)
    return figure
