"""What a campaign found, as a record: claims, counts by family and read-out, and how narrow the brackets are."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from campaign.soundness.crowded import FORMULA_AGREES
from campaign.soundness.judgement import FAULTS
from campaign.soundness.larger import SOLVERS_AGREE
from campaign.soundness.pooled import DIGITS
from campaign.soundness.scip import SCIP_AGREES
from featavg.record import Claim, Drawing, Evidence, Provenance, Record, Table

CLOSED = 0.98
CLAIMS = {
    "lower above the truth": "No lower bound exceeds the true radius.",
    "upper below the truth": "No upper bound falls short of the true radius.",
    "lower above upper": "No lower bound exceeds its upper bound.",
    "not verified": "Every bracket verifies.",
    "not verified by the audit": "The audit agrees with every bracket that it is shown.",
    "witness not fooled": "Every witness is fooled.",
    "witness outside the box": "Every witness lies in the box.",
    "witness farther than upper": "No witness lies farther than the upper bound.",
    "traceback": "Nothing ends in a traceback or not at all.",
    "refused": "No valid question is refused.",
}


def summed_up(told: list[dict[str, Any]], seed: int) -> Record:
    """Return the record of a campaign."""
    families = sorted({line["family"] for line in told})
    readouts = sorted({line["readout"] for line in told})
    gaps = np.sort([_gap(line) for line in told])
    return Record(
        name="soundness",
        title="Exact radii of hostile networks against exact rational arithmetic",
        config={
            "problems": len(told),
            "oracles": dict(Counter(line["oracle"] for line in told)),
            "norms": dict(Counter(line["norm"] for line in told)),
            "boxed": sum(line["box"] for line in told),
            "families": families,
            "readouts": readouts,
            "faults": list(FAULTS),
            "damages": dict(Counter(damage.split(":")[0] for line in told for damage in line["damages"])),
        },
        seeds=(seed,),
        claims=(*_no_faults(told), _closed(told), *_damages(told)),
        evidence=Evidence(
            Table.of(
                {
                    "family": np.array(families),
                    "readout": np.array(readouts),
                    "by_family": _table(told, "family", families),
                    "by_readout": _table(told, "readout", readouts),
                    "gap": gaps,
                    "share": np.arange(1, len(gaps) + 1) / len(gaps),
                }
            ),
            (_drawing(),),
            tuple(_notes(told)),
            Provenance(seconds=round(sum(line["seconds"] + line["truth_seconds"] for line in told), 1)),
        ),
    )


def _no_faults(told: list[dict[str, Any]]) -> list[Claim]:
    counts = Counter(fault for line in told for fault in line["faults"])
    audited = sum(line["audited"] for line in told)
    shown = {fault: len(told) for fault in CLAIMS} | {"not verified by the audit": audited}
    rest = {
        "lower above the truth": f"; decided in rationals, for summed probabilities against enclosures of {DIGITS:g}, "
        f"on larger networks up to the solvers' {SOLVERS_AGREE:g}, SCIP's {SCIP_AGREES:g} and {FORMULA_AGREES:g} of a "
        "formula in floats",
    }
    return [
        Claim.exact(
            counts[fault],
            text,
            source="campaign",
            expected=0.0,
            tolerance=0.0,
            tolerance_reason="a count",
            how=f"problems that fail, of {shown[fault]:,}{rest.get(fault, '')}",
        )
        for fault, text in CLAIMS.items()
        if shown[fault]
    ]


def _closed(told: list[dict[str, Any]]) -> Claim:
    strictly = sum(line["closed"] for line in told) / len(told)
    return Claim.exact(
        sum(line["closed_as_floats_go"] for line in told) / len(told),
        "Nearly every bracket is closed.",
        source="campaign",
        expected=CLOSED,
        tolerance=0.0,
        tolerance_reason="a goal; cancelling pairs far away leave a witness no digits",
        relation="at least",
        how="share with upper − lower ≤ 1e-6 of upper, or 8 steps of the float64 lattice, on which a witness lies; "
        f"{strictly:.4f} without that allowance",
    )


def _damages(told: list[dict[str, Any]]) -> list[Claim]:
    damages = [damage for line in told for damage in line["damages"]]
    if not damages:
        return []
    return [
        Claim.exact(
            sum(damage.startswith(start) for damage in damages),
            text,
            source="campaign",
            expected=0.0,
            tolerance=0.0,
            tolerance_reason="a count",
            how=f"of {len(damages):,}: saved proofs, damaged at random, and proofs held against other networks; each "
            "is asked for what it claims and for a little more than the truth",
        )
        for start, text in (
            ("above", "No damaged proof proves more than the truth."),
            ("traceback", "No damaged proof ends in a traceback."),
        )
    ]


def _table(told: list[dict[str, Any]], by: str, names: list[str]) -> np.ndarray:
    """Problems, closed ones, and each fault: (name, 2 + fault)."""
    rows = []
    for name in names:
        lines = [line for line in told if line[by] == name]
        faults = Counter(fault for line in lines for fault in line["faults"])
        rows.append([len(lines), sum(line["closed_as_floats_go"] for line in lines), *(faults[f] for f in FAULTS)])
    return np.array(rows)


def _gap(line: dict[str, Any]) -> float:
    """(upper − lower) / upper, at least 1e-17 for a logarithmic axis; 1 where nothing is known."""
    lower, upper = float.fromhex(line["lower"]), float.fromhex(line["upper"])
    if lower == upper:
        return 1e-17
    return max((upper - lower) / upper, 1e-17) if math.isfinite(upper) and upper > 0 else 1.0


def _drawing() -> Drawing:
    return Drawing(
        "curves",
        {"x": "gap", "y": "share"},
        caption="Relative gap between the bounds on hostile networks: share of problems up to each gap.",
        options={
            "log_x": True,
            "x_label": "(upper − lower) / upper",
            "y_label": "share of problems",
            "marks": [[1e-6, "closed"]],
        },
    )


def _notes(told: list[dict[str, Any]]) -> tuple[str, ...]:
    worst = sorted((line for line in told if line["faults"]), key=lambda line: -float.fromhex(line["excess"]))[:20]
    grave = sum(float.fromhex(line["excess"]) > 1e-9 for line in told)
    notes = [f"Bounds that are wrong by more than 1e-9 of the radius: {grave}."] if grave else []
    return (*notes, *(f"problem {line['number']} ({line['family']}): {', '.join(line['faults'])}" for line in worst))
