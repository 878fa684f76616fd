"""Where everything goes on the paper: margins from the widths of the texts, measured once each.

matplotlib's own layout engines draw every figure twice to find this out, which is most of the time a page takes.
"""

from __future__ import annotations

import math
from functools import lru_cache

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

PAD = 0.1  # inches at every edge
GAP = 0.12  # between an axis and the numbers at it
LINE = 1.25  # heights of a letter


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
