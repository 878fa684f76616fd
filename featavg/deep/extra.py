"""The fence: everything in this room needs torch, and whoever lacks it is told how to get it."""

from __future__ import annotations

from importlib import import_module

from featavg.errors import InputError

NEEDED = ("torch", "safetensors")


def require_torch() -> None:
    """Import what this room stands on, or say in one sentence what to install."""
    for name in NEEDED:
        try:
            import_module(name)
        except ImportError:
            raise InputError(f"deep networks need {name}, which is missing; pip install 'featavg[deep]'") from None
