"""Pages that are made when the site is built: one for each committed record, and the gallery of scripts."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Sequence
from pathlib import Path

from featavg.experiments import Registry
from featavg.figures import draw, figure_bytes
from featavg.files import make_folder, write_whole
from featavg.record import Claim, Record, expected_text, interval_text, number, read_folder, verdict_counts
from featavg.report import Groups, by_theme

DOCS = Path(__file__).parent
MADE = DOCS / "_generated"


def plain(text: str) -> str:
    """Text as Markdown that means itself: a backslash stands before every sign, whatever a record says."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def write_chapters(records: Sequence[Record], themes: dict[str, str], folder: Path) -> None:
    """A page for each record, figures first, and a list of them by theme."""
    make_folder(folder)
    for record in records:
        for place, drawing in enumerate(record.evidence.drawings, 1):
            figure = draw(drawing, record.evidence.table)
            write_whole(folder / f"{record.name}-{place}.svg", figure_bytes(figure, "svg"))
        write_whole(folder / f"{record.name}.md", _chapter(record))
    write_whole(folder / "index.md", _list(by_theme(records, themes)))


def write_gallery(scripts: Sequence[Path], folder: Path) -> None:
    """Run every script and show its figure above its source."""
    make_folder(folder)
    titles = {}
    for script in scripts:
        source = script.read_text(encoding="utf-8")
        titles[script.stem] = plain((ast.get_docstring(ast.parse(source)) or script.stem).splitlines()[0])
        figure = runpy.run_path(str(script), run_name="gallery")["figure"]
        write_whole(folder / f"{script.stem}.png", figure_bytes(figure, "png"))
        write_whole(folder / f"{script.stem}.md", _shown(titles[script.stem], script.stem, figure.get_label(), source))
    pictures = "\n".join(
        f"```{{figure}} {name}.png\n:alt: {title}\n:target: {name}.html\n:width: 320px\n:align: left\n\n"
        f"[{title}]({name}.md)\n```\n"
        for name, title in titles.items()
    )
    contents = "\n".join(titles)
    write_whole(
        folder / "index.md",
        f"# Gallery\n\nEach picture is a script that runs as it stands.\n\n{pictures}\n"
        f"```{{toctree}}\n:hidden:\n\n{contents}\n```\n",
    )


def _shown(title: str, name: str, caption: str, source: str) -> str:
    return f"# {title}\n\n![{plain(caption or title)}]({name}.png)\n\n{plain(caption)}\n\n```python\n{source}```\n"


def _list(groups: Groups) -> str:
    parts = [
        "# Chapters: what was claimed and what was measured\n\nFrom the records in `results/` of the repository, as "
        "they are committed. A claim *holds* if its whole confidence interval lies in what it accepts, *fails* if none "
        "of it does, and is *open* otherwise. `featavg report results` draws the same as one page."
    ]
    names = []
    for theme, found in groups.items():
        rows = [f"- [{plain(one.title)}]({one.name}.md) ({verdict_counts(one.claims)})" for one in found]
        parts.append(f"## {plain(theme)}\n\n" + "\n".join(rows))
        names += [one.name for one in found]
    listed = "\n".join(names)
    return "\n\n".join(parts) + f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def _chapter(record: Record) -> str:
    figures = [
        f"![{plain(drawing.caption)}]({record.name}-{place}.svg)\n\n*{plain(drawing.caption)}*"
        for place, drawing in enumerate(record.evidence.drawings, 1)
    ]
    origin = record.evidence.provenance
    return "\n\n".join(
        [
            f"# {plain(record.title)}",
            f"{verdict_counts(record.claims)}. Run it again: `featavg reproduce {record.name} --fresh`",
            *figures,
            "## Claims",
            *(_claim(claim) for claim in record.claims),
            *(["## Notes", *map(plain, record.evidence.notes)] if record.evidence.notes else []),
            f"*{len(record.seeds)} seeds, commit {plain(origin.commit)}, {number(origin.seconds)} seconds.*\n",
        ]
    )


def _claim(claim: Claim) -> str:
    measured = f"{number(claim.measured)} {claim.unit} ({interval_text(claim)})"
    return (
        f"**{claim.verdict}{' (a check)' if claim.check else ''}: {plain(claim.text)}**\n\n"
        f": expected {plain(expected_text(claim))}, measured {plain(measured)}\n"
        f": *{plain(claim.source)}*; tolerance {number(claim.tolerance)}: {plain(claim.tolerance_reason)}\n"
        f": {plain(claim.how)}\n"
    )


def write_pages() -> None:
    """Everything, below `_generated`."""
    records, complaints = read_folder(DOCS.parent / "results")
    assert not complaints, complaints
    write_chapters(records, Registry().themes, MADE / "chapters")
    write_gallery(sorted((DOCS / "gallery").glob("*.py")), MADE / "gallery")
