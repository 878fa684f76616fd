"""A chapter as a trial of a sweep: the same `measure`, at one seed and one case, over any fields of its `Config`.

function = "featavg.experiments.trial:measured"
base = { chapter = "regime", case = "1", moments = [100] }
axes = { samples = [300, 1000], dim = [1000, 3000] }
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from featavg.errors import InputError
from featavg.experiments.driver import call, cases_of, table_of
from featavg.experiments.registry import Registry
from featavg.progress import silent


def measured(chapter: str, seed: int, case: str | None = None, **config: Any) -> dict[str, Any]:
    """What `measure` of a chapter returns for one seed, with `config` in place of its defaults.

    Arrays become one number per place, named after it. `case` is the label of one of the chapter's cases, if it has
    any.

    >>> found = measured("samples", seed=1, case="n = 10, d = 30", samples=[10], dims=[30], test_points=5)
    >>> sorted(found)[:3]
    ['accuracy', 'accuracy_gap', 'cosine']
    """
    module, settings, chosen = _asked(chapter, case, config)
    row = call(module.measure, config=settings, seed=seed, case=chosen, progress=silent)
    table = table_of(module, settings, [[row]])
    named: dict[str, Any] = {}
    for name, column in table.columns.items():
        axes = column.axes[column.axes.index("seed") + 1 :] if "seed" in column.axes else column.axes
        values = column.values.reshape(column.values.shape[len(column.axes) - len(axes) :])
        for place in np.ndindex(values.shape):
            where = ", ".join(f"{axis} {table.coords[axis][i]}" for axis, i in zip(axes, place, strict=True))
            named[f"{name} at {where}" if where else name] = values[place].item()
    return named


def _refused(chapter: str, case: str | None = None, **config: Any) -> str:
    try:
        _asked(chapter, case, config)
    except InputError as error:
        return str(error)
    return ""


# A sweep asks this of every combination before anything runs.
measured.check = _refused  # type: ignore[attr-defined]


def _asked(chapter: str, case: str | None, config: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The chapter's module, its configuration, and its case."""
    module = Registry()[chapter].module
    if hasattr(module, "prepare"):
        raise InputError(f"chapter {chapter!r} prepares its cases once for all seeds; run it with featavg reproduce")
    known = {field.name for field in fields(module.Config)} - {"seeds", "first_seed"}
    if wrong := sorted(set(config) - known):
        raise InputError(f"Config of chapter {chapter!r} has {', '.join(sorted(known))}, got {wrong[0]!r}")
    settings = module.Config(**{name: tuple(v) if isinstance(v, list) else v for name, v in config.items()})
    cases = {str(label): chosen for label, chosen in cases_of(module, settings)[1].items()}
    if (case or "") not in cases:
        raise InputError(f"case of chapter {chapter!r} must be one of {', '.join(cases)}, got {case!r}")
    return module, settings, cases[case or ""]
