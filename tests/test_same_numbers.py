"""The same seeds give the same numbers, however many threads there are inside and outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import featavg as fa
from featavg.robustness import RadiusBracket

NUMBERS = """
import json, sys
import numpy as np, featavg as fa
from threadpoolctl import threadpool_info
pools = sorted({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"})
rng = np.random.default_rng(0)
fine = np.arange(400) % 4
x, y = 6.0 * np.eye(4, 300)[fine] + rng.normal(size=(400, 300)), fine % 2
model = fa.SubclassClassifier(2, steps=50, random_state=0).fit(x, y)
radii = fa.robust_radius(model, x[:5], y[:5], budget=fa.Budget(nodes=50))
found = fa.discover_sublabels(x, y, 2)
data = fa.sample_clusters(clusters=4, dim=500, samples=100, seed=0)
run = fa.train(fa.BinaryNetwork.random(data, 5, seed=0), data, fa.GradientDescent(steps=30))
json.dump({"pools": pools, "outputs": model.network_.outputs(x).ravel().tolist(), "upper": radii.upper.tolist(),
    "lower": radii.lower.tolist(), "found": found.labels.tolist(),
    "trained": run.final.outputs(data.x).ravel().tolist()}, sys.stdout)
"""


def test_one_and_two_threads_of_blas_give_the_same_numbers() -> None:
    one, two = (_numbers(threads) for threads in (1, 2))
    assert one.pop("pools") == [1]
    if os.cpu_count() != 1:
        assert two.pop("pools") == [2]
    for name, values in one.items():
        np.testing.assert_allclose(two[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


def _numbers(threads: int) -> dict[str, list[float]]:
    width = {f"{pool}_NUM_THREADS": str(threads) for pool in ("OMP", "OPENBLAS", "MKL")}
    told = subprocess.check_output([sys.executable, "-c", NUMBERS], text=True, env={**os.environ, **width})
    numbers: dict[str, list[float]] = json.loads(told)
    return numbers


@pytest.mark.parametrize("kind", ["two classes", "several classes"])
def test_radii_from_four_threads_at_once_are_those_of_one(kind: str) -> None:
    data = fa.sample_clusters(clusters=4, dim=40, samples=40, seed=0, coordinates="ambient")
    several = fa.MulticlassNetwork.random(data, 2, seed=0)
    network = fa.averaging_network(data) if kind == "two classes" else several
    labels = data.y if kind == "two classes" else several.predict(data.x)

    def radii(number: int) -> RadiusBracket:
        rows = slice(10 * number, 10 * number + 10)
        return fa.robust_radius(network, data.x[rows], labels[rows])

    alone = [radii(number) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(radii, range(4)))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(other.lower, one.lower)
        np.testing.assert_array_equal(other.upper, one.upper)
        np.testing.assert_array_equal(other.witness, one.witness)
