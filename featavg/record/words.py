"""How numbers and verdicts are put into words, on the page and in the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from featavg.record.claim import Claim, count_verdicts
from featavg.record.record import Record, Result

SIGNS = {"near": "≈", "at least": "≥", "at most": "≤"}


def number(value: float) -> str:
    """Write a number with four digits that count.

    >>> number(-0.031416), number(17.5271), number(3.0), number(float("inf"))
    ('−0.03142', '17.53', '3', '∞')
    """
    text = "∞" if value == math.inf else "−∞" if value == -math.inf else f"{value:.4g}"
    return text.replace("-", "−")


def expected_text(claim: Claim) -> str:
    """Write what is expected: ≈ 0.4472, ≥ 5.54."""
    return " ".join(filter(None, (SIGNS[claim.relation], number(claim.expected), claim.unit)))


def interval_text(claim: Claim) -> str:
    """Write the confidence interval; a number that no seed changes has none."""
    low, high = claim.interval
    return "no spread" if low == high else f"{number(low)} … {number(high)}"


def published_text(claim: Claim) -> str:
    """Write the published value, or a dash."""
    return "–" if claim.published is None else number(claim.published)


def verdict_text(claim: Claim) -> str:
    """Write the verdict; an identity is told from a claim."""
    return f"check {claim.verdict}" if claim.check else claim.verdict


def verdict_counts(claims: Sequence[Claim]) -> str:
    """Write how many claims have which verdict: 3 hold, 1 fails, 1 open."""
    plural = {"holds": "hold", "fails": "fail"}
    counts = {verdict: count for verdict, count in count_verdicts(claims).items() if count}
    words = [f"{n} {verdict if n == 1 else plural.get(verdict, verdict)}" for verdict, n in counts.items()]
    return ", ".join(words) or "no claims"


def summary(records: Sequence[Record | Result]) -> str:
    """Write the one sentence above everything."""
    claims = [claim for record in records for claim in record.claims if not claim.check]
    plural = "claim" if len(claims) == 1 else "claims"
    runs = "1 experiment" if len(records) == 1 else f"{len(records)} experiments"
    return f"{len(claims)} {plural} in {runs}: {verdict_counts(claims)}."
