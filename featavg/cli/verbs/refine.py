"""Finer labels for a user's own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from featavg.cli.options import Data, Drop, Json, KeepAccuracy, Label, Seed, Sublabels, Task
from featavg.errors import InputError


def verb(
    data: Data,
    output: Annotated[Path, typer.Option("-o", "--output", help="The model to write: .npz or .safetensors.")],
    label: Label = None,
    sublabels: Sublabels = None,
    task: Task = None,
    drop: Drop = None,
    subclasses: Annotated[str, typer.Option(metavar="auto|N", help="Sub-classes per class.")] = "auto",
    keep_accuracy: KeepAccuracy = 0.01,
    scale: Annotated[bool, typer.Option("--scale", help="Standardise the columns, as a part of the model.")] = False,
    baselines: Annotated[bool, typer.Option(help="Measure scikit-learn's classifiers beside it.")] = True,
    page: Annotated[Path | None, typer.Option("-p", "--page", help="Write a page about it, too.")] = None,
    as_json: Json = None,
    seed: Seed = 0,
) -> None:
    """Find finer labels, train a two-layer network on them, and show it before and after.

    It is trained on four fifths of the data and compared on the last one with a network of as many neurons that was
    trained on the labels as they are, for three fifths in turn; of a built-in set the training part is taken. Load with
    featavg.load_classifier, or give it to `featavg diagnose`.
    """
    from featavg.cli.progress import Working, say_what_was_read
    from featavg.cli.tables import plain_table, show
    from featavg.data import open_data, sublabels_of
    from featavg.files import check_place, write_whole
    from featavg.refine import refine_points, save_classifier, standings_table

    check_place(output, ".npz", ".safetensors")
    for place in filter(None, (page, as_json)):
        check_place(place)
    wanted = _count(subclasses)
    with Working("reading the data") as working:
        points = open_data(data, label, sublabels, task, drop=drop or (), progress=working.fetched)
        say_what_was_read(points, drop or ())
        found = refine_points(
            points.x, points.y, sublabels_of(points), n_subclasses=wanted, keep_accuracy=keep_accuracy, seed=seed,
            scale=scale, baselines=baselines, progress=working.tell,
        )  # fmt: skip
        if page is not None:
            found.report(page, points)
        if as_json is not None:
            write_whole(as_json, found.compared.to_json())
        found.model.columns_ = points.feature_names
        save_classifier(found.model, output)
    typer.echo(f"{found.compared.verdict}\n")
    show(plain_table(found.compared.table(), ("", "before", "after")))
    for table in (standings_table(found.compared.standings) if baselines else [], found.front_table()):
        if table:
            typer.echo()
            show(plain_table(table[1:], table[0]))
    typer.echo(f"\n{found.compared.note}\n\nmodel: {output}" + ("" if page is None else f"\npage: {page}"))


def _count(subclasses: str) -> int | Literal["auto"]:
    if subclasses == "auto":
        return "auto"
    if not subclasses.isdigit() or int(subclasses) < 1:
        raise InputError(f"--subclasses must be auto or a number from 1, got {subclasses!r}")
    return int(subclasses)
