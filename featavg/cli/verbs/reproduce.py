"""The paper, claim by claim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from featavg.cli.verbs.report import write_page

if TYPE_CHECKING:
    from featavg.experiments import Outcome


def named(incomplete: str) -> list[str]:
    """The claims whose names begin so, for the completion of a shell."""
    from featavg.experiments import Registry

    return [name for name in Registry().names if name.startswith(incomplete)]


def verb(
    context: typer.Context,
    claims: Annotated[
        list[str] | None, typer.Argument(metavar="CLAIM", help="Default: all quick ones.", autocompletion=named)
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Run the long claims too.")] = False,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds; default: what each claim states.")] = None,
    first_seed: Annotated[int | None, typer.Option(help="The first seed, to repeat claims on fresh ones.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the records.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON, and nothing else.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what is already there.")] = False,
) -> None:
    """Run claims of the paper and show their verdicts.

    Each finished claim leaves its record in the output folder, and report.html there shows them all; what is already
    there is reused. A run that was stopped goes on with the seeds that are missing, and so does one with more seeds.
    """
    from featavg.cli.progress import Bars, complain
    from featavg.experiments import Registry
    from featavg.experiments import reproduce as run_all

    outcomes: list[Outcome] = []
    try:
        chosen = Registry(context.obj).select(claims or (), full)
        with Bars(len(chosen)) as bars:
            for outcome in run_all(chosen, output, bars.start, seeds=seeds, first_seed=first_seed, fresh=fresh):
                outcomes.append(outcome)
                bars.finish(outcome)
        _conclude(outcomes, output, as_json, context.obj)
    except KeyboardInterrupt:
        kept = "1 finished record" if len(outcomes) == 1 else f"{len(outcomes)} finished records"
        complain(f"stopped; {kept} kept, run again to go on")
        raise typer.Exit(130) from None


def _conclude(outcomes: list[Outcome], folder: Path, as_json: bool, experiments: str) -> None:
    """Write the report of everything in `folder`, then print the verdicts of this run."""
    from featavg.cli.progress import complain
    from featavg.cli.tables import as_values, show, verdict_table
    from featavg.record import read_folder

    records, complaints = read_folder(folder)
    for sentence in complaints:
        complain(f"left out of the report: {sentence}")
    path = write_page(records, folder / "report.html", experiments)
    if as_json:
        typer.echo(json.dumps(as_values(outcomes, path), indent=1, ensure_ascii=False, allow_nan=False))
        return
    show(verdict_table([outcome.record for outcome in outcomes]))
    typer.echo(f"report: {path}")
