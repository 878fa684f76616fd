"""Where neither the home nor the package can be written to, all works; what cannot be kept is said or made anew."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import featavg as fa
from campaign.read_only import run_python

WORK = """
import os, pathlib, numpy as np
for place in ("HOME", "PYTHONPATH"):
    try:
        (pathlib.Path(os.environ[place]) / "new").touch()
    except OSError:
        continue
    raise SystemExit(f"{place} can be written to, which makes this no test")
import featavg as fa
import featavg.robustness.proof.compiled, featavg.training.engines.team_step as compiled
assert fa.__file__.startswith(os.environ["PYTHONPATH"])
total = np.zeros(2)
compiled.add_rows(np.eye(2), np.array([3.0, 0.0]), total)
print(total.tolist(), type(compiled.add_rows._cache).__name__)
"""


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`python …` with a home and a package that are read-only."""
    home, tree = tmp_path / "home", tmp_path / "tree"
    home.mkdir()
    shutil.copytree(Path(fa.__file__).parent, tree / "featavg", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (tree, *(path for path in tree.rglob("*") if path.is_dir())):
        folder.chmod(0o555)
    return partial(run_python, home=home, at=tmp_path, path=tree)


def test_kernels_are_compiled_where_nothing_can_be_kept(run: Run, tmp_path: Path) -> None:
    done = run("-X", "dev", "-W", "error", "-c", WORK)
    assert (done.stdout, done.stderr, done.returncode) == ("[3.0, 0.0] NullCache\n", "", 0)


def test_commands_write_to_where_they_are_told(run: Run, tmp_path: Path) -> None:
    results = Path(__file__).parents[1] / "results"
    (tmp_path / "runs").mkdir()
    for name in ("ideal.json", "ideal.npz"):
        shutil.copy(results / name, tmp_path / "runs")
    door = ("-c", "from featavg.cli import main; main()")
    done = run(*door, "report", "runs", "-o", "page.html")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_data_that_cannot_be_kept_are_refused_in_a_sentence(run: Run, tmp_path: Path) -> None:
    done = run("-c", "from featavg.cli import main; main()", "data", "fetch", "mnist")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "FEATAVG_CACHE" in done.stderr
