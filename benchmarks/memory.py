"""How much memory a program needed."""

from __future__ import annotations

from pathlib import Path


def peak_megabytes() -> float:
    """Peak resident memory of this program; Linux only, since ru_maxrss of a child starts at its parent's peak."""
    return _megabytes("VmHWM")


def resident_megabytes() -> float:
    """Resident memory of this program now; Linux only."""
    return _megabytes("VmRSS")


def _megabytes(name: str) -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024
