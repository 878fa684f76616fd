"""The page, drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from featavg.errors import InputError

if TYPE_CHECKING:
    from featavg.record import Record

TABLES = (".csv", ".md", ".tex")


def verb(
    context: typer.Context,
    runs: Annotated[Path, typer.Argument(help="A folder of records.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The page to write; .csv, .md or .tex for the verdicts alone.")
    ] = Path("report.html"),
) -> None:
    """Draw the page from records, without running anything."""
    from featavg.files import check_place, write_whole
    from featavg.record import verdict_table

    if output.suffix == ".pdf":
        raise InputError(
            f"a report is a page (.html) or a table (.csv, .md, .tex), got {output.name}; print the page from a "
            "browser, or take its pictures as PDF with `featavg figures`"
        )
    records = read_runs(runs)
    check_place(output, ".html", ".htm", *TABLES)
    if output.suffix in TABLES:
        write_whole(output, verdict_table(records, output.suffix))
        typer.echo(output)
        return
    typer.echo(write_page(records, output, context.obj))


def write_page(records: list[Record], path: Path, experiments: str) -> Path:
    """Write the page of records, under the themes of their chapters, with the lab in it."""
    from featavg.experiments import Registry
    from featavg.lab import inside
    from featavg.report import write_report  # draws, which a table needs not

    return write_report(records, path, themes=Registry(experiments).themes, lab=inside())


def read_runs(runs: Path) -> list[Record]:
    """The records of a folder, at least one, all of them whole."""
    from featavg.record import read_folder

    records, complaints = read_folder(runs)
    if complaints:
        raise InputError(complaints[0])
    if not records:
        raise InputError(f"no records in {runs}; make some with `featavg reproduce -o {runs}`")
    return records
