"""What the command line prints on the output: rows where they fit the screen, a few lines each where they do not.

What only some of it needs is imported inside, so that `featavg list` answers at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from featavg.experiments import Chapter, Outcome
    from featavg.record import Claim, Record

COLOURS = {"holds": "green", "fails": "red", "open": "yellow", "vacuous": "cyan"}
WIDE = 160  # columns of a file, which has no screen
NONE = "–"
NARROW = 110  # below this many, rows of a table would be columns of single words


def show(content: RenderableType) -> None:
    """Print to the output; without a screen no line is filled up with blanks."""
    console = Console(highlight=False, width=_width())
    with console.capture() as captured:
        console.print(content)
    console.file.write("".join(line.rstrip(" ") + "\n" for line in captured.get().splitlines()))


def _width() -> int:
    """The width of the screen, or what COLUMNS says; a file has room enough."""
    console = Console()
    # Output that goes through a pager is still read on the screen that the error stream is on.
    seen = console.is_terminal or Console(stderr=True).is_terminal or "COLUMNS" in os.environ
    return console.width if seen else WIDE


def chapters_table(chapters: Iterable[Chapter]) -> RenderableType:
    """Name, title, cost and data of each chapter."""
    rows = [(one.name, one.title, f"{one.cost[0]}, {one.cost[1]:g} s", _needs(one)) for one in chapters]
    if not rows:
        return Text("no claims yet")
    if _width() < NARROW:
        cards = (
            (name, "", [title, cost + ("" if needs == NONE else f"; needs {needs}")])
            for name, title, cost, needs in rows
        )
        return _cards(cards, 0)
    table = Table("claim", "title", "cost", "needs", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _needs(chapter: Chapter) -> str:
    here = at_hand(chapter.needs)
    return ", ".join(f"{name}{'' if here[name] else fetching(name)}" for name in here) or NONE


def at_hand(needs: Iterable[str]) -> dict[str, bool]:
    """Which data sets are in the cache."""
    if not needs:
        return {}
    from featavg.data import is_cached

    return {name: is_cached(name) for name in needs}


def fetching(name: str) -> str:
    """How to get a data set that is not there."""
    return f" (not here yet: featavg data fetch {name})"


def verdict_table(records: Sequence[Record]) -> RenderableType:
    """The claims of the records under a summary."""
    from featavg.record import summary, verdict_text

    title = summary(records)
    if _width() < NARROW:
        claims = [claim for record in records for claim in record.claims]
        cards = ((verdict_text(claim), COLOURS[claim.verdict], [claim.text, _measured(claim)]) for claim in claims)
        return Group(Text(title), _cards(cards, 13))
    columns = ("record", "claim", "expected", "measured", "interval", "tolerance", "published", "verdict")
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in ("measured", "verdict"))
    for record in records:
        for claim in record.claims:
            table.add_row(Text(record.name), *_cells(claim))
    return table


def _measured(claim: Claim) -> str:
    from featavg.record import expected_text, interval_text, number

    return f"expected {expected_text(claim)}, measured {number(claim.measured)} ({interval_text(claim)})"


def _cells(claim: Claim) -> list[Text]:
    from featavg.record import expected_text, interval_text, number, published_text, verdict_text

    texts = [claim.text, expected_text(claim), number(claim.measured), interval_text(claim), number(claim.tolerance)]
    verdict = Text(verdict_text(claim), style=COLOURS[claim.verdict])
    return [*map(Text, [*texts, published_text(claim)]), verdict]


def _cards(rows: Iterable[tuple[str, str, Sequence[str]]], beside: int) -> RenderableType:
    """A word in a colour and lines of text each, the lines `beside` columns to the right, or below it if 0."""
    parts: list[RenderableType] = []
    for word, colour, lines in rows:
        if beside:
            table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
            table.add_column(width=beside)
            table.add_column(overflow="fold")
            table.add_row(Text(word, style=colour), Text("\n".join(lines)))
            parts.append(table)
        else:
            parts += [Text(word, style="bold"), *(Padding(Text(line), (0, 0, 0, 2)) for line in lines)]
    return Group(*parts)


def plain_table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> RenderableType:
    """Rows of a name and its values."""
    table = Table(*header, box=None, pad_edge=False, show_header=any(header))
    for name, *values in rows:
        table.add_row(Text(name), *map(Text, values))
    return table


def as_values(outcomes: Sequence[Outcome], report: Path) -> dict[str, Any]:
    """The verdicts as JSON values."""
    from featavg.record import claim_as_json, count_verdicts

    return {
        "verdicts": count_verdicts(claim for outcome in outcomes for claim in outcome.record.claims),
        "report": str(report),
        "records": [
            {
                "name": outcome.record.name,
                "path": str(outcome.path),
                "reused": outcome.reused,
                "seconds": outcome.record.evidence.provenance.seconds,
                "seeds": len(outcome.record.seeds),
                "claims": [claim_as_json(claim) for claim in outcome.record.claims],
            }
            for outcome in outcomes
        ],
    }
