"""Files that a command leaves: their places are tried before the work begins, and they are whole or not there."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from featavg.errors import InputError


def check_place(path: Path, *endings: str) -> None:
    """Refuse a file that could not be written, before hours of work and not after."""
    if endings and path.suffix not in endings:
        raise InputError(f"{path.name} must end in {' or '.join(endings)}; name it so")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    trial = _beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror}); choose another place") from None


def write_whole(path: Path, text: str) -> None:
    """Write beside the place and move it there."""
    partial = _beside(path)
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror}); choose another place") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.partial")
