"""Verdicts: a dot for each claim, where it lies against what was expected, and all numbers in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from featavg.record import (
    Claim,
    Record,
    Result,
    expected_text,
    interval_text,
    number,
    published_text,
    verdict_counts,
    verdict_text,
)

COLUMNS = ("claim", "source", "expected", "measured", "interval", "tolerance", "published", "verdict")
# Shape and colour both tell the verdict, so that neither is needed.
SIGNS = {"holds": "●", "fails": "✖", "open": "◆", "vacuous": "■"}
REACH = 3.0  # tolerances to either side of what was expected
LONG, HIGH = 120, 14  # units of the drawing of a claim
OTHER = "More"  # records of no theme
Groups = dict[str, list[Record | Result]]  # theme -> its records, in order


def badge(claim: Claim) -> str:
    """Return the verdict as a coloured word."""
    return f'<span class="verdict {_kind(claim)}">{SIGNS[claim.verdict]} {verdict_text(claim)}</span>'


def _kind(claim: Claim) -> str:
    """The classes that style knows: a check is fainter than a claim, as it is not counted."""
    return f"{claim.verdict} check" if claim.check else claim.verdict


def dot_chart(groups: Groups) -> str:
    """A row of dots for each record under its theme, one for each claim and fainter ones for checks, linked to it."""
    told = {theme: [record for record in found if record.claims] for theme, found in groups.items()}
    return "".join(f"<h3>{escape(theme)} {_counts(found)}</h3>{_rows(found)}" for theme, found in told.items() if found)


def _counts(records: Sequence[Record | Result]) -> str:
    return f"<small>{verdict_counts([claim for record in records for claim in record.claims])}</small>"


def _rows(records: Sequence[Record | Result]) -> str:
    rows = "".join(
        f"<li data-has='{verdicts(record)}'><a href='#{record.name}'>{escape(record.title)}</a>"
        f"<span>{_dots(record)}</span></li>"
        for record in records
    )
    return f"<ul class='chart'>{rows}</ul>"


def _dots(record: Record | Result) -> str:
    return "".join(_dot(claim, f"{record.name}-{place}") for place, claim in enumerate(record.claims, 1))


def _dot(claim: Claim, address: str) -> str:
    told = escape(f"{verdict_text(claim)}: {claim.text}")
    return (
        f"<a class='dot {_kind(claim)}' data-verdict='{claim.verdict}' href='#{address}' "
        f"title='{told}' aria-label='{told}'>{SIGNS[claim.verdict]}</a>"
    )


def verdicts(record: Record | Result) -> str:
    """The verdicts that occur in a record, for the filter."""
    return " ".join(dict.fromkeys(claim.verdict for claim in record.claims))


def scale(claim: Claim) -> str:
    """Draw a claim on one scale: the distance from what was expected, in tolerances (one-sided: in the bound itself).

    A grey bar is what the claim accepts, a tick what it expects, a line the interval, a dot what was measured; what
    lies beyond the ends is drawn at them.
    """
    unit = _unit(claim)
    values = (*claim.accepted, *claim.interval, claim.measured)
    low, high, start, end, dot = (_place((value - claim.expected) / unit) for value in values)
    middle = HIGH / 2
    return (
        f"<svg class='scale {claim.verdict}' viewBox='0 0 {LONG} {HIGH}' aria-hidden='true'>"
        f"<rect x='{low:.1f}' y='2' width='{max(high - low, 0.8):.1f}' height='{HIGH - 4}' class='accepted'/>"
        f"<path d='M{LONG / 2} 1V{HIGH - 1}' class='expected'/>"
        f"<path d='M{start:.1f} {middle}H{end:.1f}' class='interval'/>"
        f"<circle cx='{dot:.1f}' cy='{middle}' r='3.4'/></svg>"
    )


def _place(distance: float) -> float:
    return float((np.clip(distance, -REACH, REACH) / REACH + 1) / 2 * (LONG - 8) + 4)


def _unit(claim: Claim) -> float:
    if claim.relation == "near" and claim.tolerance:
        return claim.tolerance
    return max(claim.tolerance, abs(claim.expected)) or 1.0


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
    return f'<tr data-verdict="{claim.verdict}">{first}{rest}</tr>'


def by_theme(records: Sequence[Record | Result], themes: Mapping[str, str]) -> Groups:
    """The records under `themes` (name of a record -> its theme), in that order; those of no theme come last.

    >>> records = [Record(name, name, {}, (), ()) for name in ("own", "radius", "cosine")]
    >>> found = by_theme(records, {"cosine": "Averaging", "radius": "Robustness"})
    >>> {theme: [record.name for record in group] for theme, group in found.items()}
    {'Averaging': ['cosine'], 'Robustness': ['radius'], 'More': ['own']}
    """
    place = {name: number for number, name in enumerate(themes)}
    groups: Groups = {theme: [] for theme in dict.fromkeys(themes.values())}
    for record in sorted(records, key=lambda record: place.get(record.name, len(place))):
        groups.setdefault(themes.get(record.name, OTHER), []).append(record)
    return {theme: found for theme, found in groups.items() if found}
