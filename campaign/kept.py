"""Work in shares that are kept when they are done: who is interrupted goes on where the campaign stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import featavg
from featavg.errors import InputError
from featavg.sweep import Progress, Specification, run_sweep


def kept_rows(spec: Specification, folder: Path, workers: int) -> list[Mapping[str, Any]]:
    """What comes of every share, in order; those that the folder holds of the same code are not run again."""
    name = spec.function.rpartition(":")[0].rpartition(".")[2]
    found = run_sweep(spec, folder / f"{name}-{fingerprint()}", workers=workers if workers > 1 else 0, progress=_tell)
    if found.failed:
        raise InputError(f"a share of the campaign failed: {found.failed[0]['error']}")
    return list(found.rows)


def _tell(progress: Progress) -> None:
    left = "" if progress.rate == 0 else f", about {progress.seconds_left / 60:.0f} minutes left"
    print(f"{progress.done} of {progress.total} shares{left}", flush=True)


def fingerprint() -> str:
    """A short hash of all sources of the package and of the campaign."""
    digest = hashlib.sha256()
    for root in (Path(featavg.__file__).parent, Path(__file__).parent):
        for path in sorted(root.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
