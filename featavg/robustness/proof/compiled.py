"""How kernels are compiled: cached on disk, IEEE arithmetic as written, division by zero as in NumPy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def kernel(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compile a function of arrays at its first call.

    No fast-math: it lets a compiler reorder sums and drop NaN, and both would void the error bounds.
    """
    return _compiled(function, counts=True)


def borrowing(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same for a function that neither makes nor returns arrays, nor calls one that returns some.

    It only borrows what its caller holds, so that no references are counted: in small problems that takes most of
    the time.
    """
    return _compiled(function, counts=False)


def _compiled(function: Callable[Arguments, Result], counts: bool) -> Callable[Arguments, Result]:
    compile_it: Any = numba.njit  # its types do not know all of its options
    compiled = compile_it(cache=True, error_model="numpy", no_cfunc_wrapper=True, _nrt=counts)(function)
    files: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(files, "_source_stamp"):
        # numba looks at the file of a kernel only, not at those of the kernels that it calls.
        files._source_stamp = (*files._source_stamp, _digest())
    return cast(Callable[Arguments, Result], compiled)


@cache
def _digest() -> str:
    """A digest of all sources of this folder: a change in one makes all of them compile again."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
