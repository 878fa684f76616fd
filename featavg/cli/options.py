"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="An .npz, a .csv, a folder of images by class, or digits, mnist, ...")
]
Label = Annotated[str | None, typer.Option(help="Column of the labels; by default y in an npz, label in a CSV.")]
Sublabels = Annotated[
    str | None,
    typer.Option(
        help="Finer labels: a CSV of one column (a row for each point, empty where unknown), a column of the data, or "
        "none to find them though the data has some."
    ),
]
Task = Annotated[
    str | None, typer.Option(help="Of a built-in set: parity, halves, or the classes that are +1, as 0,3,7.")
]
Drop = Annotated[list[str] | None, typer.Option(help="A column of a CSV to leave out; may be given several times.")]
KeepAccuracy = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="The largest loss of accuracy that the verdict allows.")
]
Json = Annotated[Path | None, typer.Option("--json", help="Write every number to this file.")]
Seed = Annotated[int, typer.Option(min=0, help="Of everything random.")]
