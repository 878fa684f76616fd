"""Sweeps whose processes are killed: is the table complete, is nothing lost, is nothing doubled?

Workers import this package for the swept functions, so it imports the rest only when it is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from featavg.record import Record


def run(folder: Path, workers: int, seed: int = 0) -> Record:
    """Run every scenario and sum up."""
    from campaign.sweep_faults.runner import run_all

    return run_all(seed)
