"""The documentation site names everything that is public, and every page is reached from its contents."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import featavg
from featavg.record import Claim, Drawing, Evidence, Record, Table

sys.path.insert(0, str(Path(__file__).parent))
from browser import CHROMIUM, Browser

DOCS = Path(__file__).parents[1] / "docs"
EXECUTED = [DOCS / "quickstart.md", *sorted(DOCS.glob("tutorials/*.md")), *sorted(DOCS.glob("notebooks/*.ipynb"))]


def test_the_reference_names_every_public_name_once() -> None:
    named = re.findall(r"^\.\. auto\w+:: featavg\.(\w+)", (DOCS / "reference.md").read_text(encoding="utf-8"), re.M)
    public = [name for name in featavg.__all__ if not name.startswith("_")]
    assert sorted(named) == sorted(public)


def test_every_page_is_in_the_contents() -> None:
    listed = set((DOCS / "index.md").read_text(encoding="utf-8").split())
    written = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
    pages = {
        str(path.relative_to(DOCS).with_suffix(""))
        for path in written
        if not {"_build", "_generated"} & set(path.parts)
    }
    assert pages - {"index"} <= listed


def cells(path: Path) -> list[str]:
    """The code of a page or notebook, without what only notebooks understand."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        found = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    else:
        found = re.findall(r"```\{code-cell\} ipython3\n(?!:tags)(.*?)```", text, re.S)
    return [code for code in found if not code.startswith("%")]


@pytest.mark.parametrize("path", EXECUTED, ids=lambda path: path.stem)
def test_what_the_site_executes_runs_from_top_to_bottom(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    code = cells(path)
    assert len(code) >= 2
    names: dict[str, object] = {}
    for cell in code:
        exec(compile(cell, str(path), "exec"), names)


def test_notebooks_are_kept_without_what_they_print() -> None:
    for path in DOCS.glob("notebooks/*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert not cell.get("outputs"), path


@pytest.mark.parametrize("script", sorted(DOCS.glob("gallery/*.py")), ids=lambda path: path.stem)
def test_a_picture_of_the_gallery_is_a_script(script: Path) -> None:
    figure = runpy.run_path(str(script), run_name="gallery")["figure"]
    assert figure.get_label()
    assert figure.axes


BUILT = DOCS / "_build"


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: the site was not opened in a browser")
@pytest.mark.skipif(
    not (BUILT / "index.html").exists(), reason="no site here: `make docs` builds it, then this test opens it"
)
def test_the_site_asks_nobody_and_has_no_serious_fault(tmp_path: Path) -> None:
    pages = (
        "index",
        "quickstart",
        "derivations",
        "_generated/chapters/robustness",
        "_generated/gallery/index",
        "reference",
    )
    with Browser(tmp_path) as browser:
        for page in pages:
            browser.go((BUILT / f"{page}.html").as_uri())
            assert browser.faults() == [], page
        assert browser.run("document.querySelectorAll('math').length") == 0  # no formula in the reference
        browser.go((BUILT / "derivations.html").as_uri())
        assert browser.run("document.querySelectorAll('math').length") > 20
        assert browser.errors == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:"))] == []


EVIL = "<img src=x onerror=alert(1)> {{x}} [a](b) `c` $d$ | # ~"


def test_a_chapters_page_holds_what_its_record_says_as_text(tmp_path: Path) -> None:
    pages = runpy.run_path(str(DOCS / "pages.py"))
    fields = {"source": EVIL, "expected": 1.0, "tolerance": 0.1, "tolerance_reason": EVIL, "how": EVIL}
    claim = Claim.exact(1.0, EVIL, **fields)
    drawing = Drawing("curves", {"x": "x", "y": "x"}, EVIL)
    record = Record("evil", EVIL, {}, (0,), (claim,), Evidence(Table.of({"x": np.arange(3.0)}), (drawing,), (EVIL,)))
    pages["write_chapters"]([record], {"evil": EVIL}, tmp_path)
    for name in ("evil", "index"):
        text = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        assert r"\<img src\=x onerror\=alert\(1\)\>" in text
        assert not re.search(r"(?<!\\)<", text)
        assert not re.search(r"(?<!\\)\$", text)
    assert (tmp_path / "evil-1.svg").exists()
