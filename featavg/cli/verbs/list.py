"""What can be reproduced."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def verb(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON, and nothing else.")] = False,
) -> None:
    """List the claims, what they cost and which data they need."""
    from featavg.cli.tables import at_hand, chapters_table, show
    from featavg.experiments import Registry

    chapters = list(Registry(context.obj))
    if not as_json:
        show(chapters_table(chapters))
        return
    values = [
        {"name": one.name, "title": one.title, "cost": one.cost[0], "seconds": one.cost[1], "needs": at_hand(one.needs)}
        for one in chapters
    ]
    typer.echo(json.dumps(values, indent=1, ensure_ascii=False))
