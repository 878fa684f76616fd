"""The search's kernels mean the same with and without the compiler."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.robustness.without_compiler import CASES, brackets

ROOT = Path(__file__).parents[2]


def test_kernels_give_the_same_brackets_as_plain_python() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.robustness.without_compiler"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stderr
    for case, line in zip(CASES, run.stdout.splitlines(), strict=True):
        plain, compiled = np.array([float(word) for word in line.split()]).reshape(2, -1), brackets(*case)
        np.testing.assert_allclose(compiled, plain, rtol=1e-6)
        assert (compiled[0] > 0).all()
        assert (plain[1] < np.inf).any()
