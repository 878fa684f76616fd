"""The page: the story, the lab, what holds and what fails, a folded chapter for each record."""

from __future__ import annotations

import base64
import gc
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from featavg.files import make_folder, write_whole
from featavg.record import FAMILY, Claim, Record, Result, summary, verdict_counts
from featavg.report.chapter import chapter
from featavg.report.story import story
from featavg.report.verdicts import SIGNS, Groups, by_theme, dot_chart, verdict_table

HEADING = "Feature averaging, claim by claim"
VERDICTS = (
    "A claim holds if the whole confidence interval of the measured value lies in what the claim accepts (expected ± "
    "tolerance, or one side of it), fails if none of it does, and is open if the interval straddles the border. "
)
OVER_POINTS = "Intervals are 95 % bootstraps over the points of one data set: they say nothing about other models."
OVER_SEEDS = (
    "Vacuous: the bound holds but says nothing at any size that can be run. Intervals are Student-t over seeds at "
    f"level 1 − 0.05/{FAMILY}, for shares of points wide enough to hold Clopper and Pearson's as well, so that with "
    f"probability 0.95 all of up to {FAMILY} claims are covered at once, if claims and numbers of seeds are fixed "
    "before their runs. Of the reference records some were not: results/README.md of the project lists what was "
    "revised after trial runs. Faint dots are checks, identities that are tested and not counted."
)
# Shown by its script, so that nobody types in vain where scripts are off.
SEARCH = (
    "<search hidden><label>Search <input type='search' placeholder='words of claims and chapters'></label> "
    "<output></output></search>"
)
DRAG = (
    "<details class='chapter' id='drag' open><summary><h2>Drag it: labels, training time, clusters, dimension, radius"
    "</h2></summary>"
)
Records = Sequence[Record | Result]


class Insert(Protocol):
    """A part of the page that is made elsewhere, and moves: what it looks like, its elements, its script."""

    @property
    def style(self) -> str: ...  # noqa: D102
    @property
    def body(self) -> str: ...  # noqa: D102
    @property
    def script(self) -> str: ...  # noqa: D102


def page(
    records: Records,
    heading: str = HEADING,
    intervals: str = OVER_SEEDS,
    themes: Mapping[str, str] = MappingProxyType({}),
    lab: Insert | None = None,
) -> str:
    """Return the report as one HTML page that needs no other file and no network; only lab and search need scripts.

    `intervals` says what those of the claims are, `themes` what each record belongs to, in the order of the page.
    """
    style = _text("style.css")
    claims = [claim for record in records if isinstance(record, Record) for claim in record.claims]
    # The chapters of many records are folded; one or two are what the reader came for.
    folded = len(records) > 2
    groups = by_theme(records, themes)
    ordered = [record for found in groups.values() for record in found]
    with _uncollected():
        chapters = [chapter(record, folded) for record in ordered]
    # A page about a user's own model, and not about claims, is its chapter alone.
    own = all(isinstance(record, Result) for record in records)
    main = "".join(
        [
            f"<header><h1>{escape(heading)}</h1>{SEARCH if folded else ''}{_choices(claims)}</header>",
            "" if own else story(records),
            f"{DRAG}{lab.body}</details>" if lab else "",
            "" if own else _verdicts(groups, intervals),
            *chapters,
            _numbers(ordered) if folded else "",
            f"<p class='rule'>{escape(intervals)}</p>" if own else "",
        ]
    )
    scripts = ([_text("page.js")] if folded else []) + ([lab.script] if lab else [])
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">'
        f"<title>featavg: {escape(heading)}</title>"
        f"<style>{style}{lab.style if lab else ''}</style></head>"
        f"<body>{_contents(groups, lab) if folded else ''}<main>{main}</main>"
        f"{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>\n"
    )


def write_report(records: Records, path: str | os.PathLike[str], **look: Any) -> Path:
    """Write the page to `path`, whole or not at all; `look` are the other arguments of `page`."""
    path = Path(path)
    text = page(records, **look)
    make_folder(path.parent)
    write_whole(path, text)
    return path


@contextmanager
def _uncollected() -> Iterator[None]:
    """Figures are thousands of objects in cycles: looking for garbage among them takes an eighth of the drawing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _text(name: str) -> str:
    return resources.files("featavg.report").joinpath(name).read_text(encoding="utf-8")


def _policy(scripts: Sequence[str]) -> str:
    """What a browser lets the page do: run these scripts and no other, and ask nobody."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _contents(groups: Groups, lab: Insert | None) -> str:
    themes = "".join(
        f"<li>{escape(theme)}<ol>{''.join(map(_link, found))}</ol></li>" for theme, found in groups.items()
    )
    drag = "<a href='#drag'>Drag it</a> " if lab else ""
    return f"<nav aria-label='Contents'>{drag}<a href='#verdicts'>Verdicts</a><ul>{themes}</ul></nav>"


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


def _verdicts(groups: Groups, intervals: str) -> str:
    records = [record for found in groups.values() for record in found]
    return (
        f"<section id='verdicts'><h2>What holds, what fails, what is open</h2>"
        f"<p class='summary'>{escape(summary(records))}</p>{dot_chart(groups)}"
        f"<p class='rule'>{escape(VERDICTS + intervals)}</p></section>"
    )


def _numbers(records: Records) -> str:
    return (
        "<details class='chapter' id='numbers'><summary><h2>All numbers in one table</h2></summary>"
        f"{verdict_table(records)}</details>"
    )
