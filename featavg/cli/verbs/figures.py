"""The pictures of records, for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from featavg.cli.verbs.report import read_runs
from featavg.errors import InputError

FORMATS = ("pdf", "svg", "png")


def verb(
    runs: Annotated[Path, typer.Argument(help="A folder of records.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write to.")] = Path("figures"),
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="pdf, svg or png; may be given several times; pdf by default.")
    ] = None,
) -> None:
    """Draw every picture of the records as a file: 6.4 inches wide, the text of a page, with its fonts in it."""
    from featavg.cli.progress import Working
    from featavg.figures import draw, figure_bytes
    from featavg.files import make_folder, write_whole

    wanted = list(dict.fromkeys(formats or ["pdf"]))
    if wrong := [one for one in wanted if one not in FORMATS]:
        raise InputError(f"a figure is written as {', '.join(FORMATS)}, got {wrong[0]!r}")
    records = read_runs(runs)
    make_folder(output)
    with Working("drawing") as shown:
        for done, record in enumerate(records):
            shown.tell(done / len(records), record.name)
            for number, drawing in enumerate(record.evidence.drawings, start=1):
                figure = draw(drawing, record.evidence.table)
                for kind in wanted:
                    write_whole(output / f"{record.name}-{number}.{kind}", figure_bytes(figure, kind))
    pictures = sum(len(record.evidence.drawings) for record in records)
    typer.echo(f"{output}: {pictures * len(wanted)} files of {pictures} pictures")
