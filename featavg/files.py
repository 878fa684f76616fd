"""The one writer of files: whole or not there, whatever happens on the way."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from secrets import token_hex
from typing import IO

from featavg.errors import InputError

PARTIAL = ".partial"


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file beside `path` for writing bytes, and move it there once the block has ended without an error.

    A link is followed, so that it stays a link. What earlier writers of the same file left behind is removed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(folder + "/note.txt") as file:
    ...         size = file.write(b"all of it")
    ...     os.listdir(folder)
    ['note.txt']
    """
    target = _target(Path(path))
    partial = target.with_name(f".{target.name}.{os.getpid()}.{token_hex(4)}{PARTIAL}")
    try:
        _sweep(target)
        with open(partial, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror or error}); choose another place") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write bytes, or text as UTF-8, to `path`; it is whole or as it was."""
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write several files that belong together, in order; all are complete beside their places before one is moved."""
    with contextlib.ExitStack() as stack:
        # Leaving runs backwards, so the first file must be entered last to be moved first.
        for path, content in reversed(list(contents.items())):
            stack.enter_context(whole_file(path)).write(content)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, or say why that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder} ({error.strerror}); choose another place") from None


def check_place(path: Path, *endings: str) -> None:
    """Refuse a file that could not be written, before hours of work and not after."""
    if endings and path.suffix not in endings:
        raise InputError(f"{path.name} must end in {' or '.join(endings)}; name it so")
    target = _target(path)
    trial = target.with_name(f".{target.name}.{os.getpid()}.{token_hex(4)}{PARTIAL}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror}); choose another place") from None


def _target(path: Path) -> Path:
    """The file itself behind any links; a folder, a pipe or a device is refused."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return Path(os.path.realpath(path))
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder; name a file in it")
    if not stat.S_ISREG(mode) or _is_stream(path):
        raise InputError(f"{path} is a pipe or a device, where a file cannot be whole or absent; name an ordinary file")
    return Path(os.path.realpath(path))


def _is_stream(path: Path) -> bool:
    """Whether a path leads through a stream of a process, as /dev/stdout does, which must not be replaced."""
    while path.is_symlink():
        if path.absolute().is_relative_to("/dev") or path.absolute().is_relative_to("/proc"):
            return True
        path = path.parent / path.readlink()
    return False


def _sweep(target: Path) -> None:
    """Remove what writers of this file left behind that were killed."""
    left = re.compile(re.escape(f".{target.name}.") + r"(\d+)\.[0-9a-f]{8}" + re.escape(PARTIAL))
    for name in os.listdir(target.parent):
        found = left.fullmatch(name)
        if found and not is_running(int(found[1])):
            with contextlib.suppress(OSError):
                (target.parent / name).unlink()


def is_running(process: int) -> bool:
    """Whether there is a process of that number.

    >>> is_running(os.getpid())
    True
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's, or this system cannot tell
        return True
    return True
