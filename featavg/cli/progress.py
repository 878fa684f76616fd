"""What the command line shows on the error stream: progress, and sentences that are no result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

if TYPE_CHECKING:
    from featavg.data import Dataset
    from featavg.experiments import Chapter, Outcome
    from featavg.progress import Progress as Report


PATIENCE, SLOWEST = 2.0, 60.0  # seconds without a word, outside a terminal: at first, and after many words


def complain(sentence: str) -> None:
    """Print one sentence to the error stream."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(sentence))


def say_what_was_read(points: Dataset, dropped: Sequence[str]) -> None:
    """Tell what the data are taken for, and what looks wrong with them."""
    from featavg.data import describe, remarks

    for sentence in (describe(points, dropped), *remarks(points)):
        complain(sentence)


class _Shown:
    """What is on the screen while a block runs, and gone after it."""

    _progress: Progress
    _told = -1.0  # when the last line was written to a log file
    _patience = 0.0

    def __enter__(self) -> Self:
        self._told, self._patience = time.monotonic(), PATIENCE
        self._progress.start()
        return self

    def _line(self, said: str) -> None:
        """In a log file, where bars are only noise, a line now and then: ever more seldom, so that it stays short."""
        if self._progress.disable and time.monotonic() - self._told >= self._patience:
            self._told, self._patience = time.monotonic(), min(1.5 * self._patience, SLOWEST)
            complain(said)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._progress.disable:  # an empty line comes from older versions of rich otherwise
            self._progress.stop()


class Bars(_Shown):
    """Two bars while chapters run, one over the claims and one within; a line remains of each finished claim."""

    def __init__(self, claims: int) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
        console = Console(stderr=True, highlight=False)
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
            self._line(f"{100 * share:.0f} % of {description}")
            self._progress.update(task, completed=share, description=description)

        return move

    def finish(self, outcome: Outcome) -> None:
        """Replace the inner bar by a line that remains."""
        from featavg.record import verdict_counts

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
        self._line(what)
        self._progress.update(self._task, description=what)

    def tell(self, share: float, what: str) -> None:
        """`share` of all is done, `what` comes next."""
        self._line(f"{100 * share:.0f} %: {what}")
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
