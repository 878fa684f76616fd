"""Points shared among processes, threads or nobody: the same brackets; interrupted, what is finished is returned."""

import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featavg import Budget, robust_radius
from featavg.model import BinaryNetwork


def random_binary(rng, neurons=8, axes=6):
    return BinaryNetwork(*(rng.standard_normal(size) for size in ((neurons, axes), neurons, (1, neurons), 1)))


@pytest.mark.parametrize("setting", [{}, {"box": (-9.0, 9.0)}])
def test_processes_change_nothing(setting):
    rng = np.random.default_rng(5)
    network, x = random_binary(rng), rng.standard_normal((6, 6))
    y = np.where(network.score(x) >= 0, 1, -1)
    seen = []
    tell = lambda done, total: seen.append((done, total))  # noqa: E731
    shared = robust_radius(network, x, y, workers=2, progress=tell, **setting)
    alone = robust_radius(network, x, y, **setting)
    assert_allclose(shared.upper, alone.upper)
    assert_allclose(shared.lower, alone.lower)
    assert shared.verify().all()
    assert shared[2:4].verify().all()
    assert seen[-1] == (6, 6)


def test_any_executor_will_do_and_infinite_radii_keep_their_certificates():
    network = ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[1.0, 1.0]], [0.1])
    with ThreadPoolExecutor(2) as threads:
        found = robust_radius(network, [[1.0, 1.0], [2.0, 0.0], [-1.0, 5.0]], [1, 1, -1], executor=threads)
    assert found.upper.tolist() == [np.inf, np.inf, 0.0]
    assert set(found.status) == {"exact"}
    assert found.verify().all()


def test_a_wall_budget_is_for_all_points_together():
    rng = np.random.default_rng(1)
    network, x = random_binary(rng, 80, 40), rng.standard_normal((24, 40))
    y = np.where(network.score(x) >= 0, 1, -1)
    with ThreadPoolExecutor(1) as one:
        found = robust_radius(network, x, y, executor=one, budget=Budget(seconds=5, wall=1e-3))
    assert any("wall" in why for why in found.reasons)
    assert found.verify().all()


# Whoever runs the tests in the background has interruptions ignored, and children inherit that.
SLOW = """
import signal, sys, numpy as np, featavg as fa
signal.signal(signal.SIGINT, signal.default_int_handler)
from featavg.model import BinaryNetwork
if __name__ == "__main__":
    rng = np.random.default_rng(0)
    network = BinaryNetwork(*(rng.standard_normal(size) for size in ((1200, 60), 1200, (1, 1200), 1)))
    x = rng.standard_normal((16, 60))
    tell = lambda done, total: print("working", done, flush=True)
    print("begun", flush=True)
    found = fa.robust_radius(network, x, network.predict(x), workers=int(sys.argv[1]), progress=tell)
    print("returned", len(found), "interrupted" in found.reasons, found.verify().all(), flush=True)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_ends_at_once_and_returns_what_is_finished(workers, tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    before = _cpu_of_children()
    run = subprocess.Popen(
        [sys.executable, str(script), str(workers)], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert run.stdout is not None
    assert run.stdout.readline().strip() == "begun"
    time.sleep(8.0)
    run.send_signal(signal.SIGINT)
    rest, _ = run.communicate(timeout=60)
    assert rest.splitlines()[-1] == "returned 16 True True"
    # CPU time, since others may use the machine: what 8 seconds allow, and 15 to import, end and verify. To finish the
    # points at hand would take 30 each.
    assert _cpu_of_children() - before < 8 * workers + 15


def _cpu_of_children() -> float:
    """CPU seconds of all processes that this one has begun and seen end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_an_interruption_while_proofs_are_checked_leaves_all_points_open(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("featavg.robustness.search.answer.checked", interrupted)
    found = robust_radius(([[1.0]], [0.0], [[1.0]], [-1.0]), [[3.0], [4.0]], [1, 1])
    assert found.reasons == ("interrupted", "interrupted")
    assert (found.lower.tolist(), found.upper.tolist()) == ([0.0, 0.0], [np.inf, np.inf])


ASKING = """
import numpy as np, featavg as fa
{guard}
    x, y = np.linspace(2, 3, 8)[:, None], np.ones(8, dtype=int)
    print(fa.robust_radius(([[1.0]], [0.0], [[1.0]], [-1.0]), x, y, workers=2))
"""


@pytest.mark.parametrize(
    ("how", "guard", "said"),
    [
        ("file", 'if __name__ == "__main__":', "RadiusBracket(8 points"),
        ("stdin", "if True:", "RadiusBracket(8 points"),
        ("file", "if True:", 'has to call this under `if __name__ == "__main__":`'),
    ],
)
def test_programs_that_workers_cannot_import(tmp_path, how, guard, said):
    program = ASKING.format(guard=guard)
    (tmp_path / "program.py").write_text(program)
    command, given = [sys.executable, "program.py" if how == "file" else "-"], program if how == "stdin" else ""
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path, input=given, check=False)
    assert said in (run.stdout.splitlines() or run.stderr.splitlines())[-1]
