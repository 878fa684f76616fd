"""Training in coefficient space against the PyTorch loop and the NumPy loop that a researcher would write.

All train on the paper's sample (d = 3072, n = 1000), and on one of fewer axes than points (d = 784, n = 2000), for 100
and 1000 full-batch steps, in one process, one thread each, in turns after a warm-up; CPU time, without imports,
sampling and conversion of the data. Ours includes the Gram matrix and a hundred saved moments; theirs keep nothing.
PyTorch works in float32, the NumPy loop in the precision of ours. Ratios hardly depend on the machine.

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

STEPS = (100, 1000)
REPEATS = 5
FOLDER = Path("results/benchmarks")
# name: clusters, whether the network has one output, and the sample where it is not the paper's
TASKS: dict[str, tuple[int, bool, dict[str, int]]] = {
    "binary": (10, True, {}),
    "10 classes": (10, False, {}),
    "20 classes": (20, False, {}),
    "50 classes": (50, False, {}),
    "binary, d = 784": (10, True, {"dim": 784, "samples": 2000}),
    "10 classes, d = 784": (10, False, {"dim": 784, "samples": 2000}),
}
WITH_TORCH = ("binary", "10 classes", "binary, d = 784", "10 classes, d = 784")
SAMPLES = [125, 500, 1000, 2000, 9000]
NEURONS = [2, 6, 20, 60, 200]
DIMS = [3072, 10**5, 10**7, 10**9, 10**12]
Run = Callable[[], Any]


def cpu_seconds(run: Run) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def task(name: str, coordinates: Any = "auto") -> tuple[Any, Any]:
    """The sample and the network of a task."""
    clusters, binary, sample = TASKS[name]
    options = {} if coordinates == "auto" else {"coordinates": coordinates}
    data = fa.sample_clusters(clusters, seed=0, **sample, **options)
    return data, (fa.BinaryNetwork if binary else fa.MulticlassNetwork).random(data, seed=1)


def ours(name: str, steps: int, dtype: Any = np.float64) -> Run:
    data, network = task(name)
    return lambda: fa.train(network, data, fa.GradientDescent(steps=steps), dtype=dtype)


def gram_loop(data: Any, network: Any, steps: int, dtype: Any = np.float64) -> Run:
    """C ← C − ηG, Z ← Z − ηKG: what anybody would write first."""
    y, rows, eta = network.targets(data), np.arange(len(data)), dtype(1e-3)
    x, w, a = (array.astype(dtype) for array in (data.x, network.weights, network.second))
    binary = network.output_count == 1

    def run() -> Any:
        k = x @ x.T + dtype(binary)
        z = x @ w.T + network.biases.astype(dtype)
        c = np.zeros_like(z)
        for _ in range(steps):
            f = np.maximum(z, 0) @ a.T
            if binary:
                d = (-y / (1 + np.exp(y * f[:, 0])))[:, None].astype(dtype)
            else:
                d = np.exp(f - f.max(axis=1, keepdims=True))
                d /= d.sum(axis=1, keepdims=True)
                d[rows, y] -= 1
            g = (d / dtype(len(x))) @ a * (z >= 0)
            c -= eta * g
            z -= eta * (k @ g)
        return c

    return run


def torch_loop(name: str, steps: int) -> Run:
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    data, start = task(name, "ambient")
    binary = start.output_count == 1
    x, y, fine = torch.tensor(data.x).float(), torch.tensor(data.y).float(), torch.tensor(data.cluster)
    second = torch.tensor(start.second).float()

    def run() -> None:
        layer = torch.nn.Linear(data.dim, start.neurons, bias=binary)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(start.weights))
        optimiser = torch.optim.SGD(layer.parameters(), lr=1e-3)
        for _ in range(steps):
            optimiser.zero_grad()
            outputs = torch.relu(layer(x)) @ second.T
            coarse = functional.softplus(-y * outputs[:, 0]).mean() if binary else None
            loss = functional.cross_entropy(outputs, fine) if coarse is None else coarse
            loss.backward()
            optimiser.step()

    return run


PEERS: dict[str, tuple[Callable[[str, int], Run], Any]] = {
    "PyTorch": (torch_loop, np.float64),
    "NumPy Gram loop": (lambda name, steps: gram_loop(*task(name), steps), np.float64),
    "NumPy Gram loop, float32": (lambda name, steps: gram_loop(*task(name), steps, np.float32), np.float32),
}


def rows() -> list[tuple[str, str, int]]:
    """Task, peer and steps of every comparison."""
    return [
        (name, peer, steps)
        for steps in STEPS
        for name in TASKS
        for peer in PEERS
        if peer != "PyTorch" or name in WITH_TORCH
    ]


def side_by_side(name: str, peer: str, steps: int) -> np.ndarray:
    """CPU seconds of ours and theirs in turns: (repeat, 2)."""
    build, dtype = PEERS[peer]
    runs = ours(name, steps, dtype), build(name, steps)
    for run in runs:
        run()
    return np.array([[cpu_seconds(run) for run in runs] for _ in range(REPEATS)])


def at_dimension(dim: int) -> dict[str, float]:
    """Sample and train in this process; CPU seconds and peak memory."""

    def run() -> None:
        data = fa.sample_clusters(dim=dim, seed=0)
        fa.train(fa.BinaryNetwork.random(data, seed=1), data, fa.GradientDescent(steps=STEPS[-1]))

    run()
    return {"seconds": cpu_seconds(run), "megabytes": peak_megabytes()}


def in_a_child(dim: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.training", str(dim)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found["seconds"], found["megabytes"]


def milliseconds_per_step(samples: int = 1000, neurons: int = 10, dim: int = 3072, steps: int = 200) -> float:
    data = fa.sample_clusters(dim=dim, samples=samples, reserve=max(neurons, 64), seed=0)
    network = fa.BinaryNetwork.random(data, neurons // 2, seed=1)
    rule = fa.GradientDescent(steps=steps)
    run = lambda: fa.train(network, data, rule, save_at=[])  # noqa: E731
    return 1e3 * float(np.median([cpu_seconds(run) for _ in range(4)][1:])) / steps


def main() -> None:
    began = time.perf_counter()
    arrays: dict[str, Any] = {}
    for row in rows():
        arrays[_name(*row)] = side_by_side(*row)
        print(_note(*row, arrays[_name(*row)]), flush=True)
    children = [[in_a_child(dim) for dim in (3072, 10**9)] for _ in range(REPEATS)]
    arrays["dimension"] = np.array(children)  # (repeat, dim, seconds and megabytes)
    arrays["grown"] = np.array([SAMPLES, NEURONS, DIMS], dtype=np.float64)
    arrays["step"] = np.array(
        [
            [milliseconds_per_step(samples=samples) for samples in SAMPLES],
            [milliseconds_per_step(neurons=neurons) for neurons in NEURONS],
            [milliseconds_per_step(dim=dim) for dim in DIMS],
        ]
    )
    record = make_record(arrays, time.perf_counter() - began)
    path = write_record(record, FOLDER)
    draw(record.evidence.drawings[0], record.evidence.table).savefig(path.with_suffix(".png"), dpi=150)
    for claim in record.claims:
        print(f"{claim.verdict}: {claim.text} measured {claim.measured:.2f} in {claim.interval}")


def speed_claim(name: str, peer: str, steps: int, seconds: np.ndarray) -> Claim:
    target = 1.0 if peer != "PyTorch" else 5.0 if steps == STEPS[0] else 10.0
    return Claim.over_seeds(
        seconds[:, 1] / seconds[:, 0],
        f"{steps} steps of the network ({name}) take less time than in a {peer}{' loop' * (peer == 'PyTorch')}.",
        source="benchmark",
        expected=target,
        tolerance=0.0,
        relation="at least",
        tolerance_reason="the target",
        how=f"CPU seconds of theirs / ours, one thread each, {REPEATS} pairs in turns after a warm-up",
        unit="times",
    )


def make_record(arrays: dict[str, Any], seconds: float) -> Record:
    growth = arrays["dimension"][:, 1] / arrays["dimension"][:, 0]  # (repeat, seconds and megabytes)
    claims = [speed_claim(*row, arrays[_name(*row)]) for row in rows()]
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
        caption="CPU milliseconds per step of the binary network (mean of 200 steps and their start) as one number "
        "grows and the others stay at n = 1000, 10 neurons, d = 3072. The dimension costs nothing.",
        options={
            "labels": ["samples n", "neurons", "dimension d"],
            "x_label": "n, number of neurons, or d",
            "y_label": "milliseconds per step",
            "title": "What a step of training costs",
        },
    )
    notes = tuple(_note(*row, arrays[_name(*row)]) for row in rows())
    return Record(
        name="training",
        title="Training in coefficient space against loops in PyTorch and NumPy",
        config={"steps": list(STEPS), "repeats": REPEATS},
        seeds=(0,),
        claims=tuple(claims),
        evidence=Evidence(Table.of(arrays), (drawing,), notes, Provenance(seconds=round(seconds, 1))),
    )


def _name(name: str, peer: str, steps: int) -> str:
    return f"seconds {name}, {peer}, {steps} steps"


def _note(name: str, peer: str, steps: int, seconds: np.ndarray) -> str:
    (low, middle, high), (low_peer, middle_peer, high_peer) = np.quantile(seconds, [0, 0.5, 1], axis=0).T
    return (
        f"{name}, {steps} steps: ours {middle:.3f} s ({low:.3f} to {high:.3f}), {peer} {middle_peer:.3f} s "
        f"({low_peer:.3f} to {high_peer:.3f}), ratio of medians {middle_peer / middle:.2f}"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(at_dimension(int(sys.argv[1]))))
    else:
        main()
