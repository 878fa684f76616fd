"""How much memory a program needed."""

from __future__ import annotations

from pathlib import Path


def peak_megabytes() -> float:
    """Peak resident memory of this program; Linux only, since ru_maxrss of a child starts at its parent's peak."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
