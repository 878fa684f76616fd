"""How far a reader walks: functions, files and depth that `featavg refine digits` and `featavg diagnose` pass.

Counted are functions of this package by file and name, without imports, class bodies, lambdas and comprehensions; all
of them, and those outside `robustness/`. Takes minutes, since every call is looked at: `python -m benchmarks walks`.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import featavg
from featavg.cli import main as command

ROOT = Path(featavg.__file__).parent
FUNCTION = 1  # the flag of code with fast local names, which bodies of modules and classes have not
MODULE = "<module>"


class Walk:
    """What was passed, told by `sys.setprofile`: all of it, and what is not in robustness/."""

    def __init__(self) -> None:
        self.passed: set[tuple[str, str]] = set()  # file and name
        self.depth, self.deepest, self.importing = [0, 0], [0, 0], 0
        self._places: dict[CodeType, tuple[str, str] | None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Look at one call or return."""
        if event not in ("call", "return"):
            return
        code, step = frame.f_code, 1 if event == "call" else -1
        if code not in self._places:
            self._places[code] = _place(code)
        place = self._places[code]
        if place is None:
            return
        if place[1] == MODULE:
            self.importing += step
        elif not self.importing:
            self.passed.add(place)
            for which in (0,) if _room(place[0]) == "robustness" else (0, 1):
                self.depth[which] += step
                self.deepest[which] = max(self.deepest[which], self.depth[which])

    def __str__(self) -> str:
        outside = {place for place in self.passed if _room(place[0]) != "robustness"}
        sizes = [f"{len(some)} / {len({file for file, _ in some})}" for some in (self.passed, outside)]
        rooms = Counter(_room(file) for file, _ in outside).most_common()
        told = (f"{size} / {deep}" for size, deep in zip(sizes, self.deepest, strict=True))
        return f"{', outside robustness/ '.join(told)}: {', '.join(f'{room} {count}' for room, count in rooms)}"


def _place(code: CodeType) -> tuple[str, str] | None:
    """File and name of a function or a module of this package."""
    file = Path(code.co_filename)
    plain = code.co_flags & FUNCTION and not code.co_name.startswith("<")
    counted = ROOT in file.parents and (plain or code.co_name == MODULE)
    return (str(file.relative_to(ROOT)), code.co_qualname) if counted else None


def _room(file: str) -> str:
    return Path(file).parts[0]


def walk(arguments: list[str]) -> Walk:
    """The walk of one command."""
    found = Walk()
    sys.setprofile(found)
    try:
        command(arguments)
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
    return found


def main() -> None:
    """Print functions / files / depth of both walks, and where the functions live."""
    with tempfile.TemporaryDirectory() as folder:
        model, page = str(Path(folder, "m.npz")), str(Path(folder, "page.html"))
        for arguments in (["refine", "digits", "-o", model], ["diagnose", model, "digits", "-o", page]):
            found = walk(arguments)
            print(f"{arguments[0]}: {found}")
