"""Data sets: get them once, checked, into the cache; and look at your own."""

from __future__ import annotations

from typing import Annotated

import typer

from featavg.cli.options import Data, Drop, Label, Sublabels, Task

verb = typer.Typer(no_args_is_help=True, help="Data sets: get them once, checked, and see how your own are read.")


@verb.command("fetch")
def fetch_data(name: Annotated[str, typer.Argument(help="mnist, fashion-mnist or cifar10.")]) -> None:
    """Get a data set, check its hashes, and keep it in the cache."""
    from featavg.cli.progress import Download
    from featavg.data import fetch

    with Download() as download:
        folder = fetch(name, download.tell)
    typer.echo(folder)


@verb.command("show")
def show_data(
    data: Data, label: Label = None, sublabels: Sublabels = None, task: Task = None, drop: Drop = None
) -> None:
    """Say what would be read: points, columns, classes, and what looks wrong."""
    from featavg.cli.progress import Working
    from featavg.data import describe, open_data, remarks

    with Working("reading the data") as working:
        points = open_data(data, label, sublabels, task, drop=drop or (), progress=working.fetched)
    typer.echo("\n".join([describe(points, drop or ()), *remarks(points)]))
