"""How kernels are compiled: cached on disk, IEEE arithmetic as written, division by zero as in NumPy.

No fast-math: it lets a compiler drop NaN and signs, and rearrange what error bounds are about. But plain sums, whose
bounds hold for every order of their terms, may be added as vectors (`summing`), which takes a quarter of the time.

What turns Python's arrays into the compiler's costs more to compile than most kernels, so only those that Python calls
have it: calling one of the others from Python crashes. What borrows counts no references; in small problems that takes
most of the time. It neither makes nor returns arrays, nor calls a kernel that returns some, nor assigns one to another.

    called by           may make arrays     borrows only
    Python, kernels     kernel              entry
    kernels only        inner               borrowing, summing
    one kernel alone    inlined             inlined

Large kernels are compiled apart from each other (`apart.py`), so that nobody waits for what is not asked.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.core import event

from featavg.compilation import kernel as compiled_kernel

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
HERE = Path(__file__).parent
# Numbers that a variable begins with: as literals they would have a type of their own, and kernels be compiled twice.
NONE: Any = np.int64(0)
NOWHERE: Any = np.int64(-1)


def kernel(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compile a function of arrays at its first call."""
    return _compiled(function, counts=True, inside=False)


def entry(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same for a function that only borrows its arrays."""
    return _compiled(function, counts=False, inside=False)


def inner(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same for a function that only kernels call."""
    return _compiled(function, counts=True, inside=True)


def borrowing(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same for a function that only borrows its arrays, and that only kernels call."""
    return _compiled(function, counts=False, inside=True)


def summing(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same as `borrowing` for a loop that returns sums of terms, in any order, and does nothing else."""
    return _compiled(function, counts=False, inside=True, fastmath={"reassoc"})


def inlined(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same for a function that one kernel alone calls: it becomes a part of that, and is not compiled twice."""
    compile_it: Any = numba.njit
    return cast(Callable[Arguments, Result], compile_it(inline="always", error_model="numpy")(function))


def _compiled(
    function: Callable[Arguments, Result], counts: bool, inside: bool, **options: Any
) -> Callable[Arguments, Result]:
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": inside, "_nrt": counts}
    compiled = compiled_kernel(function, **options)
    files: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(files, "_source_stamp"):
        # numba looks at the file of a kernel only, not at those of the kernels that it calls.
        files._source_stamp = (*files._source_stamp, _digest(Path(function.__code__.co_filename).parent))
        files._load_index = _if_readable(files._load_index)
    return compiled


def _if_readable(load: Callable[[], dict[Any, Any]]) -> Callable[[], dict[Any, Any]]:
    """What a cache lists, or nothing: numba reads all of a list that is out of date, types that are gone included."""

    def listed() -> dict[Any, Any]:
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    return listed


@cache
def _digest(folder: Path) -> str:
    """A digest of all kernels of a folder and of this one: a change in one makes all of them compile again."""
    sources = [path.read_bytes() for path in sorted({*folder.glob("*.py"), *HERE.glob("*.py")})]
    return hashlib.sha256(
        b"".join(source for source in sources if b"numba" in source or b".compiled " in source)
    ).hexdigest()


class _Teller(event.Listener):
    """Says once, on the log `featavg`, why an answer takes so long."""

    has_told = False

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__.startswith("featavg.") and not self.has_told:
            self.has_told = True
            logging.getLogger("featavg").info("compiling, once on this machine: about a minute")

    def on_end(self, event: Any) -> None:
        """Nothing is said then."""


events: Any = event
events.register("numba:compile", _Teller())
