"""A function to try a sweep on."""

from __future__ import annotations


def line(slope: float, seed: int) -> dict[str, float]:
    """The height of a line at seed + 1."""
    return {"height": float(slope * (seed + 1))}
