"""Run parts of the campaign, all by default: `python -m campaign [PART …] [--workers N]`; the parts are below.

Finished work in runs/campaign, and networks in the cache, are kept and reused. `--problems` and `--seed` are those of
the part `soundness`, `--cases` (of each reader) is that of `fuzz`; `sweep_faults` takes `--seed` too.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from featavg.record import write_record

PARTS = ("exactness", "backbone", "soundness", "fuzz", "sweep_faults")


def main() -> None:
    """Run them, write their records, print the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--results", type=Path, default=Path("results/campaign"))
    options = parser.parse_args()
    for part in options.parts:
        chosen = {
            "soundness": {"problems": options.problems, "seed": options.seed},
            "fuzz": {"cases": options.cases},
            "sweep_faults": {"seed": options.seed},
        }
        module = importlib.import_module(f"campaign.{part}")
        record = module.run(Path("runs/campaign"), options.workers, **chosen.get(part, {}))
        print(write_record(record, options.results))
        for claim in record.claims:
            print(f"{claim.verdict:8} {claim.text} ({claim.measured:g})")


if __name__ == "__main__":
    main()
