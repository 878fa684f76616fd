"""The door: each verb parses its arguments, calls one function and prints what came.

Adding a verb is adding one function here. Everything heavy is imported inside the verbs, so that `--help` answers at
once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from featavg.errors import InputError

if TYPE_CHECKING:
    from featavg.experiments import Outcome

# What both verbs about users' own data ask for.
Data = Annotated[
    str, typer.Argument(metavar="DATA", help="An .npz, a .csv, a folder of images by class, or digits, mnist, ...")
]
Label = Annotated[str | None, typer.Option(help="Column of the labels; y in an npz, label in a CSV unless told.")]
Sublabels = Annotated[
    str | None,
    typer.Option(
        help="Finer labels: a CSV of one column (a row for each point, empty where unknown), a column of the data, or "
        "none to find them though the data has some."
    ),
]
Task = Annotated[
    str | None, typer.Option(help="Of a built-in set: parity, halves, or the classes that are +1, as 0,3,7.")
]
KeepAccuracy = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="The largest loss of accuracy that the verdict allows.")
]
Json = Annotated[Path | None, typer.Option("--json", help="Write every number to this file.")]
Seed = Annotated[int, typer.Option(min=0, help="Of everything random.")]

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
def list_claims(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON, and nothing else.")] = False,
) -> None:
    """List the claims, what they cost and which data they need."""
    from featavg.experiments.registry import Registry
    from featavg.terminal import at_hand, claims_table, show

    chapters = list(Registry(context.obj))
    if not as_json:
        show(claims_table(chapters))
        return
    values = [
        {"name": one.name, "title": one.title, "cost": one.cost[0], "seconds": one.cost[1], "needs": at_hand(one.needs)}
        for one in chapters
    ]
    typer.echo(json.dumps(values, indent=1, ensure_ascii=False))


@app.command()
def reproduce(
    context: typer.Context,
    claims: Annotated[list[str] | None, typer.Argument(metavar="CLAIM", help="Default: all quick ones.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Run the long claims too.")] = False,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds; default: what each claim states.")] = None,
    first_seed: Annotated[int | None, typer.Option(help="The first seed, to repeat claims on fresh ones.")] = None,
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
            for outcome in run_all(chosen, output, bars.start, seeds=seeds, first_seed=first_seed, fresh=fresh):
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


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A bracket that RadiusBracket.save wrote.")],
    model: Annotated[Path | None, typer.Argument(metavar="MODEL", help="The network it should be about.")] = None,
    data: Annotated[Path | None, typer.Argument(metavar="DATA", help="The points it should be about.")] = None,
    audit: Annotated[bool, typer.Option("--audit", help="By the second checker, in ball arithmetic.")] = False,
) -> None:
    """Check saved radii from scratch: every proof and every witness; exit code 1 if one does not hold."""
    from featavg.robustness import verify_bracket_file

    bracket, holds = verify_bracket_file(file, model, data, audit=audit)
    typer.echo(f"{int(holds.sum())} of {len(holds)} brackets hold: {bracket!r}")
    if not holds.all():
        raise typer.Exit(1)


@app.command()
def diagnose(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A network file, or weights with --architecture; never a pickle.")
    ],
    data: Data,
    label: Label = None,
    sublabels: Sublabels = None,
    task: Task = None,
    architecture: Annotated[
        str | None,
        typer.Option(help="Of a state dict: two-layer, small-cnn or resnet18; sizes are read from the weights."),
    ] = None,
    train: Annotated[
        str | None, typer.Option(help="What it was trained on, named as DATA is; of a built-in set the training part.")
    ] = None,
    keep_accuracy: KeepAccuracy = 0.01,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("diagnosis.html"),
    as_json: Json = None,
    seed: Seed = 0,
) -> None:
    """Say whether a classifier averages its features, how robust it is, and whether finer labels would help.

    Give data it was not trained on; of a built-in set the test part is taken. With --train finer labels are tried on
    what it was trained on; without it on two thirds of DATA, which may be too few to advise.
    """
    from featavg.commands.data import read_data
    from featavg.commands.models import fit_points, read_model
    from featavg.files import check_place, write_whole
    from featavg.refine import diagnose as examine
    from featavg.terminal import Working, plain_table, show

    for place in filter(None, (output, as_json)):
        check_place(place)
    with _nothing_half_done(), Working("reading the data") as working:
        named = read_data(data, label, sublabels, task, part="test", progress=working.fetched)
        working.say("reading the model")
        asked = read_model(model, architecture, named.shape)
        points = fit_points(named.x, named.shape, asked)
        learned = None if train is None else read_data(train, label, sublabels, task, progress=working.fetched)
        known = None if learned is None else (fit_points(learned.x, learned.shape, asked), learned.y, learned.sublabels)
        found = examine(
            asked, points, named.y, named.sublabels, train=known, keep_accuracy=keep_accuracy, seed=seed,
            progress=working.tell,
        )  # fmt: skip
        working.tell(1.0, "drawing the page")
        page = found.report(output)
        if as_json is not None:
            write_whole(as_json, found.to_json())
    typer.echo(f"{found.verdict}\n")
    for rows in filter(None, (found.table(), found.gain_table())):
        show(plain_table(rows, ("", "")))
    typer.echo(f"\npage: {page}")


@app.command()
def refine(
    data: Data,
    output: Annotated[Path, typer.Option("-o", "--output", help="The model to write: .npz or .safetensors.")],
    label: Label = None,
    sublabels: Sublabels = None,
    task: Task = None,
    subclasses: Annotated[str, typer.Option(metavar="auto|N", help="Sub-classes a class.")] = "auto",
    keep_accuracy: KeepAccuracy = 0.01,
    page: Annotated[Path | None, typer.Option("-p", "--page", help="Write a page about it, too.")] = None,
    as_json: Json = None,
    seed: Seed = 0,
) -> None:
    """Find finer labels, train a two-layer network on them, and show it before and after.

    It is trained on four fifths of the data and compared on the last one with a network of as many neurons that was
    trained on the labels as they are, for three fifths in turn; of a built-in set the training part is taken. Load with
    featavg.load_classifier, or give it to `featavg diagnose`.
    """
    from featavg.commands.data import read_data
    from featavg.files import check_place, write_whole
    from featavg.refine import refine_points, save_classifier
    from featavg.terminal import Working, plain_table, show

    check_place(output, ".npz", ".safetensors")
    for place in filter(None, (page, as_json)):
        check_place(place)
    wanted = _count(subclasses)
    with _nothing_half_done(), Working("reading the data") as working:
        named = read_data(data, label, sublabels, task, progress=working.fetched)
        found = refine_points(
            named.x, named.y, named.sublabels, n_subclasses=wanted, keep_accuracy=keep_accuracy, seed=seed,
            progress=working.tell,
        )  # fmt: skip
        if page is not None:
            found.compared.report(page)
        if as_json is not None:
            write_whole(as_json, found.compared.to_json())
        save_classifier(found.model, output)
    typer.echo(f"{found.compared.verdict}\n")
    show(plain_table(found.compared.table(), ("", "before", "after")))
    typer.echo(f"\n{found.compared.note}\n\nmodel: {output}" + ("" if page is None else f"\npage: {page}"))


def _count(subclasses: str) -> int | Literal["auto"]:
    if subclasses == "auto":
        return "auto"
    if not subclasses.isdigit() or int(subclasses) < 1:
        raise InputError(f"--subclasses must be auto or a number from 1, got {subclasses!r}")
    return int(subclasses)


@contextmanager
def _nothing_half_done() -> Iterator[None]:
    """Ctrl-C is no accident: one sentence and exit code 130."""
    from featavg.terminal import complain

    try:
        yield
    except KeyboardInterrupt:
        complain("stopped; nothing was left half-written")
        raise typer.Exit(130) from None


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
