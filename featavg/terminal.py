"""What the command line shows: progress on the error stream, tables on the output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from featavg.experiments import Experiment, Outcome
from featavg.experiments import Progress as Report
from featavg.record import Record, claim_as_json, count_verdicts
from featavg.record.words import (
    expected_text,
    interval_text,
    number,
    published_text,
    summary,
    verdict_counts,
)

COLOURS = {"holds": "green", "fails": "red", "open": "yellow", "vacuous": "cyan"}


def show(content: RenderableType) -> None:
    """Print to the output, as wide as the content when nobody's screen limits it."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    console.print(content)


def complain(sentence: str) -> None:
    """Print one sentence to the error stream."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(sentence))


def claims_table(experiments: Sequence[Experiment]) -> RenderableType:
    """Return a row for each claim: name, title, cost, data."""
    if not experiments:
        return Text("no claims yet")
    table = Table("claim", "title", "cost", "needs", box=None, pad_edge=False)
    for found in experiments:
        cost = f"{'quick' if found.quick else 'long'}, {found.seconds:g} s"
        table.add_row(Text(found.name), Text(found.title), cost, Text(", ".join(found.needs) or "–"))
    return table


def verdict_table(records: Sequence[Record]) -> RenderableType:
    """Return a row for each claim of the records, and the summary as its title."""
    table = Table(title=summary(records), title_justify="left", box=None, pad_edge=False)
    for column in ("record", "claim", "expected", "measured", "interval", "tolerance", "published", "verdict"):
        table.add_column(column, overflow="fold", no_wrap=column in ("measured", "verdict"))
    for record in records:
        for claim in record.claims:
            table.add_row(
                Text(record.name),
                Text(claim.text),
                Text(expected_text(claim)),
                number(claim.measured),
                interval_text(claim),
                number(claim.tolerance),
                published_text(claim),
                Text(claim.verdict, style=COLOURS[claim.verdict]),
            )
    return table


def as_values(outcomes: Sequence[Outcome], report: Path) -> dict[str, Any]:
    """Return the verdicts as JSON values."""
    return {
        "verdicts": count_verdicts(claim for outcome in outcomes for claim in outcome.record.claims),
        "report": str(report),
        "records": [
            {
                "name": outcome.record.name,
                "path": str(outcome.path),
                "reused": outcome.reused,
                "seconds": outcome.record.seconds,
                "seeds": len(outcome.record.seeds),
                "claims": [claim_as_json(claim) for claim in outcome.record.claims],
            }
            for outcome in outcomes
        ],
    }


class Bars:
    """Two bars while experiments run, one over the claims and one within; a line remains of each finished claim."""

    def __init__(self, claims: int) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
        console = Console(stderr=True, highlight=False)
        # In a log file moving bars are only noise; the lines of finished claims are written there too.
        self._progress = Progress(
            *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
        )
        self._all = self._progress.add_task("claims", total=claims)
        self._one: TaskID | None = None

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def start(self, experiment: Experiment, /) -> Report:
        """Begin the inner bar of `experiment` and return what moves it."""
        task = self._one = self._progress.add_task(experiment.name, total=1.0)

        def move(fraction: float, what: str = "", /) -> None:
            description = f"{experiment.name}: {what}" if what else experiment.name
            self._progress.update(task, completed=fraction, description=description)

        return move

    def finish(self, outcome: Outcome) -> None:
        """Replace the inner bar by a line that remains."""
        if self._one is not None:
            self._progress.remove_task(self._one)
        self._progress.advance(self._all)
        record = outcome.record
        how = "reused" if outcome.reused else f"{record.seconds:.1f} s"
        self._progress.console.print(Text(f"{record.name}: {how}, {verdict_counts(record.claims)}"))
