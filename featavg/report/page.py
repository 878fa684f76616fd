"""The page: summary, verdict table, and a section for each record or result."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from featavg.figures.draw import draw
from featavg.files import make_folder, write_whole
from featavg.record import FAMILY, Claim, Record, Result
from featavg.record.words import expected_text, interval_text, number, published_text, summary, verdict_counts
from featavg.report.svg import inline_svg
from featavg.report.verdicts import badge, verdict_drawing, verdict_table

HEADING = "Feature averaging, claim by claim"
VERDICTS = (
    "A claim holds if the whole confidence interval of the measured value lies in what the claim accepts (expected ± "
    "tolerance, or one side of it), fails if none of it does, and is open if the interval straddles the border. "
)
OVER_POINTS = "Intervals are 95 % bootstraps over the points of one data set: they say nothing about other models."
OVER_SEEDS = (
    "Vacuous: the bound holds but says nothing at any size that can be run. Intervals are Student-t over seeds at "
    f"level 1 − 0.05/{FAMILY}, so that with probability 0.95 all of up to {FAMILY} claims are covered at once, "
    "if claims and numbers of seeds are fixed before their runs. Of the reference records some were not: "
    "results/README.md of the project lists what was revised after trial runs."
)


def page(records: Sequence[Record | Result], heading: str = HEADING, intervals: str = OVER_SEEDS) -> str:
    """Return the report as one HTML page that needs no other file and no network; `intervals` says what theirs are."""
    style = resources.files("featavg.report").joinpath("style.css").read_text(encoding="utf-8")
    head = f"<header><h1>{escape(heading)}</h1><p class='summary'>{escape(summary(records))}</p></header>"
    table = (
        f"<section id='verdicts'><h2>Verdicts</h2>{verdict_table(records)}"
        f"<p class='rule'>{escape(VERDICTS + intervals)}</p></section>"
    )
    body = head + _contents(records) + table + "".join(_section(record) for record in records)
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>featavg: {escape(heading)}</title><style>{style}</style></head><body>{body}</body></html>\n"
    )


def write_report(
    records: Sequence[Record | Result],
    path: str | os.PathLike[str],
    heading: str = HEADING,
    intervals: str = OVER_SEEDS,
) -> Path:
    """Write the page to `path`, whole or not at all."""
    path = Path(path)
    text = page(records, heading, intervals)
    make_folder(path.parent)
    write_whole(path, text)
    return path


def _contents(records: Sequence[Record | Result]) -> str:
    links = "".join(
        f"<li><a href='#{record.name}'>{escape(record.title)}</a> <small>{verdict_counts(record.claims)}</small></li>"
        for record in records
    )
    return f"<nav aria-label='Contents'><h2>Contents</h2><ol>{links}</ol></nav>"


def _section(record: Record | Result) -> str:
    evidence = record.evidence
    claims = "".join(_claim(record.name, place, claim) for place, claim in enumerate(record.claims, 1))
    figures = [verdict_drawing(record)] if record.claims else []
    figures += [draw(drawing, evidence.table) for drawing in evidence.drawings]
    drawn = "".join(_figure(figure, f"{record.name}-f{place}") for place, figure in enumerate(figures, 1))
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in evidence.notes)
    facts = _facts(record.facts) if isinstance(record, Result) else ""
    return (
        f"<section id='{record.name}'><h2>{escape(record.title)}</h2>{facts}"
        f"<ol class='claims'>{claims}</ol>{drawn}{notes}{_provenance(record)}</section>"
    )


def _facts(rows: Sequence[Sequence[str]]) -> str:
    """Rows of a name and its values."""
    cells = (
        f"<tr><th scope='row'>{escape(name)}</th>{''.join(f'<td>{escape(value)}</td>' for value in values)}</tr>"
        for name, *values in rows
    )
    return f"<table class='facts'><tbody>{''.join(cells)}</tbody></table>"


def _claim(name: str, place: int, claim: Claim) -> str:
    facts = {
        "source": claim.source,
        "expected": f"{expected_text(claim)}, tolerance {number(claim.tolerance)}: {claim.tolerance_reason}",
        "measured": f"{number(claim.measured)} {claim.unit} ({interval_text(claim)})",
        "published": published_text(claim) if claim.published is not None else "",
        "obtained": claim.how,
        "vacuous": claim.vacuous,
    }
    return f"<li id='{name}-{place}'>{badge(claim)} <strong>{escape(claim.text)}</strong>{_terms(facts)}</li>"


def _figure(figure: Figure, prefix: str) -> str:
    caption = escape(str(figure.get_label()))
    return f"<figure><div class='drawing'>{inline_svg(figure, prefix)}</div><figcaption>{caption}</figcaption></figure>"


def _provenance(record: Record | Result) -> str:
    chosen = record.settings if isinstance(record, Result) else record.config
    provenance = record.evidence.provenance
    facts = {
        **{name: json.dumps(value, ensure_ascii=False) for name, value in chosen.items()},
        "seeds used": ", ".join(map(str, record.seeds)) if isinstance(record, Record) else "",
        "versions": ", ".join(f"{name} {version}" for name, version in provenance.versions.items()),
        "commit": provenance.commit,
        "seconds": number(provenance.seconds),
    }
    summary = "Settings, versions" if isinstance(record, Result) else "Configuration, seeds, versions"
    return f"<details><summary>{summary}</summary>{_terms(facts)}</details>"


def _terms(facts: Mapping[str, Any]) -> str:
    """A list of facts, leaving out the empty ones."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(fact))}</dd>" for name, fact in facts.items() if fact)
    return f"<dl>{rows}</dl>"
