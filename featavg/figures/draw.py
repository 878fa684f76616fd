"""Turns the drawings that a record holds in words into figures."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.figure import Figure

from featavg.errors import InputError
from featavg.figures.curves import curves
from featavg.figures.dots import dots
from featavg.figures.heatmap import heatmap
from featavg.figures.images import images
from featavg.figures.scaling import scaling
from featavg.figures.scatter import scatter
from featavg.record import Drawing, Table

KINDS: dict[str, Callable[..., Figure]] = {
    "curves": curves,
    "dots": dots,
    "heatmap": heatmap,
    "images": images,
    "scaling": scaling,
    "scatter": scatter,
}


def draw(drawing: Drawing, table: Table) -> Figure:
    """Draw one drawing of a record from the table of that record.

    >>> drawing = Drawing("curves", {"x": "time", "y": "loss"}, caption="It falls.", options={"log_y": True})
    >>> draw(drawing, Table.of({"time": [0, 1, 2], "loss": [1.0, 0.1, 0.01]})).axes[0].get_yscale()
    'log'
    """
    if drawing.kind not in KINDS:
        raise InputError(f"a drawing must be one of {', '.join(KINDS)}, got {drawing.kind!r}")
    try:
        return KINDS[drawing.kind](**drawing.arguments(table), caption=drawing.caption)
    except TypeError as error:
        raise InputError(f"the drawing {drawing.caption!r} cannot be drawn ({error})") from None
