"""The verdict table, and the drawing of how far each claim is from what was expected."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from matplotlib.figure import Figure

from featavg.figures.dots import dots
from featavg.record import Claim, Record, Result
from featavg.record.words import expected_text, interval_text, number, published_text

COLUMNS = ("claim", "source", "expected", "measured", "interval", "tolerance", "published", "verdict")


def badge(claim: Claim) -> str:
    """Return the verdict as a coloured word."""
    return f'<span class="verdict {claim.verdict}">{claim.verdict}</span>'


def verdict_table(records: Sequence[Record | Result]) -> str:
    """Return one row per claim, linked to its section."""
    head = "".join(f'<th scope="col">{column}</th>' for column in COLUMNS)
    rows = "".join(_row(record, place, claim) for record in records for place, claim in enumerate(record.claims, 1))
    return f'<table class="verdicts"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _row(record: Record | Result, place: int, claim: Claim) -> str:
    # The same cell carries its column's name, shown on narrow screens where rows become cards.
    cells = {
        "source": escape(claim.source),
        "expected": escape(expected_text(claim)),
        "measured": number(claim.measured),
        "interval": interval_text(claim),
        "tolerance": number(claim.tolerance),
        "published": published_text(claim),
        "verdict": badge(claim),
    }
    name = escape(record.name)
    first = f'<th scope="row"><a href="#{name}-{place}">{name}&nbsp;{place}</a> {escape(claim.text)}</th>'
    rest = "".join(f'<td data-column="{column}">{cell}</td>' for column, cell in cells.items())
    return f"<tr>{first}{rest}</tr>"


def verdict_drawing(record: Record | Result) -> Figure:
    """Draw every claim of a record on one scale: the distance from what was expected, in tolerances."""
    numbers = np.array([(c.expected, c.measured, *c.interval, *c.accepted, _scale(c)) for c in record.claims])
    expected, *places, scale = numbers.T
    measured, lower, upper, accepted_low, accepted_high = ((place - expected) / scale for place in places)
    return dots(
        measured,
        lower=lower,
        upper=upper,
        accepted_low=accepted_low,
        accepted_high=accepted_high,
        expected=np.zeros(len(measured)),
        labels=[f"{record.name} {place}" for place in range(1, len(measured) + 1)],
        verdicts=[claim.verdict for claim in record.claims],
        limits=(-3, 3),
        x_label="(measured − expected) / tolerance",
        caption="Measured values with their intervals; the grey bar is what the claim accepts, an arrow lies beyond. "
        "The unit is the tolerance, for a one-sided claim the bound itself.",
    )


def _scale(claim: Claim) -> float:
    if claim.relation == "near" and claim.tolerance:
        return claim.tolerance
    return max(claim.tolerance, abs(claim.expected)) or 1.0
