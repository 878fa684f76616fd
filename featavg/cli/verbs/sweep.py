"""Functions over many parameters."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from featavg.errors import InputError

if TYPE_CHECKING:
    from featavg.sweep import Progress

INTERRUPTED = 130
RUN = "run"
MOST = 3  # failures that are told by name


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
    tries: Annotated[int, typer.Option(min=1, help="How often a trial may take its worker down.")] = 3,
    again: Annotated[bool, typer.Option("--again", help="Run trials that failed before once more.")] = False,
) -> None:
    """Run what is missing of a sweep; trials that are stored are not run again."""
    from featavg.cli.progress import Working, complain
    from featavg.sweep import cluster, run_sweep

    # The function may stand beside its specification, as a module beside a script.
    sys.path.insert(0, str(spec.absolute().parent))
    folder = store or spec.with_suffix(".sweep")
    share = None if shard is None else read_shard(shard)
    try:
        with nullcontext() if scheduler is None else cluster(scheduler) as executor, Working("starting") as shown:
            found = run_sweep(
                spec,
                folder,
                executor=executor,
                workers=workers,
                shard=share,
                tries=tries,
                again=again,
                progress=lambda told: shown.tell(told.done / max(told.total, 1), progress_line(told)),
            )
    except KeyboardInterrupt:
        complain(f"stopped; what is finished is kept in {folder}, run the same command again to go on")
        raise typer.Exit(INTERRUPTED) from None
    for row in found.failed[:MOST]:
        complain(failure(row))
    typer.echo(f"{folder}: {len(found)} trials, {len(found.failed)} failed")


@verb.command()
def status(store: Folder) -> None:
    """Say how many trials a store holds, how many failed, of what, and how many are under way."""
    from featavg.cli.progress import complain
    from featavg.sweep import Results, Store

    kept = Store(store)
    found = Results.of_store(kept.rows())
    under_way = len(kept.claims.living())
    typer.echo(f"{kept.function}: {len(found)} trials, {len(found.failed)} failed, {under_way} under way")
    for row in found.failed[:MOST]:
        complain(failure(row))


@verb.command()
def export(store: Folder, file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, or a .parquet.")]) -> None:
    """Write all trials of a store as one table."""
    from featavg.files import check_place
    from featavg.sweep import Results, Store

    check_place(file, ".csv", ".parquet")
    Results.of_store(Store(store).rows()).export(file)
    typer.echo(file)


@verb.command()
def draw(
    store: Folder,
    value: Annotated[str, typer.Option(help="What the function returned.")],
    x: Annotated[str, typer.Option(help="The axis to the right.")],
    y: Annotated[str, typer.Option(help="The axis downward, for a phase diagram.")] = "",
    lines: Annotated[str, typer.Option(help="The axis with a line per value, in place of y.")] = "",
    at: Annotated[list[str] | None, typer.Option(help="Where to stand on another axis, as width=4.")] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="A page (.html), or a picture (.pdf, .svg, .png).")
    ] = Path("sweep.html"),
) -> None:
    """Draw a phase diagram, or lines, from a complete grid of trials."""
    from featavg.figures import draw, figure_bytes
    from featavg.files import check_place, write_whole
    from featavg.report import write_report
    from featavg.sweep import Results, Store, picture

    check_place(output, ".html", ".pdf", ".svg", ".png")
    results = Results.of_store(Store(store).rows())
    found = picture(results, value, x, y=y, lines=lines, at=dict(map(read_place, at or [])))
    if output.suffix == ".html":
        write_report([found], output, heading=f"A sweep: {found.title}")
    else:
        figure = draw(found.evidence.drawings[0], found.evidence.table)
        write_whole(output, figure_bytes(figure, output.suffix[1:]))
    typer.echo(output)


def read_place(text: str) -> tuple[str, Any]:
    """A place on an axis, name=value; a number if it can be one.

    >>> read_place("width=4"), read_place("kind=fine")
    (('width', 4), ('kind', 'fine'))
    """
    name, sign, value = text.partition("=")
    if not sign:
        raise InputError(f"a place is axis=value, as width=4, got {text!r}")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def failure(row: Mapping[str, Any]) -> str:
    """Which trial failed, and of what.

    >>> failure({"x": 1, "seed": 0, "seconds": 0.1, "error": "ValueError: no"})
    'x=1, seed=0 failed: ValueError: no'
    """
    trial = ", ".join(f"{name}={value}" for name, value in row.items() if name not in ("seconds", "error"))
    return f"{trial} failed: {row['error']}"


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
