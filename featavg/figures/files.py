"""A figure as the bytes of a file, the same for the same figure."""

from __future__ import annotations

import io
from typing import Any

import matplotlib
from matplotlib.figure import Figure

DOTS = 300  # an inch, of a PNG
# TrueType fonts inside a PDF, outlines inside an SVG: both look the same wherever they are opened.
LOOK: Any = {"pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "featavg"}
NO_TIME: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """The figure as pdf, svg or png, with its caption inside where the format has a place for it.

    >>> from featavg.figures import curves
    >>> figure_bytes(curves([0, 1], [0.0, 1.0], caption="Up"), "pdf")[:5]
    b'%PDF-'
    """
    buffer = io.BytesIO()
    metadata = {**NO_TIME[kind], "Title": str(figure.get_label())}
    with matplotlib.rc_context(LOOK):
        figure.savefig(buffer, format=kind, dpi=DOTS, metadata=metadata)
    return buffer.getvalue()
