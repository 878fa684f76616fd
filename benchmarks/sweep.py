"""Sweeps: what the engine adds to a trial, what a second worker brings, and many small trainings at once.

Trials sleep for a second, so that the wall time of the engine is measured and not the load of the machine; the CPU time
of all its processes is counted beside. Trainings: 4 numbers of clusters × 5 numbers of points × 10 initial scales × 5
seeds of the data, 100 steps each, CPU time of one thread: `train` one by one, `train_many`, the NumPy loop in
coefficient space that a researcher would write, and a PyTorch loop that `vmap`s over ten networks at a time in float32.

    python -m benchmarks.sweep          everything, about ten minutes; writes results/benchmarks/sweep.{json,npz}
"""

from __future__ import annotations

import resource
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import featavg as fa
from benchmarks.training import cpu_seconds, gram_loop
from featavg.record import Claim, Column, Evidence, Provenance, Record, Table, write_record
from featavg.sweep import run_sweep

FOLDER = Path("results/benchmarks")
TRIALS, PAUSE = 200, 1.0
CLUSTERS, SAMPLES, SEEDS = (2, 4, 10, 20), (20, 50, 100, 300, 1000), 5
SCALES = tuple(np.geomspace(1e-7, 1e-3, 10).tolist())
RULE = fa.GradientDescent(steps=100)
WAYS = ("one by one", "train_many", "NumPy Gram loop", "PyTorch vmap")
AT_THE_END: list[float] = []  # nothing is saved but the end


def sleeping(pause: float, seed: int) -> dict[str, float]:
    """A trial that costs time and nothing else."""
    time.sleep(pause)
    return {"seed": float(seed)}


def sweep_seconds(workers: int, pause: float) -> tuple[float, float]:
    """Wall seconds of a sweep, and CPU seconds of all its processes."""
    spec = {"function": "benchmarks.sweep:sleeping", "base": {"pause": pause}, "seeds": TRIALS}
    before = _cpu()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        assert len(run_sweep(spec, folder, workers=workers).column("seed")) == TRIALS
    return time.perf_counter() - began, _cpu() - before


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
    return sum(one.ru_utime + one.ru_stime for one in used)


def pairs(clusters: int, samples: int) -> tuple[list[Any], list[Any]]:
    """Networks and data of one part of the mix."""
    datas = [fa.sample_clusters(clusters, samples=samples, seed=seed) for seed in range(SEEDS)]
    chosen = list(product(datas, SCALES))
    networks = [fa.BinaryNetwork.random(data, 5, seed=i, scale=scale) for i, (data, scale) in enumerate(chosen)]
    return networks, [data for data, _ in chosen]


def vmapped(clusters: int, samples: int) -> float:
    """CPU seconds of the same in PyTorch; points in float32 and all 3072 coordinates, ten networks at a time."""
    import torch
    from torch.func import grad, vmap

    torch.set_num_threads(1)
    networks, datas = pairs(clusters, samples)
    second = torch.tensor(networks[0].second).float()

    def loss(weights: Any, biases: Any, x: Any, y: Any) -> Any:
        outputs = torch.relu(x @ weights.T + biases) @ second.T
        return torch.nn.functional.softplus(-y * outputs[:, 0]).mean()

    slope = vmap(grad(loss, argnums=(0, 1)), in_dims=(0, 0, None, None))
    ambient = [fa.sample_clusters(clusters, samples=samples, seed=seed, coordinates="ambient") for seed in range(SEEDS)]
    total = 0.0
    for number, data in enumerate(ambient):
        x, y = torch.tensor(data.x).float(), torch.tensor(data.y).float()
        scales = torch.tensor(SCALES).float()[:, None, None]
        torch.manual_seed(number)
        weights = scales * torch.randn(len(SCALES), 10, data.dim)
        biases = torch.zeros(len(SCALES), 10)

        def run(x: Any = x, y: Any = y, weights: Any = weights, biases: Any = biases) -> None:
            for _ in range(RULE.steps):
                moved = slope(weights, biases, x, y)
                weights, biases = weights - 1e-3 * moved[0], biases - 1e-3 * moved[1]

        total += cpu_seconds(run)
    assert len(datas) == len(SCALES) * SEEDS
    return total


