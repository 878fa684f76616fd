"""A figure as SVG inside the page: text stays text, ink takes the colour of the page, nothing is loaded."""

from __future__ import annotations

import io
import re
from html import escape

import matplotlib
from matplotlib.figure import Figure

from featavg.figures import INK

_NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}


def inline_svg(figure: Figure, prefix: str) -> str:
    """Return the figure as an <svg> element; `prefix` makes its ids unique in the page.

    >>> from featavg.figures import curves
    >>> text = inline_svg(curves([0, 1], [0.0, 1.0], caption="Up & away"), "a1")
    >>> text.startswith("<svg"), "http" in text, "Up &amp; away" in text
    (True, False, True)
    """
    buffer = io.StringIO()
    # A fixed salt: the same record gives the same page.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "featavg"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata=_NO_METADATA)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r' (xmlns(:\w+)?|version|width|height)="[^"]*"', "", svg[: svg.index(">")]) + svg[svg.index(">") :]
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{prefix}-", svg)
    svg = svg.replace(INK, "currentColor")
    width = round(figure.get_figwidth() * 6.25, 1)  # 16 pixels a rem, 100 pixels an inch
    label = escape(str(figure.get_label()))
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}" style="width:{width}rem"', 1).strip()
