"""Training in coefficient space, float64, against the PyTorch loop a researcher would write, float32.

Both train on the paper's sample (k = 10, d = 3072, n = 1000) for 1000 full-batch steps, in one process, one thread
each, in turns after a warm-up; CPU time, without imports, sampling and conversion of the data. Ours includes the Gram
matrix, all losses and a hundred saved moments; theirs keeps nothing. Ratios hardly depend on the machine.

    python -m benchmarks.training          everything; writes results/benchmarks/training.{json,npz,png}
    python -m benchmarks.training DIM      one sample and one run at this dimension, as a child: prints JSON
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import featavg as fa
from benchmarks.memory import peak_megabytes
from featavg.figures import draw
from featavg.record import Claim, Drawing, Evidence, Provenance, Record, Table, write_record

STEPS, REPEATS = 1000, 9
FOLDER = Path("results/benchmarks")
KINDS = {"binary": fa.BinaryNetwork, "10 classes": fa.MulticlassNetwork}
SAMPLES = [125, 250, 500, 1000, 2000]
NEURONS = [2, 6, 20, 60, 200]
DIMS = [3072, 10**5, 10**7, 10**9, 10**12]


def cpu_seconds(run: Callable[[], Any]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def ours(kind: str) -> Callable[[], Any]:
    data = fa.sample_clusters(seed=0)
    network = KINDS[kind].random(data, seed=1)
    return lambda: fa.train(network, data, fa.GradientDescent(steps=STEPS))


def torch_loop(kind: str) -> Callable[[], Any]:
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    data = fa.sample_clusters(seed=0, coordinates="ambient")
    start = KINDS[kind].random(data, seed=1)
    x, y, fine = torch.tensor(data.x).float(), torch.tensor(data.y).float(), torch.tensor(data.cluster)
    second = torch.tensor(start.second).float()

    def run() -> None:
        layer = torch.nn.Linear(data.dim, start.neurons, bias=kind == "binary")
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(start.weights))
        optimiser = torch.optim.SGD(layer.parameters(), lr=1e-3)
        for _ in range(STEPS):
            optimiser.zero_grad()
            outputs = torch.relu(layer(x)) @ second.T
            if kind == "binary":
                loss = functional.softplus(-y * outputs[:, 0]).mean()
            else:
                loss = functional.cross_entropy(outputs, fine)
            loss.backward()
            optimiser.step()

    return run


def side_by_side(kind: str) -> np.ndarray:
    """CPU seconds of ours and theirs in turns: (repeat, 2)."""
    contenders = ours(kind), torch_loop(kind)
    for run in contenders:
        run()
    return np.array([[cpu_seconds(run) for run in contenders] for _ in range(REPEATS)])


def at_dimension(dim: int) -> dict[str, float]:
    """Sample and train in this process; CPU seconds and peak memory."""

    def run() -> None:
        data = fa.sample_clusters(dim=dim, seed=0)
        fa.train(fa.BinaryNetwork.random(data, seed=1), data, fa.GradientDescent(steps=STEPS))

    run()
    return {"seconds": cpu_seconds(run), "megabytes": peak_megabytes()}


def in_a_child(dim: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.training", str(dim)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found["seconds"], found["megabytes"]


def milliseconds_a_step(samples: int = 1000, neurons: int = 10, dim: int = 3072, steps: int = 200) -> float:
    data = fa.sample_clusters(dim=dim, samples=samples, reserve=max(neurons, 64), seed=0)
    network = fa.BinaryNetwork.random(data, neurons // 2, seed=1)
    rule = fa.GradientDescent(steps=steps)
    run = lambda: fa.train(network, data, rule, save_at=[])  # noqa: E731
    return 1e3 * float(np.median([cpu_seconds(run) for _ in range(4)][1:])) / steps


def main() -> None:
    began = time.perf_counter()
    arrays: dict[str, Any] = {}
    for kind in KINDS:
        arrays[f"seconds {kind}"] = side_by_side(kind)
    children = [[in_a_child(dim) for dim in (3072, 10**9)] for _ in range(REPEATS)]
    arrays["dimension"] = np.array(children)  # (repeat, dim, seconds and megabytes)
    arrays["grown"] = np.array([SAMPLES, NEURONS, DIMS], dtype=np.float64)
    arrays["step"] = np.array(
        [
            [milliseconds_a_step(samples=samples) for samples in SAMPLES],
            [milliseconds_a_step(neurons=neurons) for neurons in NEURONS],
            [milliseconds_a_step(dim=dim) for dim in DIMS],
        ]
    )
    record = make_record(arrays, time.perf_counter() - began)
    path = write_record(record, FOLDER)
    draw(record.drawings[0], record.arrays).savefig(path.with_suffix(".png"), dpi=150)
    for note in record.notes:
        print(note)
    for claim in record.claims:
        print(f"{claim.verdict}: {claim.text} measured {claim.measured:.2f} in {claim.interval}")


def make_record(arrays: dict[str, Any], seconds: float) -> Record:
    growth = arrays["dimension"][:, 1] / arrays["dimension"][:, 0]  # (repeat, seconds and megabytes)
    how = f"CPU seconds of theirs / ours, {STEPS} steps, one thread each, {REPEATS} pairs in turns after a warm-up"
    claims = [
        Claim.over_seeds(
            arrays[f"seconds {kind}"][:, 1] / arrays[f"seconds {kind}"][:, 0],
            f"Training the network ({kind}) in float64 is faster than a plain PyTorch loop in float32.",
            source="benchmark",
            expected=5.0,
            tolerance=0.0,
            relation="at least",
            tolerance_reason="the target; the goal is 10",
            how=how,
            unit="times",
        )
        for kind in KINDS
    ]
    claims += [
        Claim.over_seeds(
            growth[:, i],
            f"A sample and a run at dim = 10⁹ take as much {what} as at 3072.",
            source="benchmark",
            expected=1.3,
            tolerance=0.0,
            relation="at most",
            tolerance_reason="the target",
            how=f"ratio of two processes, {REPEATS} pairs in turns",
            unit="times",
        )
        for i, what in enumerate(("time", "memory"))
    ]
    drawing = Drawing(
        "scaling",
        {"x": "grown", "y": "step"},
        caption="CPU milliseconds a step of the binary network (mean of 200 steps and their start) as one number grows "
        "and the others stay at n = 1000, 10 neurons, d = 3072. The dimension costs nothing; at 10⁹ a step is cheaper, "
        "since the noises of different points hardly overlap and every neuron is clearly on or off at every point.",
        options={
            "labels": ["samples n", "neurons", "dimension d"],
            "x_label": "n, number of neurons, or d",
            "y_label": "milliseconds a step",
            "title": "What a step of training costs",
        },
    )
    notes = tuple(_note(kind, arrays[f"seconds {kind}"]) for kind in KINDS)
    return Record(
        name="training",
        title="Training in coefficient space against a PyTorch loop",
        config={"steps": STEPS, "repeats": REPEATS},
        seeds=(0,),
        claims=tuple(claims),
        evidence=Evidence(Table.of(arrays), (drawing,), notes, Provenance(seconds=round(seconds, 1))),
    )


def _note(kind: str, seconds: np.ndarray) -> str:
    (low, middle, high), (low_peer, middle_peer, high_peer) = np.quantile(seconds, [0, 0.5, 1], axis=0).T
    return (
        f"{kind}: ours {middle:.2f} s ({low:.2f} to {high:.2f}), PyTorch {middle_peer:.2f} s "
        f"({low_peer:.2f} to {high_peer:.2f}), ratio of medians {middle_peer / middle:.1f}"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(at_dimension(int(sys.argv[1]))))
    else:
        main()
