"""Where trials are kept: a folder in which every process appends to a file of its own, one line per trial.

A line is durable before the trial counts as done; one that was cut short by a kill is passed over when the folder is
read. No process ever writes to another's file, so any number of them may share the folder, also over a network.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

from featavg.errors import InputError
from featavg.files import make_folder, write_whole
from featavg.sweep.claims import LEASE, Claims

FORMAT, VERSION = "featavg sweep", 1


class Store:
    """A folder of trials of one function in one version; made if a function is named and the folder is not there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder, "featavg.sweep.examples:line")
    ...     store.append({"key": "a", "seed": 0, "values": {"x": 1.5}})
    ...     Store(folder).rows()["a"]["values"]
    {'x': 1.5}
    """

    def __init__(
        self, folder: str | os.PathLike[str], function: str | None = None, version: int | str = 0, lease: float = LEASE
    ) -> None:
        self.folder = Path(folder)
        self._own = self.folder / "trials" / f"{socket.gethostname()}-{os.getpid()}-{token_hex(4)}.jsonl"
        self.function = self._about(function, version)
        self.claims = Claims(self.folder / "claims", lease)
        self._known: dict[str, dict[str, Any]] = {}
        self._read: dict[str, int] = {}  # how far each file has been read

    def rows(self) -> dict[str, dict[str, Any]]:
        """All trials by their keys; of two answers to one trial a success is kept, then the first."""
        with os.scandir(self.folder / "trials") as entries:
            grown = [
                e.path for e in entries if e.name.endswith(".jsonl") and self._read.get(e.path) != e.stat().st_size
            ]
        for path in sorted(grown):
            for row in self._new_lines(path):
                known = self._known.get(row["key"])
                if known is None or ("error" in known and "error" not in row):
                    self._known[row["key"]] = row
        return self._known

    def _new_lines(self, path: str) -> Iterable[dict[str, Any]]:
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
        line = json.dumps(dict(row), ensure_ascii=False, default=plain)
        # A line of its own even after one that was cut short.
        self._write(f"\n{line}\n".encode())

    def claim(self, key: str) -> bool:
        """Take a trial, unless it is done or somebody who lives has it."""
        if not self.claims.take(key):
            return False
        if key in self.rows():
            self.claims.give_back(key)
            return False
        return True

    def beacon(self) -> str:
        """The name of a file of ours: a worker that sees it sees this folder, and not one of the same name."""
        self._write(b"")
        return self._own.name

    def sees(self, beacon: str) -> bool:
        """Whether the file of a driver is here."""
        return (self.folder / "trials" / beacon).exists()

    def close(self) -> None:
        """Leave no empty file behind, nor claims of workers that died before they gave back what they had stored."""
        for key in self.claims.void() & set(self.rows()):
            self.claims.give_back(key)
        if self._own.exists() and not self._own.stat().st_size:
            self._own.unlink()

    def forget_failures(self) -> int:
        """Drop trials that failed, so that they are run again; refused while trials are under way."""
        if self.claims.living():
            raise InputError(f"trials of {self.folder} are under way; wait for them before failures are run again")
        failed = {key for key, row in self.rows().items() if "error" in row}
        for path in sorted((self.folder / "trials").glob("*.jsonl")) if failed else ():
            self._read.pop(str(path), None)
            kept = [row for row in self._new_lines(str(path)) if row["key"] not in failed]
            write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))
        self._known, self._read = {}, {}
        return len(failed)

    def _write(self, content: bytes) -> None:
        try:
            new = not self._own.exists()
            with open(self._own, "ab") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if new:
                _settle(self._own.parent)
        except OSError as error:
            raise InputError(f"cannot write to the store {self.folder} ({error.strerror}); make room there") from None

    def _about(self, function: str | None, version: int | str) -> str:
        path = self.folder / "sweep.json"
        if not path.exists():
            if function is None:
                raise InputError(f"no sweep at {self.folder}; make one with `featavg sweep SPEC -o {self.folder}`")
            for part in ("trials", "claims"):
                make_folder(self.folder / part)
            about = {"format": FORMAT, "version": VERSION, "function": function, "function_version": version}
            write_whole(path, json.dumps(about) + "\n")
            return function
        try:
            about = json.loads(path.read_bytes())
            known, layout, its = str(about["function"]), about["version"], about.get("function_version", 0)
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{path} is damaged or of no sweep; choose another folder") from None
        if layout != VERSION:
            raise InputError(f"{self.folder} is a store of version {layout}, this featavg reads {VERSION}")
        if function is not None and (function, version) != (known, its):
            what = f"version {its}, not {version}, of {known}" if function == known else f"{known}, not of {function}"
            raise InputError(f"{self.folder} is a store of {what}; choose another folder")
        return known


def _settle(folder: Path) -> None:
    """A new file's name is durable once its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON knows them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a trial must return numbers, texts and lists of them, got a {type(value).__name__}")
