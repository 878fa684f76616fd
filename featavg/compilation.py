"""Compiled functions: kept on disk where there is a place for them, IEEE arithmetic as written, x / 0 as in NumPy."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, ParamSpec, TypeVar, cast

import numba

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def kernel(function: Callable[Arguments, Result], **options: Any) -> Callable[Arguments, Result]:
    """Compile a function of arrays at its first call, and keep what comes.

    It is kept in NUMBA_CACHE_DIR, beside the source, or in the user's cache. Where none of them can be written to,
    every process compiles anew: a folder that others may write to is no place for code.

    >>> kernel(lambda x: x / 0.0)(1.0)
    inf
    """
    compile_it: Any = numba.njit  # its types do not know all of its options
    try:
        compiled = compile_it(cache=True, error_model="numpy", **options)(function)
    except RuntimeError:  # numba found no place
        _tell()
        compiled = compile_it(error_model="numpy", **options)(function)
    return cast(Callable[Arguments, Result], compiled)


@cache
def _tell() -> None:
    logging.getLogger("featavg").info(
        "what is compiled cannot be kept here; set NUMBA_CACHE_DIR to a folder that can be written to"
    )
