"""What exact radii cost and how far the search closes, as ratios: to a gradient, to the first version, to a budget.

The unit is one forward-backward pass of PyTorch, float32, one thread, over 1000 points of the paper's binary network in
d = 3072 (2000 points of the ten-class network where they are asked about). All times are CPU seconds of one process.

    python -m benchmarks exact      writes results/benchmarks/exact.json

Rows that are finished are kept beside the networks (`exact_rows.json`) until all of them are, so that a run that was
interrupted goes on where it ended; the whole takes about ten CPU minutes, most of them the budgets of hard points.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.exact_networks import folder, parity_problem
from featavg.experiments.paper.setting import Setting
from featavg.record import Claim, Evidence, Provenance, Record, Table, write_record
from featavg.robustness import robust_radius
from featavg.robustness.proof import Problem, check
from featavg.robustness.proof.prepared import prepared
from featavg.robustness.search.answer import Answer, answer, is_exact
from featavg.robustness.search.budget import Budget
from featavg.robustness.search.task import task_of

REPEATS = 7
RESULTS = Path("results/benchmarks")
# The first version was measured once, with its unit, and then removed.
FIRST = Path(__file__).with_name("first_version.json")
FASTER = {("digits", 10): 60, ("digits", 30): 40, ("digits", 100): 25, ("digits", 200): 20, ("mnist", 100): 40}
POINTS = {("digits", 10): 300, ("digits", 30): 300, ("digits", 100): 200, ("digits", 200): 40, ("mnist", 100): 100}
# Data, width, adversarially trained, points, seconds; wanted share of closed points, wanted median upper/lower.
CLOSING = {
    "MNIST, 200 neurons": ("mnist", 200, False, 100, 1.0, 0.995, None),
    "MNIST, 500 neurons": ("mnist", 500, False, 16, 10.0, 0.8, None),
    "MNIST, 1000 neurons": ("mnist", 1000, False, 6, 10.0, None, 1.02),
    "MNIST, 200 neurons, adversarially trained": ("mnist", 200, True, 12, 10.0, 0.4, 1.15),
    "digits, 150 neurons, adversarially trained": ("digits", 150, True, 24, 0.5, None, 1.15),
}
# Sub-networks whose probabilities are summed, test points, CPU seconds for each.
POOLED, POOLED_POINTS, POOLED_SECONDS = 20, 20, 2.0
# upper/lower of a point that is known to a hundredth.
NARROW = 1.01
COLD = """
import time
from featavg.robustness.warm import warm_up
began = time.process_time()
warm_up()
print(time.process_time() - began)
"""


def kept(name: str, measure: Callable[[], Any]) -> Any:
    """A row of a run before this one that was interrupted, or the row measured now."""
    path = folder() / "exact_rows.json"
    rows = json.loads(path.read_text()) if path.exists() else {}
    if name not in rows:
        rows[name] = measure()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows, indent=1))
    print(name, rows[name], flush=True)
    return rows[name]


def cpu(action: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Median CPU seconds, after one call that does not count."""
    action()
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        action()
        seconds.append(time.process_time() - began)
    return float(np.median(seconds))


def gradient(network: Any, x: np.ndarray, y: np.ndarray) -> Callable[[], None]:
    """One pass of a network of this package over all points, forward and backward, in float32."""
    arrays = (network.weights, network.biases, network.second, network.output_bias, x)
    w, b, a, c, points = (torch.tensor(np.asarray(each), dtype=torch.float32) for each in arrays)
    labels = torch.tensor(np.asarray(y))

    def run() -> None:
        moved = points.clone().requires_grad_(True)
        outputs = torch.relu(moved @ w.T + b) @ a.T + c
        if outputs.shape[1] == 1:
            torch.nn.functional.softplus(-outputs[:, 0] * labels).sum().backward()
        else:
            torch.nn.functional.cross_entropy(outputs, labels, reduction="sum").backward()

    return run


def paper() -> dict[str, float]:
    """Exact radii of the paper's networks in gradients over the same points; the unit itself."""
    setting = Setting()
    data, ambient = setting.data(0), setting.data(0, coordinates="ambient")
    test, wide = setting.test(data, 0), setting.test(ambient, 0)
    unit = cpu(gradient(setting.coarse(ambient, 0).final, wide.x, wide.y))
    coarse = setting.coarse(data, 0).final
    binary = cpu(lambda: robust_radius(coarse, test.x, test.y))
    test, wide = setting.test(data, 0, 2000), setting.test(ambient, 0, 2000)
    double = cpu(gradient(setting.fine(ambient, 0).final, wide.x, wide.cluster))
    fine = setting.fine(data, 0).final
    ten = cpu(lambda: robust_radius(fine, test.x, test.y, readout="maximum"), repeats=3)
    return {"unit": unit, "binary": binary / unit, "ten classes": ten / double}


