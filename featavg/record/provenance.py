"""Where a record comes from: the versions and the commit that made it."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path


def current_versions() -> dict[str, str]:
    """Return the versions of python, numpy, scipy and featavg, without importing them."""
    from featavg import __version__

    packages = {name: metadata.version(name) for name in ("numpy", "scipy")}
    return {"python": platform.python_version(), **packages, "featavg": __version__}


@cache  # the code that runs was loaded once, and git is asked once
def current_commit() -> str | None:
    """Return the commit of the checkout the package runs from, "+changes" if it was edited; None without a checkout."""
    checkout = Path(__file__).resolve().parents[2]
    # Installed into a virtual environment inside another project, the package must not name that project's commit.
    if not (checkout / ".git").exists():
        return None
    try:
        commit = _git(checkout, "rev-parse", "HEAD")
        edited = _git(checkout, "status", "--porcelain", "--", "featavg")
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+changes" if edited else "")


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
