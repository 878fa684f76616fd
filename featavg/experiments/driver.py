"""Runs a chapter: `measure` over cases and seeds into a table, then what follows from the table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import asdict, replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from featavg.errors import InputError
from featavg.experiments.chapter import Quantity, told
from featavg.progress import Progress, part
from featavg.record import Column, Drawing, Evidence, Provenance, Record, Table
from featavg.threads import one_thread

if TYPE_CHECKING:
    from featavg.experiments.registry import Chapter

Rows = MutableMapping[tuple[str, int], Mapping[str, Any]]  # (case, seed) -> what `measure` returned
PREPARATION = 0.2  # the share of a case's time that `prepare` is thought to take


@one_thread()
def run_chapter(
    chapter: Chapter, config: Any, progress: Progress, rows: Rows | None = None, spent: float = 0.0
) -> Record:
    """Run a chapter; what `rows` holds already, which took `spent` seconds, is not measured again.

    What is measured is put into `rows` at once.
    """
    began, module = time.perf_counter() - spent, chapter.module
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    axis, cases = cases_of(module, config)
    found: Rows = {} if rows is None else rows
    prepared: dict[Any, Any] = {}
    for i, (label, case) in enumerate(cases.items()):
        tell = part(progress, i / len(cases), (i + 1) / len(cases), str(label))
        prepared[label], start = case, 0.0
        if prepare := getattr(module, "prepare", None):
            prepared[label] = call(prepare, config=config, case=case, progress=part(tell, 0.0, PREPARATION))
            start = PREPARATION
        for j, seed in enumerate(seeds):
            low, high = (start + (1 - start) * (j + k) / len(seeds) for k in (0, 1))
            if (str(label), seed) not in found:
                within = part(tell, low, high, f"seed {seed}")
                given = {"config": config, "seed": seed, "case": prepared[label], "progress": within}
                found[str(label), seed] = call(module.measure, **given)
            tell(high, f"seed {seed}")
    table = table_of(module, config, [[found[str(label), seed] for seed in seeds] for label in cases])
    table = replace(table, coords={**table.coords, "seed": np.array(seeds), **({axis: list(cases)} if axis else {})})
    context = {"config": config, "prepared": prepared if axis else prepared[""]}
    return _record(chapter, context, _described(module, context, table), seeds, began)


def _record(chapter: Chapter, context: dict[str, Any], table: Table, seeds: range, began: float) -> Record:
    module, config = chapter.module, context["config"]
    drawings = [_filled(drawing, config, table) for drawing in _all(module, "drawings", context, table)]
    notes = [told(note, config, table) for note in _all(module, "notes", context, table)]
    claims = [expect.claim(config, table) for expect in _all(module, "claims", context, table)]
    provenance = Provenance(seconds=round(time.perf_counter() - began, 3), code=chapter.code)
    evidence = Evidence(table, tuple(drawings), tuple(notes), provenance)
    return Record(chapter.name, chapter.title, asdict(config), tuple(seeds), tuple(claims), evidence)


def cases_of(module: Any, config: Any) -> tuple[str, dict[Any, Any]]:
    """The axis of the cases and the cases by their labels; one without a name where a chapter has none."""
    if not hasattr(module, "CASES"):
        return "", {"": None}
    ((axis, cases),) = module.CASES.items()
    made = cases(config) if callable(cases) else cases
    return axis, dict(made) if isinstance(made, Mapping) else {case: case for case in made}


def table_of(module: Any, config: Any, rows: list[list[Mapping[str, Any]]]) -> Table:
    """Columns (case, seed, ...) from rows by case and seed; without the first axis where there are no cases."""
    lead = (*getattr(module, "CASES", {}), "seed")
    columns: dict[str, Column] = {}
    sizes: dict[str, int] = {}
    for name in rows[0][0]:
        if name not in module.COLUMNS:
            raise InputError(f"`measure` returns {name!r}, which COLUMNS does not describe; say there what it is")
        about = module.COLUMNS[name]
        about = about if isinstance(about, Quantity) else Quantity(about)
        points = about.points(config) if callable(about.points) else about.points
        # A case without a name is the only one, and has no axis.
        values = np.array([case[0][name] if about.once else [row[name] for row in case] for case in rows])
        axes = (*lead[: -1 if about.once else None], *about.axes)
        columns[name] = Column(values if len(lead) > 1 else values[0], axes, about.text, about.unit, points)
        sizes |= dict(zip(columns[name].axes, columns[name].values.shape, strict=True))
    named = {axis: of(config) if callable(of) else of for axis, of in getattr(module, "COORDS", {}).items()}
    return Table(columns, {axis: named.get(axis, range(size)) for axis, size in sizes.items()})


def rows_of(module: Any, config: Any, table: Table) -> dict[tuple[str, int], dict[str, Any]]:
    """The rows that the table of a record was made from: `table_of` backwards."""
    labels, seeds = [str(label) for label in cases_of(module, config)[1]], table["seed"].tolist()
    rows: dict[tuple[str, int], dict[str, Any]] = {(label, seed): {} for label in labels for seed in seeds}
    for name in (name for name in table.columns if name in module.COLUMNS):
        column, about = table.columns[name], module.COLUMNS[name]
        once = isinstance(about, Quantity) and about.once
        keys = [(label, seed) for label in labels for seed in seeds[: 1 if once else None]]
        own = column.values.shape[len(column.axes) - len(about.axes if isinstance(about, Quantity) else ()) :]
        for key, value in zip(keys, column.values.reshape(-1, *own), strict=True):
            rows[key][name] = value
    return rows


def _described(module: Any, context: dict[str, Any], table: Table) -> Table:
    """The table with what is derived from it, all texts filled in."""
    if derive := getattr(module, "derive", None):
        measured, table = table.columns, call(derive, **context, table=table)
        # `rows_of` takes the columns that COLUMNS describes for what `measure` returned.
        for name in {*measured, *module.COLUMNS} & {*measured, *table.columns}:
            if name not in measured or table.columns.get(name) is not measured[name]:
                raise InputError(f"`derive` must leave {name!r}, which COLUMNS describes, to `measure`; rename its own")
    columns = {name: replace(c, text=told(c.text, context["config"], table)) for name, c in table.columns.items()}
    coords = {a: range(n) for c in columns.values() for a, n in zip(c.axes, c.values.shape, strict=True)}
    return Table(columns, {**coords, **table.coords})


def _all(module: Any, name: str, context: dict[str, Any], table: Table) -> list[Any]:
    """What stands in the chapter's NAME, and what its function `name` adds."""
    function: Callable[..., Iterable[Any]] | None = getattr(module, name, None)
    return [*getattr(module, name.upper(), ()), *(call(function, **context, table=table) if function else ())]


def _filled(drawing: Drawing, config: Any, table: Table) -> Drawing:
    def fill(value: Any) -> Any:
        if isinstance(value, list):
            return [fill(item) for item in value]
        return told(value, config, table) if isinstance(value, str) else value

    options = {name: fill(value) for name, value in drawing.options.items()}
    return replace(drawing, caption=fill(drawing.caption), options=options)


def call(function: Callable[..., Any], **offered: Any) -> Any:
    """Call a part of a chapter with those arguments that it names."""
    return function(**{name: offered[name] for name in signature(function).parameters})
