"""All cases of all kinds, each kept when it is done, and the record of what came of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from campaign.advice.kinds import KINDS
from featavg.record import Claim, Column, Drawing, Evidence, Provenance, Record, Table
from featavg.sweep import Progress, Specification, run_sweep

CASES = 21  # of each kind
DEVELOPMENT = 100_000  # seeds from here on were used while the advice was being made
WANTED, ABSTAIN = 0.97, 0.20
Rows = list[dict[str, Any]]


def run(folder: Path, workers: int = 1, cases: int = CASES, seed: int = 0) -> Record:
    """Judge `cases` cases of each kind, from number `seed` on; what the folder holds is not run again."""
    spec = Specification("campaign.advice.case:judged", axes={"kind": list(KINDS)}, seeds=cases, first_seed=seed)
    found = run_sweep(spec, folder / "advice", workers=workers if workers > 1 else 0, progress=_tell)
    return summed_up(found.rows, seed)


def _tell(progress: Progress) -> None:
    print(f"{progress.done} of {progress.total} cases", flush=True)


def summed_up(rows: Rows, seed: int) -> Record:
    """The record of these cases: shares of right advice and of abstentions, over all and by kind."""
    whole = [row for row in rows if not row.get("error")]
    by_kind = {kind: [row for row in whole if row["kind"] == kind] for kind in KINDS}
    told = {kind: _counts(some) for kind, some in by_kind.items()}
    numbers = np.array(list(told.values()))
    given = np.maximum(numbers[:, 1], 1)
    columns = {
        "right": Column(numbers[:, 0] / given, ("kind",), "share of the advice given that is right"),
        "abstained": Column(numbers[:, 2] / np.maximum(numbers[:, 3], 1), ("kind",), "share of cases without advice"),
        "given": Column(numbers[:, 1], ("kind",), "cases with advice"),
        "cases": Column(numbers[:, 3], ("kind",), "cases"),
    }
    same = {"measured": "right", "lower": "right", "upper": "right"}
    drawing = Drawing(
        "dots", same, caption="Share of the advice of `diagnose` that is right, by kind of case.",
        options={"labels": list(KINDS), "x_label": "share right"},
    )  # fmt: skip
    return Record(
        name="advice",
        title="Advice of `diagnose` on cases of known answer",
        config={"cases": len(rows), "kinds": list(KINDS), "first_seed": seed},
        seeds=(seed,),
        claims=tuple(_claims(whole, len(rows))),
        evidence=Evidence(
            Table(columns, {"kind": np.array(list(KINDS))}), (drawing,), (*_told(whole, told), *_wrong(whole)),
            Provenance(seconds=round(sum(row["seconds"] + row["truth_seconds"] for row in whole), 1)),
        ),
    )  # fmt: skip


def _counts(rows: Rows) -> tuple[int, int, int, int]:
    """How many are right, given, abstained, and all."""
    right, given = sum(row["right"] == 1 for row in rows), sum(row["right"] >= 0 for row in rows)
    return right, given, len(rows) - given, len(rows)


def _told(rows: Rows, counts: dict[str, tuple[int, int, int, int]]) -> Iterator[str]:
    """What few cases of a kind say, which is too little for a claim."""
    for kind, (right, given, silent, cases) in counts.items():
        yield f"{kind}: {right} of {given} right, {silent} of {cases} without advice."
    untold = _counts([row for row in rows if not row["train_told"]])
    yield f"Cases without train=: {untold[0]} of {untold[1]} right, {untold[2]} of {untold[3]} without advice."


def _claims(whole: Rows, cases: int) -> Iterator[Claim]:
    yield Claim.exact(
        cases - len(whole), "Every case gets an answer.", source="campaign", expected=0, tolerance=0,
        tolerance_reason="no traceback is an answer", how=f"of {cases} cases", check=True,
    )  # fmt: skip
    yield _share(_counts(whole)[0], _counts(whole)[1], "The advice of `diagnose` is right.", WANTED, "at least")
    yield _share(_counts(whole)[2], len(whole), "It abstains seldom.", ABSTAIN, "at most")


def _share(part: int, of: int, text: str, wanted: float, relation: Any) -> Claim:
    found = binomtest(part, of).proportion_ci(0.95, method="exact")
    return Claim(
        text, source="asked of the tool", expected=wanted, measured=part / of, interval=(found.low, found.high),
        tolerance=0.0, tolerance_reason="asked of the tool before any case was made", relation=relation,
        how=f"{part} of {of} cases", interval_of="Clopper and Pearson's of level 95 %",
    )  # fmt: skip


def _wrong(rows: Rows) -> Iterator[str]:
    for row in rows:
        if row["right"] == 0:
            facts = f"recall above chance {row['recall']:.2f}, true gain {row['gain']:.2f}"
            yield f"Wrong: {row['kind']}, case {row['seed']}: {row['advice']}; {facts}."
