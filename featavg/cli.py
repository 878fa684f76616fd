"""The door: each verb parses its arguments, calls one function and prints what came.

Adding a verb is adding one function here. Everything heavy is imported inside the verbs, so that `--help` answers at
once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from featavg.errors import InputError

if TYPE_CHECKING:
    from featavg.experiments import Outcome

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(arguments: Sequence[str] | None = None, experiments: str = "featavg.experiments") -> None:
    """Run the command line; `experiments` is the package whose modules are the claims."""
    try:
        app(arguments, obj=experiments)
    except InputError as error:
        typer.echo(str(error), err=True)
        sys.exit(2)


def _print_version(asked: bool) -> None:
    if asked:
        from featavg import __version__

        typer.echo(f"featavg {__version__}")
        raise typer.Exit


@app.callback()
def featavg(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Feature averaging in ReLU networks: train it, see it, measure its exact robustness, undo it."""


@app.command("list")
def list_claims(context: typer.Context) -> None:
    """List the claims, what they cost and which data they need."""
    from featavg.experiments import Registry
    from featavg.terminal import claims_table, show

    registry = Registry(context.obj)
    show(claims_table([registry[name] for name in registry.names]))


@app.command()
def reproduce(
    context: typer.Context,
    claims: Annotated[list[str] | None, typer.Argument(metavar="CLAIM", help="Default: all quick ones.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Run the long claims too.")] = False,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds; default: what each claim states.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the records.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON, and nothing else.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what is already there.")] = False,
) -> None:
    """Run claims of the paper and show their verdicts.

    Each finished claim leaves its record in the output folder, and report.html there shows them all; what is already
    there is reused. Ctrl-C keeps the finished records, and the next run goes on from them.
    """
    from featavg.experiments import Registry
    from featavg.experiments import reproduce as run_all
    from featavg.terminal import Bars, complain

    outcomes: list[Outcome] = []
    try:
        chosen = Registry(context.obj).select(claims or (), full)
        with Bars(len(chosen)) as bars:
            for outcome in run_all(chosen, output, bars.start, seeds=seeds, fresh=fresh):
                outcomes.append(outcome)
                bars.finish(outcome)
        _conclude(outcomes, output, as_json)
    except KeyboardInterrupt:
        kept = "1 finished record" if len(outcomes) == 1 else f"{len(outcomes)} finished records"
        complain(f"stopped; {kept} kept, run again to go on")
        raise typer.Exit(130) from None


@app.command()
def report(
    runs: Annotated[Path, typer.Argument(help="A folder of records.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("report.html"),
) -> None:
    """Draw the page from records, without running anything."""
    from featavg.record import read_folder
    from featavg.report import write_report

    records, complaints = read_folder(runs)
    if complaints:
        raise InputError(complaints[0])
    if not records:
        raise InputError(f"no records in {runs}; make some with `featavg reproduce -o {runs}`")
    typer.echo(write_report(records, output))


data = typer.Typer(no_args_is_help=True, help="Data sets: get them once, checked, into the cache.")
app.add_typer(data, name="data")


@data.command("fetch")
def fetch_data(name: Annotated[str, typer.Argument(help="mnist, fashion-mnist or cifar10.")]) -> None:
    """Get a data set, check its hashes, and keep it in the cache."""
    from featavg.data import fetch
    from featavg.terminal import Download

    with Download() as download:
        folder = fetch(name, download.tell)
    typer.echo(folder)


def _conclude(outcomes: list[Outcome], folder: Path, as_json: bool) -> None:
    """Write the report of everything in `folder`, then print the verdicts of this run."""
    from featavg.record import read_folder
    from featavg.report import write_report
    from featavg.terminal import as_values, complain, show, verdict_table

    records, complaints = read_folder(folder)
    for sentence in complaints:
        complain(f"left out of the report: {sentence}")
    path = write_report(records, folder / "report.html")
    if as_json:
        typer.echo(json.dumps(as_values(outcomes, path), indent=1, ensure_ascii=False, allow_nan=False))
        return
    show(verdict_table([outcome.record for outcome in outcomes]))
    typer.echo(f"report: {path}")
