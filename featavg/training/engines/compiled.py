"""How kernels are compiled: cached on disk, IEEE arithmetic as written, division by zero as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def kernel(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compile a function of arrays at its first call."""
    compile_it: Any = numba.njit  # its types do not know all of its options
    return cast(Callable[Arguments, Result], compile_it(cache=True, error_model="numpy")(function))
