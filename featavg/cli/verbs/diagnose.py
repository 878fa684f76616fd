"""A user's own model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from featavg.cli.options import Data, Drop, Json, KeepAccuracy, Label, Seed, Sublabels, Task


def verb(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A network file, or weights with --architecture; never a pickle.")
    ],
    data: Data,
    label: Label = None,
    sublabels: Sublabels = None,
    task: Task = None,
    drop: Drop = None,
    architecture: Annotated[
        str | None,
        typer.Option(help="Of a state dict: two-layer, small-cnn or resnet18; sizes are read from the weights."),
    ] = None,
    train: Annotated[
        str | None, typer.Option(help="What it was trained on, named as DATA is; of a built-in set the training part.")
    ] = None,
    keep_accuracy: KeepAccuracy = 0.01,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("diagnosis.html"),
    as_json: Json = None,
    seed: Seed = 0,
) -> None:
    """Say whether a classifier averages its features, how robust it is, and whether finer labels would help.

    Give data it was not trained on; of a built-in set the test part is taken. With --train finer labels are tried on
    what it was trained on; without it on two thirds of DATA, which may be too few to advise.
    """
    from featavg.cli.progress import Working, say_what_was_read
    from featavg.cli.tables import plain_table, show
    from featavg.data import open_data, sublabels_of
    from featavg.files import check_place, write_whole
    from featavg.refine import check_columns, inputs_for, open_model
    from featavg.refine import diagnose as examine

    for place in filter(None, (output, as_json)):
        check_place(place)
    with Working("reading the data") as working:
        points = open_data(data, label, sublabels, task, "test", drop=drop or (), progress=working.fetched)
        working.say("reading the model")
        asked = open_model(model, architecture, points.shape)
        say_what_was_read(points, drop or ())
        check_columns(getattr(asked, "columns_", ()), points.feature_names)
        learned = None
        if train is not None:
            seen = open_data(train, label, sublabels, task, drop=drop or (), progress=working.fetched)
            learned = inputs_for(asked, seen), seen.y, sublabels_of(seen)
        found = examine(
            asked, inputs_for(asked, points), points.y, sublabels_of(points), train=learned,
            keep_accuracy=keep_accuracy, seed=seed, progress=working.tell,
        )  # fmt: skip
        working.tell(1.0, "drawing the page")
        page = found.report(output, points)
        if as_json is not None:
            write_whole(as_json, found.to_json())
    typer.echo(f"{found.verdict}\n")
    for rows in filter(None, (found.table(), found.gain_table())):
        show(plain_table(rows, ("", "")))
    typer.echo(f"\npage: {page}")
