"""One record or result on the page: figures first, then claims, then where it all comes from."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from featavg.figures import INK, draw
from featavg.record import Claim, Record, Result, expected_text, interval_text, number, published_text, verdict_counts
from featavg.report.verdicts import badge, scale, verdicts

ANSWERS = {"holds": "yes", "fails": "no", "open": "not sure", "vacuous": "says nothing here"}
_NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}


def chapter(record: Record | Result, folded: bool) -> str:
    """The section of a record, under its title."""
    evidence = record.evidence
    figures = [draw(drawing, evidence.table) for drawing in evidence.drawings]
    parts = [
        _facts(record.facts) if isinstance(record, Result) else "",
        *(_figure(figure, f"{record.name}-f{place}") for place, figure in enumerate(figures, 1)),
        _tested(record.claims) if isinstance(record, Result) else _claims(record),
        *(f"<p class='note'>{escape(note)}</p>" for note in evidence.notes),
        _origin(record),
    ]
    claims = () if isinstance(record, Result) else record.claims
    counts = f"<small>{verdict_counts(claims)}</small>" if claims else ""
    has = f" data-has='{verdicts(record)}'" if claims else ""
    return (
        f"<details class='chapter' id='{record.name}'{has}{'' if folded else ' open'}>"
        f"<summary><h2>{escape(record.title)}</h2> {counts}</summary>{''.join(parts)}</details>"
    )


def _facts(rows: Sequence[Sequence[str]]) -> str:
    """Rows of a name and its values; after an empty row another table begins, with its head."""
    if () in rows:
        first = rows.index(())
        return _facts(rows[:first]) + _facts(rows[first + 1 :])
    cells = (
        f"<tr><th scope='row'>{escape(name)}</th>{''.join(f'<td>{escape(value)}</td>' for value in values)}</tr>"
        for name, *values in rows
    )
    return f"<table class='facts'><tbody>{''.join(cells)}</tbody></table>"


def _tested(claims: Sequence[Claim]) -> str:
    """What was tested about a user's own model: the statement, whether it is so, and the number behind it."""
    rows = [
        (claim.text, ANSWERS[claim.verdict], f"{number(claim.measured)} ({interval_text(claim)})") for claim in claims
    ]
    return _facts(rows) if rows else ""


def _claims(record: Record) -> str:
    claims = "".join(_claim(record.name, place, claim) for place, claim in enumerate(record.claims, 1))
    return f"<ol class='claims'>{claims}</ol>" if claims else ""


def _claim(name: str, place: int, claim: Claim) -> str:
    facts = {
        "source": claim.source,
        "tolerance": f"{number(claim.tolerance)}: {claim.tolerance_reason}",
        "published": published_text(claim) if claim.published is not None else "",
        "obtained": claim.how,
        "vacuous": claim.vacuous,
    }
    measured = f"{number(claim.measured)} {claim.unit} ({interval_text(claim)})"
    return (
        f"<li id='{name}-{place}' data-verdict='{claim.verdict}'>{badge(claim)} <strong>{escape(claim.text)}</strong>"
        f"<p>{scale(claim)}expected {escape(expected_text(claim))}, measured {escape(measured)}</p>"
        f"<details><summary>Why and how</summary>{_terms(facts)}</details></li>"
    )


def _figure(figure: Figure, prefix: str) -> str:
    caption = escape(str(figure.get_label()))
    return f"<figure><div class='drawing'>{inline_svg(figure, prefix)}</div><figcaption>{caption}</figcaption></figure>"


def _origin(record: Record | Result) -> str:
    chosen = record.settings if isinstance(record, Result) else record.config
    provenance = record.evidence.provenance
    facts = {
        **{name: json.dumps(value, ensure_ascii=False) for name, value in chosen.items()},
        "seeds used": ", ".join(map(str, record.seeds)) if isinstance(record, Record) else "",
        "versions": ", ".join(f"{name} {version}" for name, version in provenance.versions.items()),
        "commit": provenance.commit,
        "seconds": number(provenance.seconds),
    }
    again = f"<p>Again: <code>featavg reproduce {record.name} --fresh</code></p>" if isinstance(record, Record) else ""
    what = "Settings, versions" if isinstance(record, Result) else "Configuration, seeds, versions"
    return f"{again}<details><summary>{what}</summary>{_terms(facts)}</details>"


def _terms(facts: Mapping[str, Any]) -> str:
    """A list of facts, leaving out the empty ones."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(fact))}</dd>" for name, fact in facts.items() if fact)
    return f"<dl>{rows}</dl>"


def inline_svg(figure: Figure, prefix: str) -> str:
    """Return the figure as an <svg> element: text stays text, ink takes the colour of the page, nothing is loaded.

    `prefix` makes its ids unique in the page.

    >>> from featavg.figures import curves
    >>> text = inline_svg(curves([0, 1], [0.0, 1.0], caption="Up & away"), "a1")
    >>> text.startswith("<svg"), "http" in text, "Up &amp; away" in text
    (True, False, True)
    """
    buffer = io.StringIO()
    # A fixed salt: the same record gives the same page.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "featavg"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata=_NO_METADATA)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r' (xmlns(:\w+)?|version|width|height)="[^"]*"', "", svg[: svg.index(">")]) + svg[svg.index(">") :]
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{prefix}-", svg)
    svg = svg.replace(INK, "currentColor")
    width = round(figure.get_figwidth() * 6.25, 1)  # 16 pixels a rem, 100 pixels an inch
    label = escape(str(figure.get_label()))
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}" style="width:{width}rem"', 1).strip()
