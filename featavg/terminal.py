"""What the command line shows: progress on the error stream, tables on the output.

What only some of it needs is imported inside, so that `featavg list` answers at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from featavg.experiments import Chapter, Outcome
    from featavg.progress import Progress as Report
    from featavg.record import Record

COLOURS = {"holds": "green", "fails": "red", "open": "yellow", "vacuous": "cyan"}
WIDE = 160


def show(content: RenderableType) -> None:
    """Print to the output."""
    Console(highlight=False, width=_width()).print(content)


def _width() -> int:
    """The width of the screen; a file or a pipe has room enough."""
    console = Console()
    return console.width if console.is_terminal else WIDE


def complain(sentence: str) -> None:
    """Print one sentence to the error stream."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(sentence))


def claims_table(chapters: Iterable[Chapter]) -> RenderableType:
    """Return a row for each chapter: name, title, cost, data."""
    table = Table("claim", "title", "cost", "needs", box=None, pad_edge=False)
    for one in chapters:
        needs = ", ".join(f"{name}{'' if here else fetching(name)}" for name, here in at_hand(one.needs).items())
        table.add_row(Text(one.name), Text(one.title), f"{one.cost[0]}, {one.cost[1]:g} s", Text(needs or "–"))
    return table if table.row_count else Text("no claims yet")


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
    """Return a row for each claim of the records under a summary; a narrow screen leaves the rest to the report."""
    from featavg.record.words import expected_text, interval_text, number, published_text, summary

    columns = ["record", "claim", "expected", "measured", "interval", "tolerance", "published", "verdict"]
    if _width() < 120:
        columns = ["claim", "expected", "measured", "verdict"]
    table = Table(title=summary(records), title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in ("measured", "verdict"))
    for record in records:
        for claim in record.claims:
            cells: dict[str, Text | str] = {
                "record": Text(record.name),
                "claim": Text(claim.text),
                "expected": Text(expected_text(claim)),
                "measured": number(claim.measured),
                "interval": interval_text(claim),
                "tolerance": number(claim.tolerance),
                "published": published_text(claim),
                "verdict": Text(claim.verdict, style=COLOURS[claim.verdict]),
            }
            table.add_row(*(cells[column] for column in columns))
    return table


def plain_table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> RenderableType:
    """Return rows of a name and its values."""
    table = Table(*header, box=None, pad_edge=False, show_header=any(header))
    for name, *values in rows:
        table.add_row(Text(name), *map(Text, values))
    return table


def as_values(outcomes: Sequence[Outcome], report: Path) -> dict[str, Any]:
    """Return the verdicts as JSON values."""
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


class _Shown:
    """What is on the screen while a block runs, and gone after it."""

    _progress: Progress

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


class Bars(_Shown):
    """Two bars while chapters run, one over the claims and one within; a line remains of each finished claim."""

    def __init__(self, claims: int) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
        console = Console(stderr=True, highlight=False)
        # In a log file moving bars are only noise; the lines of finished claims are written there too.
        self._progress = Progress(
            *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
        )
        self._all = self._progress.add_task("claims", total=claims)
        self._one: TaskID | None = None

    def start(self, chapter: Chapter, /) -> Report:
        """Begin the inner bar of `chapter` and return what moves it."""
        task = self._one = self._progress.add_task(chapter.name, total=1.0)

        def move(share: float, what: str) -> None:
            description = f"{chapter.name}: {what}" if what else chapter.name
            self._progress.update(task, completed=share, description=description)

        return move

    def finish(self, outcome: Outcome) -> None:
        """Replace the inner bar by a line that remains."""
        from featavg.record.words import verdict_counts

        if self._one is not None:
            self._progress.remove_task(self._one)
        self._progress.advance(self._all)
        record = outcome.record
        how = "reused" if outcome.reused else f"{record.evidence.provenance.seconds:.1f} s"
        self._progress.console.print(Text(f"{record.name}: {how}, {verdict_counts(record.claims)}"))


class Working(_Shown):
    """A spinner with the stage a command is at and the time so far, and a bar once it says how much is done."""

    def __init__(self, what: str) -> None:
        console = Console(stderr=True, highlight=False)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task(what, total=None)

    def say(self, what: str) -> None:
        """Name the stage."""
        self._progress.update(self._task, description=what)

    def tell(self, share: float, what: str) -> None:
        """`share` of all is done, `what` comes next."""
        self._progress.update(self._task, description=what, completed=share, total=1.0)

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """`done` bytes of `total` have come."""
        self._progress.update(self._task, description=f"fetching {what}", completed=done, total=total)


class Download(_Shown):
    """A bar while a data set is fetched; it only pulses where a package client does not say how much there is."""

    def __init__(self) -> None:
        console = Console(stderr=True, highlight=False)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._tasks: dict[str, TaskID] = {}

    def tell(self, what: str, done: int, total: int | None) -> None:
        """`done` bytes of `total` have come."""
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total)
        self._progress.update(self._tasks[what], completed=done, total=total)