def solve(problem: Problem, seconds: float) -> tuple[Answer, float, float]:
    """The answer, CPU seconds of all of it, and of the check alone, per point.

    What the search begins with, and the check too, is the search's; what is left for the check is done again.
    """
    began = time.process_time()
    found = answer(problem, Budget(nodes=10**9, seconds=seconds), lambda done, total: None)
    took = time.process_time() - began
    ready = prepared(problem)
    task_of(ready)
    began = time.process_time()
    check(ready, found.proofs, found.lower)
    return found, took / len(problem.x), (time.process_time() - began) / len(problem.x)


def widths(unit: float) -> dict[str, dict[str, float]]:
    """Seconds per point by network, in units, against the first version's in its own units."""
    first = json.loads(FIRST.read_text())
    rows = {}
    for (name, width), points in POINTS.items():
        before = first["networks"][f"{name}{width}"]["seconds"] / first["unit"]

        def measure(name: str = name, width: int = width, points: int = points, before: float = before) -> Any:
            problem = parity_problem(name, width, points)
            found, took, checking = min((solve(problem, 5.0) for _ in range(3)), key=lambda each: each[1])
            exact = float(is_exact(found.lower, found.upper).mean())
            row = {"milliseconds": 1e3 * took, "check/search": checking / (took - checking), "exact": exact}
            return row | {"times faster": before / (took / unit)}

        rows[f"{name} {width}"] = kept(f"{name} {width}", measure)
    return rows


def closing() -> dict[str, dict[str, float]]:
    """How far budgets go on wide and on adversarially trained networks."""
    rows = {}
    for text, (name, width, robust, points, seconds, _, _) in CLOSING.items():

        def measure(
            name: str = name, width: int = width, robust: bool = robust, points: int = points, seconds: float = seconds
        ) -> Any:
            found, took, checking = solve(parity_problem(name, width, points, robust=robust), seconds)
            ratio = float(np.median(found.upper / np.maximum(found.lower, 1e-12)))
            exact = float(is_exact(found.lower, found.upper).mean())
            return {"closed": exact, "ratio": ratio, "seconds": took, "check/search": checking / (took - checking)}

        rows[text] = kept(text, measure)
    return rows


def norms() -> dict[str, float]:
    """Seconds of ℓ2 in the box of the pixels, and of ℓ∞ in it, over those of free ℓ2: 100 points, 30 neurons."""
    free = parity_problem("digits", 30, 100)
    low, high = np.full(free.x.shape[1], min(0.0, free.x.min())), np.full(free.x.shape[1], max(1.0, free.x.max()))
    asked = {"l2 in the box": free._replace(low=low, high=high), "linf": free._replace(norm="linf")}
    asked["linf in the box"] = asked["linf"]._replace(low=low, high=high)
    unit = min(solve(free, 5.0)[1] for _ in range(3))
    return {name: min(solve(problem, 5.0)[1] for _ in range(2)) / unit for name, problem in asked.items()}


def pooled() -> dict[str, float]:
    """CPU seconds per point where the probabilities of 20 sub-networks are summed, how many are exact, upper/lower.

    And how many are known to a hundredth, and the median seconds after which a point is: the least of doubled budgets.
    """
    setting = Setting(clusters=POOLED)
    data = setting.data(0)
    test, network = setting.test(data, 0, POOLED_POINTS), setting.fine(data, 0).final
    asked: dict[str, Any] = {"readout": "summed-probabilities", "budget": Budget(seconds=POOLED_SECONDS)}
    robust_radius(network, test.x[:1], test.y[:1], **asked)
    began = time.process_time()
    found = robust_radius(network, test.x, test.y, **asked)
    seconds = (time.process_time() - began) / len(test.x)
    ratio = found.upper / np.maximum(found.lower, 1e-12)
    row = {"seconds": seconds, "exact": float(is_exact(found.lower, found.upper).mean())}
    row |= {"ratio": float(np.median(ratio)), "worst": float(ratio.max()), "narrow": float((ratio <= NARROW).mean())}
    return row | {"narrow after": narrow_after(network, test, asked)}


def narrow_after(network: Any, test: Any, asked: dict[str, Any]) -> float:
    """Median CPU seconds, all of a call, with the least of doubled budgets that narrows a point; ∞ if none does."""
    took = np.full(len(test.x), np.inf)
    for seconds in POOLED_SECONDS * 2.0 ** np.arange(-9.0, 1.0):
        for point in np.flatnonzero(np.isinf(took)).tolist():
            here, began = slice(point, point + 1), time.process_time()
            found = robust_radius(network, test.x[here], test.y[here], **asked | {"budget": Budget(seconds=seconds)})
            spent = time.process_time() - began
            if found.upper[0] <= NARROW * found.lower[0]:
                took[point] = spent
    return float(np.median(took))


