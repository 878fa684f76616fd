"""The door: a verb is a file of `verbs/`, which parses its arguments, calls one function and prints what came.

Adding a verb is adding such a file: its name is the verb's, and `verb` in it a function for typer or a `typer.Typer` of
further verbs. Everything heavy is imported inside the functions, so that `--help` answers at once.
"""

from __future__ import annotations

import functools
import io
import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from featavg.cli.verbs import VERBS
from featavg.errors import InputError

ASK_AGAIN = 3.0  # seconds after which an end that did not come is asked for again
INTERRUPTED, TERMINATED = 130, 143  # 128 + the number of the signal, as shells count


def main(arguments: Sequence[str] | None = None, experiments: str = "featavg.experiments") -> None:
    """Run the command line; `experiments` is the package whose modules are the claims."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # √ on a terminal of plain ASCII is no reason to end
    if sys.stderr.isatty():
        _tell_why_it_takes_long()
    try:
        with _terminated_in_order():
            _app()(arguments, obj=experiments)
    except InputError as error:
        typer.echo(str(error), err=True)
        sys.exit(2)


def _tell_why_it_takes_long() -> None:
    """The first exact radii on a machine wait for a compiler, which says so on the log."""
    logger = logging.getLogger("featavg")
    logger.setLevel(logging.INFO)
    logger.addHandler(logging.StreamHandler())


def _app() -> typer.Typer:
    app = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
    )
    app.callback()(featavg)
    for name in VERBS:
        verb = VERBS.module(name).verb
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, name=name)
        else:
            app.command(name)(_interruptible(verb))
    return app


def _print_version(asked: bool) -> None:
    if asked:
        from featavg import __version__

        typer.echo(f"featavg {__version__}")
        raise typer.Exit


def featavg(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Feature averaging in ReLU networks: train it, see it, measure its exact robustness, undo it."""


def _interruptible(verb: Callable[..., None]) -> Callable[..., None]:
    """Ctrl-C is no accident: one sentence and its exit code."""

    @functools.wraps(verb)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            verb(*arguments, **options)
        except KeyboardInterrupt:
            typer.echo("stopped; nothing was left half-written", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return run


@contextmanager
def _terminated_in_order() -> Iterator[None]:
    """SIGTERM unwinds like an error does, so that no temporary file stays behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [signal.SIGTERM, *([signal.SIGALRM] if hasattr(signal, "setitimer") else [])]
    asked = threading.Event()

    def terminate(*_: object) -> None:
        """End, and ask again later: an error inside a destructor, where a signal may fall, is swallowed by Python."""
        asked.set()
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, ASK_AGAIN)
        sys.exit(TERMINATED)

    before = [signal.signal(one, terminate) for one in heard]
    try:
        yield
    finally:
        if len(heard) > 1:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for one, handler in zip(heard, before, strict=True):
            signal.signal(one, handler)
        if asked.is_set():  # also if that was swallowed, and the work was done before it was asked again
            sys.exit(TERMINATED)
