"""Saved radii, checked again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def verb(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A bracket that RadiusBracket.save wrote.")],
    model: Annotated[Path | None, typer.Argument(metavar="MODEL", help="The network it should be about.")] = None,
    data: Annotated[Path | None, typer.Argument(metavar="DATA", help="The points it should be about.")] = None,
    audit: Annotated[bool, typer.Option("--audit", help="By the second checker, in ball arithmetic.")] = False,
) -> None:
    """Check saved radii from scratch: every proof and every witness; exit code 1 if one does not hold."""
    from featavg.robustness import verify_bracket_file

    bracket, holds = verify_bracket_file(file, model, data, audit=audit)
    typer.echo(f"{int(holds.sum())} of {len(holds)} brackets hold: {bracket!r}")
    if not holds.all():
        raise typer.Exit(1)
