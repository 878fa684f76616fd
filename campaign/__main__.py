"""Run parts of the campaign: `python -m campaign [exactness] [backbone] [--workers N]`; all unless named.

Finished chunks in runs/campaign, and networks in the cache, are kept and reused.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from featavg.record import write_record

PARTS = ("exactness", "backbone")


def main() -> None:
    """Run them, write their records, print the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    for part in options.parts:
        record = importlib.import_module(f"campaign.{part}").run(Path("runs/campaign"), options.workers)
        print(write_record(record, Path("results/campaign")))
        for claim in record.claims:
            print(f"{claim.verdict:8} {claim.text} ({claim.measured:g})")


if __name__ == "__main__":
    main()
