"""From a drawing that a record holds in words to a figure, and from there to the bytes of a file."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from featavg.errors import InputError
from featavg.figures.kinds import KINDS
from featavg.record import Drawing, Table

DOTS = 300  # an inch, of a PNG
# TrueType fonts inside a PDF, outlines inside an SVG: both look the same wherever they are opened.
LOOK: Any = {"pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "featavg"}
NO_TIME: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}


def draw(drawing: Drawing, table: Table) -> Figure:
    """Draw one drawing of a record from the table of that record.

    >>> drawing = Drawing("curves", {"x": "time", "y": "loss"}, caption="It falls.", options={"log_y": True})
    >>> draw(drawing, Table.of({"time": [0, 1, 2], "loss": [1.0, 0.1, 0.01]})).axes[0].get_yscale()
    'log'
    """
    if drawing.kind not in KINDS:
        raise InputError(f"a drawing must be one of {', '.join(KINDS)}, got {drawing.kind!r}")
    make: Callable[..., Figure] = getattr(KINDS.module(drawing.kind), drawing.kind)
    try:
        return make(**drawing.arguments(table), caption=drawing.caption)
    except TypeError as error:
        raise InputError(f"the drawing {drawing.caption!r} cannot be drawn ({error})") from None


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """The figure as pdf, svg or png, with its caption inside where the format has a place for it.

    The same figure gives the same bytes.

    >>> from featavg.figures import curves
    >>> figure_bytes(curves([0, 1], [0.0, 1.0], caption="Up"), "pdf")[:5]
    b'%PDF-'
    """
    buffer = io.BytesIO()
    metadata = {**NO_TIME[kind], "Title": str(figure.get_label())}
    with matplotlib.rc_context(LOOK):
        figure.savefig(buffer, format=kind, dpi=DOTS, metadata=metadata)
    return buffer.getvalue()