def part_seconds(clusters: int, samples: int) -> list[float]:
    """CPU seconds of 50 trainings in each way."""
    networks, datas = pairs(clusters, samples)

    def alone() -> None:
        for network, data in zip(networks, datas, strict=True):
            fa.train(network, data, RULE, save_at=AT_THE_END)

    def together() -> None:
        fa.train_many(networks, datas, RULE, save_at=AT_THE_END)

    def plainly() -> None:
        for network, data in zip(networks, datas, strict=True):
            gram_loop(data, network, RULE.steps)()

    fa.train(networks[0], datas[0], RULE, save_at=AT_THE_END)  # compiled beforehand
    return [cpu_seconds(alone), cpu_seconds(together), cpu_seconds(plainly), vmapped(clusters, samples)]


def main() -> None:
    began = time.perf_counter()
    seconds = np.zeros((len(CLUSTERS), len(SAMPLES), len(WAYS)))
    for (i, clusters), (j, samples) in product(enumerate(CLUSTERS), enumerate(SAMPLES)):
        seconds[i, j] = part_seconds(clusters, samples)
        print(clusters, samples, (1e3 * seconds[i, j] / 50).round(2), "ms a training", flush=True)
    engine = np.array([sweep_seconds(workers, PAUSE) for workers in (1, 2)])
    print("sweep, wall and CPU seconds with one worker and two:", engine.round(2).tolist(), flush=True)
    record = make_record(seconds, engine, time.perf_counter() - began)
    write_record(record, FOLDER)
    for claim in record.claims:
        print(f"{claim.verdict}: {claim.text} measured {claim.measured:.2f}")


def make_record(seconds: np.ndarray, engine: np.ndarray, took: float) -> Record:
    """What was measured, and what was asked for."""
    alone, together, plain, vmap = seconds.sum(axis=(0, 1))
    overhead = 1e3 * (engine[:, 0] * (1, 2) - TRIALS * PAUSE).max() / TRIALS

    def claim(value: float, text: str, expected: float, how: str, unit: str, relation: Any = "at least") -> Claim:
        return Claim.exact(
            float(value), text, source="requirement of the sweep", expected=expected, tolerance=0.0, how=how,
            tolerance_reason="the target", unit=unit, relation=relation,
        )  # fmt: skip

    slept = f"{TRIALS} trials that sleep {PAUSE:g} s, wall seconds"
    mix = "CPU seconds of one thread over the mix of 1000 trainings"
    claims = (
        claim(engine[0, 0] / engine[1, 0], "Two workers are at least 1.8 times as fast as one.", 1.8, slept, "times"),
        claim(overhead, "Engine and store take at most 20 ms a trial.", 20.0,
              f"{slept} beyond the sleep, the worse of one and two workers, with their start", "ms", "at most"),
        claim(1e3 * engine[:, 1].max() / TRIALS, "Of CPU time they take at most 20 ms a trial.", 20.0,
              f"{slept.replace('wall', 'CPU')} of driver and workers, the worse of the two, with their start", "ms",
              "at most"),
        claim(alone / together, "Many trainings at once are five times as fast as one by one.", 5.0, mix, "times"),
        claim(plain / together, "They are five times as fast as the plain NumPy loop.", 5.0, mix, "times"),
        claim(vmap / together, "They are five times as fast as a vmap of PyTorch.", 5.0, mix, "times"),
    )  # fmt: skip
    axes = {"clusters": list(CLUSTERS), "samples": list(SAMPLES), "way": list(WAYS), "workers": [1, 2]}
    table = Table(
        {
            "seconds": Column(seconds, ("clusters", "samples", "way"), "CPU seconds of 50 trainings", "s"),
            "wall": Column(engine[:, 0], ("workers",), slept, "s"),
            "cpu": Column(engine[:, 1], ("workers",), "CPU seconds of driver and workers in that time", "s"),
        },
        axes,
    )
    rates = [
        f"{way}: {1000 / total:.0f} trainings a CPU second"
        for way, total in zip(WAYS, seconds.sum(axis=(0, 1)), strict=True)
    ]
    by_size = seconds.sum(axis=0)
    ratios = [
        f"{one / many:.1f} and {plain / many:.1f} times at {n} points"
        for n, (one, many, plain, _) in zip(SAMPLES, by_size, strict=True)
    ]
    notes = ("; ".join(rates), "train_many against `train` one by one, and the NumPy loop: " + ", ".join(ratios))
    evidence = Evidence(table, (), notes, Provenance(seconds=round(took, 1)))
    config = {"trials": TRIALS, "pause": PAUSE, "steps": RULE.steps, "scales": list(SCALES), "seeds": SEEDS}
    return Record("sweep", "The engine of sweeps", config, tuple(range(SEEDS)), claims, evidence)


if __name__ == "__main__":
    main()
