"""Functions over many parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from featavg.errors import InputError

if TYPE_CHECKING:
    from featavg.sweep import Progress

INTERRUPTED = 130
RUN = "run"


class _SpecificationFirst(TyperGroup):
    """`featavg sweep SPEC` is `featavg sweep run SPEC`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the verb in front of a specification."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [RUN, *args]
        return super().parse_args(ctx, args)


verb = typer.Typer(
    cls=_SpecificationFirst, no_args_is_help=True, help="Run a function over many parameters, resumable: `sweep SPEC`."
)
Folder = Annotated[Path, typer.Argument(metavar="STORE", help="The folder of a sweep.")]


@verb.command(RUN)
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A TOML file: function, base, axes, random, seeds.")],
    store: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where trials are kept; beside the specification by default.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=0, help="Processes; all cores by default, 0 for none.")] = None,
    shard: Annotated[str | None, typer.Option(help="Run the i-th of n shares, as 0/4, for job arrays.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="A dask scheduler, as tcp://host:8786.")] = None,
) -> None:
    """Run what is missing of a sweep; trials that are stored are not run again."""
    from featavg.cli.progress import Working, complain
    from featavg.sweep import run_sweep

    folder = store or spec.with_suffix(".sweep")
    share = None if shard is None else read_shard(shard)
    try:
        with _executor(scheduler) as executor, Working("starting") as shown:
            found = run_sweep(
                spec,
                folder,
                executor=executor,
                workers=workers,
                shard=share,
                progress=lambda told: shown.tell(told.done / max(told.total, 1), progress_line(told)),
            )
    except KeyboardInterrupt:
        complain(f"stopped; what is finished is kept in {folder}, run the same command again to go on")
        raise typer.Exit(INTERRUPTED) from None
    for row in found.failed[:3]:
        complain(f"failed: {row['error']}")
    typer.echo(f"{folder}: {len(found)} trials, {len(found.failed)} failed")


@verb.command()
def status(store: Folder) -> None:
    """Say how many trials a store holds, and how many failed."""
    from featavg.sweep import Results, Store

    kept = Store(store)
    found = Results.of_store(kept.rows())
    typer.echo(f"{kept.function}: {len(found)} trials, {len(found.failed)} failed")


@verb.command()
def export(store: Folder, file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, or a .parquet.")]) -> None:
    """Write all trials of a store as one table."""
    from featavg.files import check_place
    from featavg.sweep import Results, Store

    check_place(file, ".csv", ".parquet")
    Results.of_store(Store(store).rows()).export(file)
    typer.echo(file)


def progress_line(told: Progress) -> str:
    """How far a sweep is, in one line."""
    left = told.seconds_left
    time = f"{left:.0f} s left" if left < 120 else f"{left / 60:.0f} min left"
    ending = f", {told.rate:.3g} per second, {time}" if told.rate > 0 else ""
    return f"{told.done} of {told.total} done, {told.failed} failed{ending}"


def read_shard(text: str) -> tuple[int, int]:
    """The numbers of a shard i/n.

    >>> read_shard("0/4")
    (0, 4)
    """
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if not found:
        raise InputError(f"a shard is i/n with 0 <= i < n, as 0/4, got {text!r}")
    return int(found[1]), int(found[2])


def _executor(scheduler: str | None) -> AbstractContextManager[Executor | None]:
    return nullcontext() if scheduler is None else _cluster(scheduler)


@contextmanager
def _cluster(scheduler: str) -> Iterator[Executor]:
    """Workers of a dask scheduler; dask is imported only here."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("a scheduler needs dask: pip install 'featavg[cluster]'") from None
    try:
        client = Client(scheduler, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"no dask scheduler answers at {scheduler} ({type(error).__name__}); check it") from None
    with client:
        yield client.get_executor()
