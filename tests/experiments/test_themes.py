"""A new folder of chapters is a new theme of the page, without a list that somebody has to keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from featavg.experiments import Registry


def test_every_chapter_has_a_theme_and_the_paper_comes_first() -> None:
    registry = Registry()
    themes = registry.themes
    assert sorted(themes) == registry.names
    assert next(iter(themes)) == "averaging"
    assert all(theme and not theme.endswith(".") for theme in themes.values())
    grouped = list(dict.fromkeys(themes.values()))
    assert [
        theme for before, theme in zip(["", *themes.values()], themes.values(), strict=False) if theme != before
    ] == grouped


def test_a_folder_that_nobody_knew_comes_after_the_known_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for folder, docstring in (("atlas", "Maps of our own.\n\nMore."), ("paper", ""), ("bare", None)):
        place = tmp_path / "chapters" / folder
        place.mkdir(parents=True)
        if docstring is not None:
            (place / "__init__.py").write_text(f'"""{docstring}"""\n' if docstring else "")
        (place / f"{folder}_one.py").write_text('"""One."""\n\nCOST = ("quick", 1)\n')
    (tmp_path / "chapters" / "__init__.py").write_text("")
    found = Registry("chapters").themes
    assert list(found.items()) == [("paper_one", "paper"), ("atlas_one", "Maps of our own"), ("bare_one", "bare")]
