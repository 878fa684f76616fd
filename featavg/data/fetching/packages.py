"""The same content through package clients, for networks that reach package mirrors and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from featavg.data.image_set import Package, SourceError

LONGEST = 1800  # seconds for one client; the clients have shorter limits of their own for a silent network
# Without these npm tries an unreachable network for minutes.
NPM_OPTIONS = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--no-update-notifier", "--loglevel=error")
APT_OPTIONS = ("-q", "-o", "Acquire::Retries=1")


def download_package(package: Package, folder: Path) -> None:
    """Let the package's own client put its archive into `folder`; a Debian package is unpacked there."""
    if package.client == "npm":
        _run(["npm", "pack", package.name, *NPM_OPTIONS], folder)
        return
    _run(["apt-get", "download", package.name, *APT_OPTIONS], folder)
    for archive in folder.glob(package.archive):
        _run(["dpkg", "-x", str(archive), str(folder)], folder)


def _run(command: list[str], folder: Path) -> None:
    program = shutil.which(command[0])
    if program is None:
        raise SourceError(f"{command[0]} is not installed")
    try:
        done = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            env=os.environ | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        raise SourceError(f"{command[0]} gave no answer in {LONGEST} seconds") from None
    if done.returncode:
        raise SourceError(_complaint(done.stderr) or f"{command[0]} failed with exit code {done.returncode}")


def _complaint(stderr: str) -> str:
    """Return the one line of a client's complaint that says most: the first that is not a notice or a warning."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("npm notice", "npm warn", "npm error code", "W:", "N:"))]
    return telling[0] if telling else ""
