"""Where trials are kept: a folder in which every process appends to a file of its own, one line per trial.

A line is durable before the trial counts as done; one that was cut short by a kill is passed over when the folder is
read. No process ever writes to another's file, so any number of them may share the folder, also over a network. A trial
that is under way is claimed by a small file, so that two drivers do not compute it twice; a claim whose process is gone
is void.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

from featavg.errors import InputError
from featavg.files import is_running, make_folder, write_whole

FORMAT, VERSION = "featavg sweep", 1
# A claim of a process on another machine, which cannot be looked for, is void after this many seconds.
LEASE = 3600.0


class Store:
    """A folder of trials.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder, "featavg.sweep.examples:line")
    ...     store.append({"key": "a", "seed": 0, "values": {"x": 1.5}})
    ...     Store(folder, "featavg.sweep.examples:line").rows()["a"]["values"]
    {'x': 1.5}
    """

    def __init__(self, folder: str | os.PathLike[str], function: str | None = None, lease: float = LEASE) -> None:
        self.folder, self.lease = Path(folder), lease
        self._own = self.folder / "trials" / f"{socket.gethostname()}-{os.getpid()}-{token_hex(4)}.jsonl"
        self.function = self._about(function)
        self._known: dict[str, dict[str, Any]] = {}
        self._read: dict[Path, int] = {}  # how far each file has been read

    def rows(self) -> dict[str, dict[str, Any]]:
        """All trials by their keys; of two answers to one trial a success is kept, then the first."""
        for path in sorted((self.folder / "trials").glob("*.jsonl")):
            for row in self._new_lines(path):
                known = self._known.get(row["key"])
                if known is None or ("error" in known and "error" not in row):
                    self._known[row["key"]] = row
        return self._known

    def _new_lines(self, path: Path) -> Iterable[dict[str, Any]]:
        """What was appended to a file since it was last read, as far as whole lines go."""
        with open(path, "rb") as file:
            file.seek(self._read.get(path, 0))
            whole, end, _ = file.read().rpartition(b"\n")
            self._read[path] = self._read.get(path, 0) + len(whole) + len(end)
        for line in whole.splitlines():
            try:
                row = json.loads(line)
            except ValueError:  # an empty line, or one that a kill cut short
                continue
            if isinstance(row, dict) and "key" in row:
                yield row

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a trial, and return when it is on the disk."""
        line = json.dumps(dict(row), ensure_ascii=False, default=_plain)
        try:
            with open(self._own, "ab") as file:
                # A line of its own even after one that was cut short.
                file.write(f"\n{line}\n".encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(f"cannot write to the store {self.folder} ({error.strerror}); make room there") from None

    def claim(self, key: str) -> bool:
        """Take a trial, unless it is done or somebody who lives has it.

        Claims of one trial are numbered; a void one is followed by the next number, which only one can create. Whoever
        gives a claim back has stored the trial before, so that the next one sees it.
        """
        path, taken = self._latest(key)
        if taken:
            return False
        number = int(path.suffix[1:]) + 1 if path else 0
        own = self.folder / "claims" / f"{key}.{number}"
        try:
            handle = os.open(own, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            return False
        with os.fdopen(handle, "w") as file:
            file.write(f"{socket.gethostname()} {os.getpid()}")
        if key in self.rows():
            self.release(key)
            return False
        return True

    def release(self, key: str) -> None:
        """Give a trial back."""
        for path in (self.folder / "claims").glob(f"{key}.*"):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()

    def is_claimed(self, key: str) -> bool:
        """Whether somebody who lives works on it; on another machine, whether the claim is fresh."""
        return self._latest(key)[1]

    def _latest(self, key: str) -> tuple[Path | None, bool]:
        """The claim of a trial with the highest number, and whether it holds."""
        claims = sorted((self.folder / "claims").glob(f"{key}.*"), key=lambda path: int(path.suffix[1:]))
        if not claims:
            return None, False
        try:
            said, age = claims[-1].read_text().split(), time.time() - claims[-1].stat().st_mtime
        except OSError:  # given back just now
            return claims[-1], False
        if len(said) != 2:  # it is being written just now, or was cut short
            return claims[-1], age < 10.0
        host, process = said
        return claims[-1], is_running(int(process)) if host == socket.gethostname() else age < self.lease

    def _about(self, function: str | None) -> str:
        path = self.folder / "sweep.json"
        if not path.exists():
            if function is None:
                raise InputError(f"no sweep at {self.folder}; make one with `featavg sweep SPEC -o {self.folder}`")
            for part in ("trials", "claims"):
                make_folder(self.folder / part)
            write_whole(path, json.dumps({"format": FORMAT, "version": VERSION, "function": function}) + "\n")
            return function
        try:
            about = json.loads(path.read_bytes())
            known, version = str(about["function"]), about["version"]
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{path} is damaged or of no sweep; choose another folder") from None
        if version != VERSION:
            raise InputError(f"{self.folder} is a store of version {version}, this featavg reads {VERSION}")
        if function not in (None, known):
            raise InputError(f"{self.folder} is a store of {known}, not of {function}; choose another folder")
        return known


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON knows them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a trial must return numbers, texts and lists of them, got a {type(value).__name__}")