def audit_seconds() -> float:
    """CPU seconds of the audit of one easy point: 30 neurons, 64 axes."""
    problem = parity_problem("digits", 30, 1)
    found = answer(problem, Budget(), lambda done, total: None)
    from featavg.robustness.proof.audit import audit

    return cpu(lambda: audit(problem, found.proofs), repeats=3)


def cold_seconds() -> float:
    """CPU seconds that all kernels take to compile, without a cache."""
    with tempfile.TemporaryDirectory() as name:
        environment = os.environ | {"NUMBA_CACHE_DIR": name}
        run = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, env=environment, check=True)
    return float(run.stdout)


def claims(
    price: dict[str, float],
    networks: Any,
    budgets: Any,
    others: dict[str, float],
    sums: dict[str, float],
    audit: float,
    cold: float,
) -> tuple[Claim, ...]:
    """The targets."""

    def claim(value: float, text: str, expected: float, relation: str, how: str) -> Claim:
        fields: dict[str, Any] = {"relation": relation, "how": how, "source": "benchmark"}
        return Claim.exact(value, text, expected=expected, tolerance=0.0, tolerance_reason="the target", **fields)

    gradients = "CPU seconds, in forward-backward passes over the same points in d = 3072"
    found = [
        claim(price["binary"], "1000 exact radii, two classes, cost three gradients.", 3.0, "at most", gradients),
        claim(price["ten classes"], "2000 exact radii, ten classes, cost 20 gradients.", 20.0, "at most", gradients),
        claim(audit, "An easy point is audited in half a second.", 0.5, "at most", "CPU seconds"),
        claim(cold, "Everything compiles in 40 CPU seconds.", 40.0, "at most", "empty NUMBA_CACHE_DIR"),
    ]
    how = f"CPU seconds per point, {POOLED_POINTS} test points, {POOLED_SECONDS:g} s each; "
    how += f"{sums['exact']:.0%} of them exact, upper/lower {sums['ratio']:.4g} (median), {sums['worst']:.4g} (worst)"
    text = f"Summed probabilities of {POOLED} sub-networks take 0.2 s per point."
    found.append(claim(sums["seconds"], text, 0.2, "at most", how))
    text = f"Summed probabilities of {POOLED} sub-networks: all points are known to a hundredth."
    found.append(claim(sums["narrow"], text, 1.0, "at least", how))
    text = f"Summed probabilities of {POOLED} sub-networks: half of the points are known to a hundredth in 0.2 s."
    found.append(claim(sums["narrow after"], text, 0.2, "at most", "CPU seconds, the least of doubled budgets"))
    for (name, width), factor in FASTER.items():
        row, how = networks[f"{name} {width}"], "all points in one call, checked; both in units of their own run"
        text = f"{name}, {width} neurons: {factor} times as fast as the first version."
        found.append(claim(row["times faster"], text, factor, "at least", how))
    for text, (*_, points, seconds, closed, ratio) in CLOSING.items():
        how = f"{points} test points, {seconds:g} CPU s each"
        if closed is not None:
            found.append(claim(budgets[text]["closed"], f"{text}: closed.", closed, "at least", how))
        if ratio is not None:
            found.append(claim(budgets[text]["ratio"], f"{text}: median upper/lower.", ratio, "at most", how))
    for name, ratio in others.items():
        how = "100 points of digits, 30 neurons, against free ℓ2"
        found.append(claim(ratio, f"{name} costs three times free ℓ2.", 3.0, "at most", how))
    shares = [row["check/search"] for row in (*networks.values(), *budgets.values())]
    share = "median over all networks above"
    found.append(claim(float(np.median(shares)), "Checking takes 0.4 of the search.", 0.4, "at most", share))
    return tuple(found)


def main() -> None:
    """Measure all, write the record, print the verdicts."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    price = kept("paper", paper)
    networks, budgets = widths(price["unit"]), closing()
    others, sums = kept("norms", norms), kept("pooled", pooled)
    audit, cold = kept("audit", audit_seconds), kept("cold", cold_seconds)
    rows = [(f"{name}: {key}", value) for name, row in (networks | budgets).items() for key, value in row.items()]
    arrays = {"row": np.array([name for name, _ in rows]), "value": np.array([value for _, value in rows])}
    record = Record(
        name="exact",
        title="What exact radii cost",
        config={"repeats": REPEATS, "unit_seconds": price["unit"], "audit_seconds": audit, "cold_seconds": cold},
        seeds=(0,),
        claims=claims(price, networks, budgets, others, sums, audit, cold),
        evidence=Evidence(Table.of(arrays), (), provenance=Provenance(seconds=round(time.perf_counter() - began, 1))),
    )
    print(write_record(record, RESULTS))
    (folder() / "exact_rows.json").unlink(missing_ok=True)
    for claim in record.claims:
        print(claim.verdict, claim.text, claim.measured)


if __name__ == "__main__":
    main()
