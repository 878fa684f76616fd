"""The page, drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from featavg.errors import InputError


def verb(
    runs: Annotated[Path, typer.Argument(help="A folder of records.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("report.html"),
) -> None:
    """Draw the page from records, without running anything."""
    from featavg.files import check_place
    from featavg.record import read_folder
    from featavg.report import write_report

    records, complaints = read_folder(runs)
    if complaints:
        raise InputError(complaints[0])
    if not records:
        raise InputError(f"no records in {runs}; make some with `featavg reproduce -o {runs}`")
    check_place(output, ".html", ".htm")
    typer.echo(write_report(records, output))
