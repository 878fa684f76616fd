"""Exact radii against the attacks people use instead, on the paper's two networks: time, memory, and who is right.

Each method runs in a process of its own with one thread; CPU time counts that process and its children, without
imports and after a warm-up on a few points; peak memory is that of the whole process, imports included. Attacks answer
for one radius, the exact search for all of them.

    python -m benchmarks.robustness          all methods; writes results/benchmarks/robustness.json
    python -m benchmarks.robustness NAME …   one method, as a child: prints JSON
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import featavg as fa
from benchmarks.memory import peak_megabytes
from featavg.experiments.paper.setting import Setting
from featavg.record import Claim, Drawing, Evidence, Provenance, Record, Table, write_record

BINARY_RADIUS, MULTI_RADIUS = 18.0, 39.0
REPEATS = 3
# Name: network, points. AutoAttack and SCIP take minutes for a thousand points, so they get fewer.
METHODS = {
    "featavg exact": ("binary", 1000),
    "featavg universal direction": ("binary", 1000),
    "foolbox L2PGD, 20 steps, default step": ("binary", 1000),
    "foolbox L2PGD, 20 steps, step 2.5ε/20": ("binary", 1000),
    "ART PGD, 20 steps, step 2.5ε/20": ("binary", 1000),
    "AutoAttack apgd-ce": ("binary", 200),
    "SCIP in span(W)": ("binary", 5),
    "featavg exact, 10 classes": ("multi", 1000),
    "foolbox L2PGD, 20 steps, 10 classes": ("multi", 1000),
    "ART PGD, 20 steps, 10 classes": ("multi", 1000),
    "AutoAttack standard, 10 classes": ("multi", 20),
}


def method(name: str, network: Any, x: np.ndarray, y: np.ndarray, radius: float) -> Callable[[slice], np.ndarray]:
    """A function of a slice of points: which of them survive at `radius`."""
    if name.startswith("featavg exact"):
        return lambda part: fa.robust_radius(network, x[part], y[part]).upper > radius
    if name.startswith("featavg universal"):
        from featavg.robustness.attacks import UniversalDirection

        return lambda part: UniversalDirection()(network, x[part], y[part]).upper > radius
    if name.startswith("SCIP"):
        from benchmarks.scip import survives

        return lambda part: np.array([survives(network, a, b, radius) for a, b in zip(x[part], y[part], strict=True)])
    from benchmarks import peers

    library = name.split()[0]
    return getattr(peers, library.lower())(name, network, x, y, radius)


def measure(name: str, folder: Path) -> dict[str, float]:
    """Run one method in this process."""
    kind, count = METHODS[name]
    network = fa.load_network(folder / f"{kind}.npz")
    with np.load(folder / "points.npz") as points:
        x, y = points["x"][:count], points["y" if kind == "binary" else "cluster"][:count]
    survive = method(name, network, x, y, BINARY_RADIUS if kind == "binary" else MULTI_RADIUS)
    survive(slice(0, min(count, 20)))
    seconds = []
    for _ in range(REPEATS if count == 1000 else 1):
        began = _cpu()
        alive = survive(slice(count))
        seconds.append(_cpu() - began)
    return {
        "seconds": float(np.median(seconds)),
        "points": count,
        "accuracy": float(alive.mean()),
        "megabytes": peak_megabytes(),
    }


def _cpu() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def prepare(folder: Path) -> dict[str, np.ndarray]:
    """Train both networks in ambient coordinates, where every library can follow; return their exact radii."""
    setting = Setting()
    data = setting.data(0, coordinates="ambient")
    test = setting.test(data, 0)
    fa.save_network(setting.coarse(data, 0).final, folder / "binary.npz")
    fa.save_network(setting.fine(data, 0).final, folder / "multi.npz")
    np.savez(folder / "points.npz", x=test.x, y=test.y, cluster=test.cluster)
    return {
        "binary": fa.robust_radius(fa.load_network(folder / "binary.npz"), test.x, test.y).upper,
        "multi": fa.robust_radius(fa.load_network(folder / "multi.npz"), test.x, test.cluster).upper,
    }


def main() -> None:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = prepare(folder)
        rows = {}
        for method_name, (kind, count) in METHODS.items():
            command = [sys.executable, "-m", "benchmarks.robustness", method_name, str(folder)]
            environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            if done.returncode:
                print(f"{method_name}: failed\n{done.stderr[-2000:]}", file=sys.stderr)
                continue
            row = json.loads(done.stdout.splitlines()[-1])
            radius = BINARY_RADIUS if kind == "binary" else MULTI_RADIUS
            row["overstated"] = row["accuracy"] - float(np.mean(truth[kind][:count] > radius))
            row["per_thousand"] = row["seconds"] * 1000 / count
            rows[method_name] = row
            print(method_name, {key: round(value, 4) for key, value in row.items()}, flush=True)
    path = write_record(_record(rows, time.perf_counter() - began), Path("results/benchmarks"))
    print(path)


def _record(rows: dict[str, dict[str, float]], seconds: float) -> Record:
    peer, exact = rows["foolbox L2PGD, 20 steps, step 2.5ε/20"], rows["featavg exact"]
    arrays = {key: np.array([row[key] for row in rows.values()]) for key in exact}
    claims = (
        Claim.exact(
            exact["seconds"] / peer["seconds"],
            "All exact radii of 1000 points cost at most half of foolbox's PGD at one radius.",
            source="benchmark",
            expected=0.5,
            tolerance=0.0,
            relation="at most",
            tolerance_reason="the target; the goal was a tenth",
            how=f"ratio of CPU seconds, one thread each, median of {REPEATS} runs after a warm-up",
        ),
        Claim.exact(
            exact["megabytes"] / peer["megabytes"],
            "The exact search needs less memory than foolbox's PGD.",
            source="benchmark",
            expected=1.0,
            tolerance=0.0,
            relation="at most",
            tolerance_reason="the target",
            how="ratio of peak resident memory of the two processes",
        ),
    )
    drawing = Drawing(
        "scatter",
        {"x": "per_thousand", "y": "overstated"},
        caption="CPU seconds for 1000 points (one radius for attacks, all radii for the exact search) against the "
        f"robust accuracy overstated at radius {BINARY_RADIUS:g} (binary) or {MULTI_RADIUS:g} (10 classes). Left and "
        "low is good.",
        options={
            "labels": list(rows),
            "log_x": True,
            "x_label": "CPU seconds per 1000 points",
            "y_label": "overstated robust accuracy",
        },
    )
    return Record(
        name="robustness",
        title="Exact radii against attacks: time, memory, and who is right",
        config={"methods": list(rows), "repeats": REPEATS},
        seeds=(0,),
        claims=claims,
        evidence=Evidence(Table.of(arrays), (drawing,), provenance=Provenance(seconds=round(seconds, 1))),
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))))
    else:
        main()
