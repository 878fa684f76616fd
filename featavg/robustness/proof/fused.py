"""Multiply and add with one rounding, where the processor does that: the error of a product in one operation."""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numba
from numba import types
from numba.extending import intrinsic


def has_fused() -> bool:
    """Whether compiled code can use the processor's fused multiply-add; without it a library call would be slow."""
    settings: Any = numba.config
    if settings.DISABLE_JIT:
        return False
    features = llvmlite.binding.get_host_cpu_features()
    return bool(features.get("fma", False)) or llvmlite.binding.get_process_triple().startswith(("aarch64", "arm64"))


def _fused(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """a·b + c, rounded once."""
    signature = types.float64(types.float64, types.float64, types.float64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return signature, generate


fused: Any = intrinsic(_fused)
