"""The documentation site names everything that is public, and every page is reached from its contents."""

from __future__ import annotations

import re
from pathlib import Path

import featavg

DOCS = Path(__file__).parents[1] / "docs"


def test_the_reference_names_every_public_name_once() -> None:
    named = re.findall(r"^\.\. auto\w+:: featavg\.(\w+)", (DOCS / "reference.md").read_text(encoding="utf-8"), re.M)
    public = [name for name in featavg.__all__ if not name.startswith("_")]
    assert sorted(named) == sorted(public)


def test_every_page_is_in_the_contents() -> None:
    listed = set((DOCS / "index.md").read_text(encoding="utf-8").split())
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md") if "_build" not in path.parts}
    assert pages - {"index"} <= listed


def test_the_cells_of_the_quickstart_run() -> None:
    text = (DOCS / "quickstart.md").read_text(encoding="utf-8")
    cells = re.findall(r"```\{code-cell\} ipython3\n(?!:tags)(.*?)```", text, re.S)
    assert len(cells) >= 4
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile(cell, "quickstart.md", "exec"), names)
