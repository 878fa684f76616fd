"""Run the campaign: `python -m campaign [--workers N]`; finished chunks in runs/campaign are kept and reused."""

from __future__ import annotations

import argparse
from pathlib import Path

from campaign import exactness
from featavg.record import write_record


def main() -> None:
    """Run it, write the record, print the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    record = exactness.run(Path("runs/campaign"), options.workers)
    print(write_record(record, Path("results/campaign")))
    for claim in record.claims:
        print(f"{claim.verdict:8} {claim.text} ({claim.measured:g})")


if __name__ == "__main__":
    main()
