"""Phase diagrams and lines from the table of a sweep, in words: the report and the figures draw them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from featavg.errors import InputError
from featavg.record import SEED, Column, Drawing, Evidence, Result, Table
from featavg.sweep.table import Results

LEVEL = 0.95


def picture(
    results: Results, value: str, x: str, *, y: str = "", lines: str = "", at: Mapping[str, Any] | None = None
) -> Result:
    """What a page draws of a sweep: `value`, averaged over seeds, as a phase diagram over x and y, or as lines over x.

    Args:
        results: a complete grid, see `Results.to_table`.
        value: a number that the function returned.
        x: the axis to the right.
        y: the axis downward of a phase diagram.
        lines: instead of y, the axis with one line per value.
        at: where to stand on every other axis.

    >>> import tempfile
    >>> from featavg.sweep.engine import run_sweep
    >>> spec = {"function": "featavg.sweep.examples:line", "axes": {"slope": [1, 2]}, "seeds": 3}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     picture(run_sweep(spec, folder, workers=0), "height", "slope").evidence.table.mean("height")
    array([2., 4.])
    """
    if y and lines:
        raise InputError("a picture has either a second axis or lines, got both")
    table = results.to_table()
    if unknown := sorted(set(at or {}) - set(table.coords)):
        raise InputError(f"the sweep varies {', '.join(table.coords)}, got a place on {unknown[0]!r}")
    table = table.at(**(at or {}))
    if value not in table.columns:
        raise InputError(f"the sweep measured {', '.join(table.columns)}, got {value!r}")
    wanted = [name for name in (y or lines, x, SEED) if name]
    column = _ordered(table.columns[value], wanted)
    told = ", ".join(f"{name} = {place}" for name, place in (at or {}).items())
    shown = Table({value: column}, {axis: table.coords[axis] for axis in wanted})
    seeds = len(shown.coords[SEED])
    title = f"{value} over {x}" + (f" and {y or lines}" if y or lines else "") + (f" at {told}" if told else "")
    drawing = _phase(value, x, y, seeds) if y else _lines(shown, value, x, lines, seeds)
    facts = (("trials", str(len(results))), ("seeds", str(seeds)), ("failed", str(len(results.failed))))
    return Result("sweep", title, facts, dict(at or {}), evidence=Evidence(shown, (drawing,)))


def _ordered(column: Column, wanted: list[str]) -> Column:
    if unknown := [name for name in wanted if name not in column.axes]:
        raise InputError(f"the axes of the sweep are {', '.join(column.axes)}, got {unknown[0]!r}")
    if left := [axis for axis in column.axes if axis not in wanted]:
        raise InputError(f"the sweep also varies {', '.join(left)}; say where to stand on it, as {left[0]}=VALUE")
    values = column.values.transpose([column.axes.index(name) for name in wanted])
    return replace(column, values=values, axes=tuple(wanted))


def _phase(value: str, x: str, y: str, seeds: int) -> Drawing:
    return Drawing(
        "heatmap",
        {"values": value, "row_labels": y, "column_labels": x},
        f"{value}, mean over {seeds} seeds.",
        {"rows": y, "columns": x, "scale_label": value},
    )


def _lines(table: Table, value: str, x: str, lines: str, seeds: int) -> Drawing:
    band = LEVEL if seeds > 1 else None
    places = table[x]
    if places.dtype.kind not in "iuf":
        raise InputError(f"lines need numbers along {x}, got {', '.join(map(str, places))}; draw it as y=")
    steps = np.diff(np.log(places)) if (places > 0).all() and len(places) > 2 else np.zeros(1)
    spread = bool(steps.sum() > np.log(20))  # over more than a decade equal steps hide the small values
    names = {"labels": [f"{lines} = {place}" for place in table[lines].tolist()]} if lines else {}
    around = f", with Student's {LEVEL:.0%} interval" if band else ""
    return Drawing(
        "curves",
        {"x": x, "y": value},
        f"{value}, mean over {seeds} seeds{around}" + (f", one line per {lines}." if lines else "."),
        {"x_label": x, "y_label": value, "log_x": spread, **names},
        band,
    )
