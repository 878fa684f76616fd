"""Processes that cannot write to their home, whoever they run as."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Root may write everywhere unless it gives that up, for itself and what it starts.
LAUNCH = """
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
if os.geteuid() == 0:
    assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) == 0
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
# Where a user may have said that caches are to be.
PLACES = ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "FEATAVG_CACHE")


def run_python(*arguments: str, home: Path, at: Path, path: Path) -> subprocess.CompletedProcess[str]:
    """`python …` with a home that is made read-only, in the folder `at`, importing from `path`."""
    home.chmod(0o555)
    kept = {name: value for name, value in os.environ.items() if name not in PLACES}
    environment = {**kept, "HOME": str(home), "PYTHONPATH": str(path)}
    command = [sys.executable, "-c", LAUNCH, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=at, check=False)
