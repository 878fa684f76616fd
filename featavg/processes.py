"""Fresh processes of this machine that share work, and what keeps them from starting."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from featavg.errors import InputError

# Every fresh process first imports the script that made it, and there it must not come upon the same call again.
GUARD = 'a script has to call this under `if __name__ == "__main__":`'
NO_WORKER = f"worker processes must live to begin their work, these died while they started; {GUARD}"


def check_importable(function: str) -> None:
    """Refuse a function that fresh processes cannot import, since the program that holds it has no file."""
    if function.partition(":")[0] == "__main__" and not _main_has_file():
        raise InputError(
            f"worker processes import the function from a file, got {function!r} of a program that has none; "
            "put the function in a module, or pass workers=0"
        )


@contextmanager
def processes(count: int, begin: Callable[[], None]) -> Iterator[ProcessPoolExecutor]:
    """Processes that inherit nothing and first call `begin`; an interruption ends them at once."""
    with _without_missing_main():
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(count, mp_context=context, initializer=begin)
        try:
            yield pool
        except BaseException:
            started = list(getattr(pool, "_processes", None) or {})
            pool.shutdown(wait=False, cancel_futures=True)
            for process in started:
                with suppress(OSError):
                    os.kill(process, signal.SIGTERM)
            raise
        pool.shutdown()


@contextmanager
def _without_missing_main() -> Iterator[None]:
    """Keep fresh processes from importing `<stdin>`, which some versions of Python name as the file of the program."""
    main = sys.modules["__main__"]
    named = getattr(main, "__file__", None)
    if named is None or _main_has_file():
        yield
        return
    del main.__file__
    try:
        yield
    finally:
        main.__file__ = named


def _main_has_file() -> bool:
    """Whether a fresh process can import what this one was started with."""
    main = sys.modules["__main__"]
    named = getattr(main, "__file__", None)
    return getattr(main, "__spec__", None) is not None or (named is not None and Path(named).exists())
