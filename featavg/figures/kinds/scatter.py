"""Named points in the plane: what each method costs, and what it gets wrong."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from featavg.arrays import finite_vector
from featavg.figures.canvas import line_look, log_ticks, name_axes, name_lines, one_label_each, paper, sheet
from featavg.figures.kinds.scaling import MARKERS


def scatter(
    x: ArrayLike,
    y: ArrayLike,
    *,
    caption: str,
    labels: Sequence[str],
    log_x: bool = False,
    x_label: str = "",
    y_label: str = "",
    title: str = "",
) -> Figure:
    """Draw a marker of its own for each point (x, y), both (point,).

    >>> scatter([0.1, 1.0], [0.0, 0.6], caption="Two methods.", labels=["exact", "attack"], log_x=True).get_label()
    'Two methods.'
    """
    across = finite_vector(x, "x")
    up = finite_vector(y, "y", len(across))
    figure, axes = sheet(caption, height=4.6)
    paper(axes, log_x)
    for index, label in enumerate(one_label_each(labels, len(across), "labels")):
        # Marks and colours come round together; shifted by one each time, no two points look the same.
        mark = MARKERS[(index + index // len(MARKERS)) % len(MARKERS)]
        axes.plot([across[index]], [up[index]], mark, color=line_look(index)[0], markersize=8, label=label)
    if log_x:
        log_ticks(axes.xaxis)
    name_axes(axes, title, x_label, y_label)
    name_lines(figure, axes)
    return figure
