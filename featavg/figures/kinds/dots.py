"""Measured values with their intervals against what was expected, one row each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from featavg.arrays import Array, finite_vector
from featavg.errors import InputError
from featavg.figures.canvas import FAINT, INK, PALETTE, SMALL, name_axes, name_lines, one_label_each, sheet


def dots(
    measured: ArrayLike,
    *,
    caption: str,
    labels: Sequence[str],
    lower: ArrayLike,
    upper: ArrayLike,
    expected: ArrayLike | None = None,
    limits: tuple[float, float] | None = None,
    x_label: str = "",
    title: str = "",
) -> Figure:
    """Draw `measured` (row,) with intervals `lower` to `upper`, and a tick at `expected`.

    What lies beyond `limits` is drawn at the border with an arrow.

    >>> figure = dots([0.44], caption="One.", labels=["cosine"], lower=[0.43], upper=[0.45], expected=[0.447])
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['cosine']
    """
    values = finite_vector(measured, "measured")
    count = len(values)
    names = one_label_each(labels, count, "labels")
    low, high = _same_length(lower, count, "lower"), _same_length(upper, count, "upper")
    figure, axes = sheet(caption, width=5.4 + max(map(len, names), default=0) / 12, height=1.5 + 0.34 * count)
    if limits is not None:
        axes.set_xlim(*limits)
    if expected is not None:
        axes.plot(_same_length(expected, count, "expected"), range(count), "|", color=INK, markersize=13, zorder=2)
    _marks(axes, values, low, high)
    axes.set_yticks(range(count), labels=names, fontsize=SMALL)
    axes.set_ylim(count - 0.4, -0.6)
    axes.grid(color=FAINT, alpha=0.25, linewidth=0.7, axis="x")
    axes.tick_params(axis="y", length=0)
    name_axes(axes, title, x_label, "")
    name_lines(figure, axes)
    return figure


def _marks(axes: Axes, values: Array, low: Array, high: Array) -> None:
    if np.isfinite([low, high]).all():
        axes.update_datalim(np.stack([np.concatenate([low, high]), np.zeros(2 * len(low))], axis=1))
        axes.autoscale_view(scaley=False)
    left, right = axes.get_xlim()
    for row, value in enumerate(values):
        axes.hlines(row, max(low[row], left), min(high[row], right), color=PALETTE[0], linewidth=2, zorder=3)
        shown = float(np.clip(value, left, right))
        mark = "o" if shown == value else ("<" if value < left else ">")
        axes.plot([shown], [row], mark, color=PALETTE[0], markersize=7, zorder=4, clip_on=False)


def _same_length(values: ArrayLike, count: int, name: str) -> Array:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (count,) or np.isnan(vector).any():
        raise InputError(f"{name} must be {count} numbers like measured, got shape {vector.shape}")
    return vector
