"""How a sweep is called: from programs that workers can import and others, and with numbers that make no sense."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from featavg import InputError
from featavg.sweep import run_sweep

ROOT = Path(__file__).parents[2]
OF_THE_PROGRAM = """
from featavg.sweep import run_sweep

def double(x, seed):
    return {{"y": 2 * x}}

{guard}
    print(run_sweep({{"function": "{function}", "axes": {{"{axis}": [1, 2]}}}}, "store", workers={workers}))
"""
GUARD, NO_GUARD = 'if __name__ == "__main__":', "if True:"
OWN, OTHER = {"function": "__main__:double", "axis": "x"}, {"function": "featavg.sweep.examples:line", "axis": "slope"}


@pytest.mark.parametrize(
    ("how", "about", "said"),
    [
        ("file", OWN | {"guard": GUARD, "workers": 2}, "<2 trials, 0 failed, 0 missing>"),
        ("file", OWN | {"guard": NO_GUARD, "workers": 2}, "has to call this under `if __name__"),
        ("file", OTHER | {"guard": NO_GUARD, "workers": 2}, "has to call this under `if __name__"),
        ("stdin", OWN | {"guard": GUARD, "workers": 2}, "got '__main__:double' of a program that has none; put the"),
        ("stdin", OWN | {"guard": GUARD, "workers": 0}, "<2 trials, 0 failed, 0 missing>"),
        ("stdin", OTHER | {"guard": GUARD, "workers": 2}, "<2 trials, 0 failed, 0 missing>"),
    ],
)
def test_a_program_that_workers_cannot_import_is_told_so(tmp_path: Path, how: str, about: Any, said: str) -> None:
    program = OF_THE_PROGRAM.format(**about)
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "program.py" if how == "file" else "-"]
    options: dict[str, Any] = {"input": program, "cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(ROOT)}}
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)
    assert said in (run.stdout.splitlines() or run.stderr.splitlines())[-1]
    assert (tmp_path / "store").exists() == ("put the" not in said)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"workers": True}, "workers must be a whole number from 0, got True"),
        ({"tries": 0}, "tries must be a whole number from 1, got 0"),
        ({"shard": (2, 2)}, "needs 0 <= i < n, got 2/2"),
        ({"shard": "0/2"}, "a shard is two whole numbers, .* got '0/2'"),
    ],
)
def test_wrong_numbers_are_refused(tmp_path: Path, options: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        run_sweep({"function": OTHER["function"], "base": {"slope": 1}}, tmp_path / "store", **options)
    assert not (tmp_path / "store").exists()
