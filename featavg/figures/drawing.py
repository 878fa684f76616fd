"""Turns the drawings that a record holds in words into figures."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.figure import Figure

from featavg.errors import InputError
from featavg.figures.kinds import KINDS
from featavg.record import Drawing, Table


def draw(drawing: Drawing, table: Table) -> Figure:
    """Draw one drawing of a record from the table of that record.

    >>> drawing = Drawing("curves", {"x": "time", "y": "loss"}, caption="It falls.", options={"log_y": True})
    >>> draw(drawing, Table.of({"time": [0, 1, 2], "loss": [1.0, 0.1, 0.01]})).axes[0].get_yscale()
    'log'
    """
    if drawing.kind not in KINDS:
        raise InputError(f"a drawing must be one of {', '.join(KINDS.names())}, got {drawing.kind!r}")
    make: Callable[..., Figure] = getattr(KINDS.module(drawing.kind), drawing.kind)
    try:
        return make(**drawing.arguments(table), caption=drawing.caption)
    except TypeError as error:
        raise InputError(f"the drawing {drawing.caption!r} cannot be drawn ({error})") from None
