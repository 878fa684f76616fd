"""Rules of the checker, broken on purpose: each break proves too much somewhere, so the tests would notice it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.robustness.proof.broken_rules import RULES

ROOT = Path(__file__).parents[3]


def test_every_rule_is_needed_and_the_checker_is_sound_without_the_compiler() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.robustness.proof.broken_rules"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stderr
    lines = [line.split("\t") for line in run.stdout.splitlines()]
    assert [rule for rule, *_ in lines] == list(RULES)
    for rule, broken, sound in lines:
        assert int(broken) > 0, rule
        assert int(sound) == 0, rule
