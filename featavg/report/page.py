"""The page: the story, what holds and what fails, then a folded chapter for each record; a result's page is open."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from featavg.files import make_folder, write_whole
from featavg.record import FAMILY, Claim, Record, Result, summary, verdict_counts
from featavg.report.chapter import chapter
from featavg.report.story import story
from featavg.report.themes import by_theme
from featavg.report.verdicts import SIGNS, dot_chart, verdict_table

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
Records = Sequence[Record | Result]


def page(records: Records, heading: str = HEADING, intervals: str = OVER_SEEDS) -> str:
    """Return the report as one HTML page that needs no other file, no network and no script.

    `intervals` says what those of the claims are.
    """
    style = resources.files("featavg.report").joinpath("style.css").read_text(encoding="utf-8")
    claims = [claim for record in records for claim in record.claims]
    # The chapters of many records are folded; one or two are what the reader came for.
    folded = len(records) > 2
    ordered = [record for found in by_theme(records).values() for record in found]
    main = "".join(
        [
            f"<header><h1>{escape(heading)}</h1>{_choices(claims)}</header>",
            story(records),
            _verdicts(records, intervals),
            *(chapter(record, folded) for record in ordered),
            _numbers(ordered) if folded else "",
            f"<p class='rule'>{escape(intervals)}</p>" if _own(records) else "",
        ]
    )
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>featavg: {escape(heading)}</title><style>{style}</style></head>"
        f"<body>{_contents(records) if folded else ''}<main>{main}</main></body></html>\n"
    )


def write_report(
    records: Records, path: str | os.PathLike[str], heading: str = HEADING, intervals: str = OVER_SEEDS
) -> Path:
    """Write the page to `path`, whole or not at all."""
    path = Path(path)
    text = page(records, heading, intervals)
    make_folder(path.parent)
    write_whole(path, text)
    return path


def _contents(records: Records) -> str:
    themes = "".join(
        f"<li>{escape(theme)}<ol>{''.join(map(_link, found))}</ol></li>" for theme, found in by_theme(records).items()
    )
    return f"<nav aria-label='Contents'><a href='#verdicts'>Verdicts</a><ul>{themes}</ul></nav>"


def _link(record: Record | Result) -> str:
    return (
        f"<li><a href='#{record.name}' title='{escape(record.title)}'>{escape(record.name)}</a> "
        f"<small>{verdict_counts(record.claims)}</small></li>"
    )


def _choices(claims: Sequence[Claim]) -> str:
    """Buttons that need no script: which verdicts are shown, and on which paper."""
    found = dict.fromkeys(claim.verdict for claim in claims)
    shown = [("all", "all"), *((verdict, f"{SIGNS[verdict]} {verdict}") for verdict in SIGNS if verdict in found)]
    papers = [("auto", "auto"), ("light", "light"), ("dark", "dark")]
    verdicts = _radio("show", "Claims", shown) if len(shown) > 2 else ""
    return f"<form class='choices'>{verdicts}{_radio('paper', 'Paper', papers)}</form>"


def _radio(name: str, legend: str, options: Sequence[tuple[str, str]]) -> str:
    buttons = "".join(
        f"<label><input type='radio' name='{name}' id='{name}-{value}'{' checked' if not place else ''}>{text}</label>"
        for place, (value, text) in enumerate(options)
    )
    return f"<fieldset><legend>{legend}</legend>{buttons}</fieldset>"


def _own(records: Records) -> bool:
    """Whether the page is about a user's own model, and not about claims."""
    return all(isinstance(record, Result) for record in records)


def _verdicts(records: Records, intervals: str) -> str:
    if _own(records):
        return ""
    return (
        f"<section id='verdicts'><h2>What holds, what fails, what is open</h2>"
        f"<p class='summary'>{escape(summary(records))}</p>{dot_chart(records)}"
        f"<p class='rule'>{escape(VERDICTS + intervals)}</p></section>"
    )


def _numbers(records: Records) -> str:
    return (
        "<details class='chapter' id='numbers'><summary><h2>All numbers in one table</h2></summary>"
        f"{verdict_table(records)}</details>"
    )
