"""Run parts of the campaign, all by default: `python -m campaign [PART …] [--workers N]`; the parts are below.

Finished work in runs/campaign, and networks in the cache, are kept and reused. `--problems` is that of the part
`soundness`, `--seed` that of `soundness`, `advice` and `sweep_faults`, `--cases` (of each reader) that of `fuzz`,
`--each` (of each kind) that of `advice`, `--kills` (of each work) that of `kills`.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from featavg.record import write_record

PARTS = ("exactness", "backbone", "soundness", "fuzz", "kills", "sweep_faults", "advice")


def main() -> None:
    """Run them, write their records, print the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--each", type=int, default=21)
    parser.add_argument("--kills", type=int, default=45)
    parser.add_argument("--results", type=Path, default=Path("results/campaign"))
    options = parser.parse_args()
    for part in options.parts:
        chosen = {
            "soundness": {"problems": options.problems, "seed": options.seed},
            "fuzz": {"cases": options.cases},
            "sweep_faults": {"seed": options.seed},
            "kills": {"kills": options.kills},
            "advice": {"cases": options.each, "seed": options.seed},
        }
        module = importlib.import_module(f"campaign.{part}")
        record = module.run(Path("runs/campaign"), options.workers, **chosen.get(part, {}))
        print(write_record(record, options.results))
        for claim in record.claims:
            print(f"{claim.verdict:8} {claim.text} ({claim.measured:g})")


if __name__ == "__main__":
    main()
