"""The README and the guides run as they are written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from featavg.cli import main
from featavg.robustness.norms import NORMS

ROOT = Path(__file__).parents[1]
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]


COMMANDS = {"run-a-sweep"}  # guides whose commands are run as well


def test_there_are_guides() -> None:
    assert len(GUIDES) >= 4


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
@mock.patch.dict(NORMS)  # what a guide adds is gone after it
def test_a_guide_runs(guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```(python|toml|sh)\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    assert any(kind == "python" for kind, _ in blocks)
    for kind, block in blocks:
        if named := re.match(r"# (\w+\.\w+)\n", block):
            (tmp_path / named[1]).write_text(block)
        elif kind == "python":
            exec(compile(block, str(guide), "exec"), names)
        elif guide.stem in COMMANDS:
            for command in block.splitlines():
                with pytest.raises(SystemExit) as end:
                    main(command.split()[1:])
                assert not end.value.code
