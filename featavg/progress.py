"""How work says how far it is; what becomes of it is not its business."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Progress = Callable[[float, str], None]  # the share that is done, from 0 to 1, and what is worked on


def silent(share: float, what: str) -> None:
    """Tell nobody."""


def on_screen() -> Progress:
    """Tell whoever sits before it, on stderr: one line that is written over, at most five times a second."""
    last = -1.0

    def tell(share: float, what: str) -> None:
        nonlocal last
        if share < 1 and time.monotonic() - last < 0.2:
            return
        last = time.monotonic()
        sys.stderr.write(f"\r{share:4.0%} {what:<70.70}" + ("\n" if share >= 1 else ""))
        sys.stderr.flush()

    return tell


def part(progress: Progress, start: float, stop: float, what: str = "") -> Progress:
    """Return the progress of a part of the work, from `start` to `stop` of the whole; `what` is said before it.

    >>> part(lambda share, what: print(share, what), 0.5, 1.0, "seed 3")(0.5, "training")
    0.75 seed 3, training
    """

    def tell(share: float, doing: str) -> None:
        progress(start + share * (stop - start), ", ".join(filter(None, (what, doing))))

    return tell
