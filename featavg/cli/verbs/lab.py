"""The interactive page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def verb(
    port: Annotated[
        int, typer.Option(help="Where to listen on this machine; the next free one if it is taken.")
    ] = 8765,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a page that works from disk instead of serving one.")
    ] = None,
) -> None:
    """Drag a setting and see what it learns: serve the page, or write one that walks through computed states."""
    from featavg.cli.progress import Working, complain
    from featavg.files import check_place
    from featavg.lab import write_lab

    if output is not None:
        check_place(output, ".html", ".htm")
        typer.echo(write_lab(output))
        return
    from featavg.lab import Lab, Setting, state  # which compute

    lab = Lab(port)
    if port and lab.port != port:
        complain(f"port {port} is taken; this is the next free one")
    with Working("computing the first picture; the first time here this compiles for a minute or two"):
        state(Setting())
    typer.echo(lab.address)
    complain("open this address in a browser; Ctrl-C ends")
    try:
        lab.serve()
    finally:
        lab.close()
