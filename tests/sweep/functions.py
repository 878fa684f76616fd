"""Functions to sweep over; workers import them by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def square(x: float, seed: int) -> dict[str, float]:
    """What is computed here is known."""
    return {"y": x * x + seed}


def no_odd_numbers(x: float) -> str | None:
    """A rule."""
    return "odd numbers are not allowed" if x % 2 else None


square.check = no_odd_numbers  # type: ignore[attr-defined]


def counted(x: float, folder: str, seed: int) -> dict[str, float]:
    """Leaves a mark for every call."""
    path = Path(folder) / f"{x}-{seed}-{os.getpid()}-{time.monotonic_ns()}"
    path.touch()
    time.sleep(0.02)
    return {"y": x + seed}


def failing(x: float, seed: int) -> dict[str, float]:
    """Fails at 1."""
    if x == 1:
        raise ZeroDivisionError("one is too many")
    return {"y": x}


def poison(x: float, seed: int) -> dict[str, float]:
    """Kills its worker at 1."""
    if x == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"y": x}


def strange(seed: int) -> dict[str, object]:
    """Returns what no file can hold."""
    return {"y": object()}


def leaving(x: float, seed: int) -> dict[str, float]:
    """Ends its process, if it is let."""
    raise SystemExit("enough")


def fickle(x: float, folder: str, seed: int) -> dict[str, float]:
    """Fails until a file is there."""
    return {"y": float(Path(folder, "cure").read_text())}


def surface(x: float, y: float, seed: int, kind: str = "a") -> dict[str, object]:
    """Numbers on a grid, and what is no number."""
    return {"height": x + 10 * y + 0.01 * seed, "word": kind}


def naming(name: str, seed: int) -> dict[str, float]:
    """Returns a number under a name of the caller's choice."""
    return {name: 0.5}
