"""Where a record comes from: the versions and the commit that made it."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

UNKNOWN = "unknown"
CHANGES = "+changes"
# Set while a hook runs, say, these would send git to another repository than the one of the folder.
ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY")


def current_versions() -> dict[str, str]:
    """Return the versions of python, numpy, scipy and featavg, without importing them."""
    from featavg import __version__

    packages = {name: metadata.version(name) for name in ("numpy", "scipy")}
    return {"python": platform.python_version(), **packages, "featavg": __version__}


@cache  # the code that runs was loaded once, and git is asked once
def current_commit() -> str:
    """Return the commit of the checkout the package runs from, with "+changes" if the package was edited since.

    Without a checkout of its own it is "unknown".
    """
    return commit_of(Path(__file__).resolve().parents[1])


def commit_of(package: Path) -> str:
    """Return the commit that holds the folder `package`, "+changes" if files in it differ from it, or "unknown".

    New files count as changes; files beside the folder do not.
    """
    # Installed into a virtual environment inside another project, the package must not name that project's commit.
    if not (package.parent / ".git").exists():
        return UNKNOWN
    try:
        # Fails where the package merely lies in a checkout of something else, as after `pip install --target`.
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(package, "rev-parse", "HEAD")
        edited = _git(package, "status", "--porcelain", "--untracked-files=all", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
    return commit + (CHANGES if edited else "")


def _git(folder: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=10)
    return answer.stdout.strip()


@cache
def code_digest(*folders: Path) -> str:
    """A hash of every file in the package and in other `folders`, but for what Python compiled and keeps there.

    >>> code_digest() == code_digest(Path(__file__).parents[1])
    True
    """
    digest = hashlib.sha256()
    for folder in sorted({Path(__file__).resolve().parents[1], *(folder.resolve() for folder in folders)}):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(folder)).encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@dataclass(frozen=True)
class Provenance:
    """The versions and the commit that made something, here and now by default, and how long it took in all."""

    versions: Mapping[str, str] = field(default_factory=current_versions)
    commit: str = field(default_factory=current_commit)
    seconds: float = 0.0
    code: str = ""  # `code_digest` of what made it, where it matters
