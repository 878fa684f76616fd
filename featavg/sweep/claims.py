"""Who works on what: a small file for each trial that is under way, so that two drivers do not compute it twice."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from featavg.errors import InputError
from featavg.files import is_running

# A claim of a process on another machine, which cannot be looked for, is void after so many seconds without a sign of
# life. Its owner gives one ten times as often, from a thread beside the trial.
LEASE = 600.0
# A claim without an owner is being written just now, or its writer was killed; after so many seconds it is void.
UNSIGNED = 10.0


class Claims:
    """The claims of a folder.

    Claims of one trial are numbered; a void one is followed by the next number, which only one can create.
    """

    def __init__(self, folder: Path, lease: float = LEASE) -> None:
        self.folder, self.lease = folder, lease

    def take(self, key: str) -> bool:
        """Take a trial, unless somebody who lives has it."""
        taken = self._numbered().get(key, -1)
        if taken >= 0 and self._holds(self._path(key, taken)):
            return False
        try:
            handle = os.open(self._path(key, taken + 1), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
            with os.fdopen(handle, "w") as file:
                file.write(f"{socket.gethostname()} {os.getpid()} {born(os.getpid())}")
        except FileExistsError:
            return False
        except OSError as error:
            self.give_back(key)
            raise InputError(f"cannot write to {self.folder} ({error.strerror}); make room there") from None
        return True

    def give_back(self, key: str) -> None:
        """Give a trial back; whoever does has stored it before, so that the next one sees it."""
        for path in sorted(self.folder.glob(f"{key}.*")):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()

    def held(self, key: str) -> bool:
        """Whether somebody has taken a trial and not given it back, alive or dead."""
        return key in self._numbered()

    def living(self) -> set[str]:
        """The trials that somebody who lives works on."""
        return {key for key, number in self._numbered().items() if self._holds(self._path(key, number))}

    def void(self) -> set[str]:
        """The trials whose claims the dead have left behind."""
        return set(self._numbered()) - self.living()

    @contextlib.contextmanager
    def alive(self, key: str) -> Iterator[None]:
        """Give signs of life for a claim of ours, and give it back in the end."""
        over = threading.Event()
        threading.Thread(target=self._refresh, args=(key, over), daemon=True).start()
        try:
            yield
        finally:
            over.set()
            self.give_back(key)

    def _refresh(self, key: str, over: threading.Event) -> None:
        while not over.wait(self.lease / 10):
            for path in self.folder.glob(f"{key}.*"):
                with contextlib.suppress(FileNotFoundError):
                    os.utime(path)

    def _path(self, key: str, number: int) -> Path:
        return self.folder / f"{key}.{number}"

    def _numbered(self) -> dict[str, int]:
        """The highest number of each trial's claims."""
        found: dict[str, int] = {}
        for name in os.listdir(self.folder):
            key, _, number = name.partition(".")
            if number.isdigit():
                found[key] = max(found.get(key, -1), int(number))
        return found

    def _holds(self, path: Path) -> bool:
        """Whether the owner of a claim lives; on another machine, whether it has given a sign of life."""
        try:
            said, age = path.read_text().split(" "), time.time() - path.stat().st_mtime
        except OSError:  # given back just now
            return False
        if len(said) != 3:
            return age < UNSIGNED
        host, process, birth = said
        if host != socket.gethostname():
            return age < self.lease
        return is_running(int(process)) and born(int(process)) == birth


def born(process: int) -> str:
    """When a process began, in its machine's own count: numbers of processes are used again, in containers at once.

    Empty where the system does not tell, and `gone` for one that is dead and not yet buried.

    >>> born(os.getpid()) == born(os.getpid())
    True
    """
    try:
        # The name of the program, in parentheses, may hold anything.
        about = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "gone" if about[0] in "ZX" else about[19]
