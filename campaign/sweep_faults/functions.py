"""What is swept over while processes die: the value is known, and every call leaves a mark."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from secrets import token_hex


def marked(x: int, folder: str, pause: float, seed: int) -> dict[str, float]:
    """x² + seed after a pause, with a mark for the call."""
    (Path(folder) / f"{x}-{seed}-{token_hex(4)}").touch()
    time.sleep(pause)
    return {"y": float(x * x + seed)}


def poisoned(x: int, bad: int, folder: str, pause: float, seed: int) -> dict[str, float]:
    """The same, but one trial kills its worker every time."""
    if x == bad:
        os.kill(os.getpid(), signal.SIGKILL)
    return marked(x, folder, pause, seed)
