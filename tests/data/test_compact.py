"""Compact coordinates change nothing: all that networks see is distributed as in the ambient space.

Two-sample Kolmogorov-Smirnov tests over independent draws, one number of each draw, at level 1e-4 each, which for
the ninety comparisons here is a false alarm in less than one of a hundred choices of the seeds. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

from featavg import BinaryNetwork, Dataset, GradientDescent, MulticlassNetwork, alignment, sample_clusters, train
from featavg.arrays import Array
from featavg.data import compact

DRAWS = 110
LEVEL = 1e-4
SETTINGS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "less noise, more signal": {"noise": 0.5, "signal": 2.0},
    "more noise": {"noise": 3.0, "signal": 0.7},
    "correlated centers": {"correlation": 0.4},
    "unequal norms, unbalanced": {"norms": [20.0, 40.0, 60.0, 80.0], "positive": 1},
}


def look(data: Dataset, seed: int) -> dict[str, float]:
    """One number of each kind from one sample, a network trained on it, and test points."""
    noise, other = data.noise, np.flatnonzero(data.cluster != data.cluster[0])
    same = np.flatnonzero(data.cluster == data.cluster[0])
    gram = data.x @ data.x.T
    network = BinaryNetwork.random(data, 2, seed=seed)
    fine = MulticlassNetwork.random(data, 1, seed=seed)
    rule = GradientDescent(steps=20)
    run, fine_run = train(network, data, rule, save_at=[]), train(fine, data, rule, save_at=[])
    cosines = alignment(run.final, data.centers)
    own = np.equal.outer(network.neuron_class, data.center_labels)
    test = data.resample(30, seed=seed + 10**6)
    margins = run.final.margins(test.x, test.y)
    return {
        "first noise": float(noise[0] @ noise[0]),
        "last noise": float(noise[-1] @ noise[-1]),
        "product of noises": float(noise[0] @ noise[-1]),
        "product in a cluster": float(gram[same[0], same[-1]]),
        "product across": float(gram[0, other[0]]),
        "largest eigenvalue": float(np.linalg.norm(gram, 2)),
        "first weight": float(network.weights[0] @ network.weights[0]),
        "last weight": float(fine.weights[-1] @ fine.weights[-1]),
        "product of weights": float(network.weights[0] @ network.weights[-1]),
        "weight on noise": float(network.weights[0] @ noise[-1]),
        "same-class cosine": float(cosines[own].mean()),
        "other-class cosine": float(cosines[~own].mean()),
        "fine cosine": float(np.diag(alignment(fine_run.final, data.centers)).mean()),
        "loss": float(run.log_losses[-1]),
        "fine loss": float(fine_run.log_losses[-1]),
        "mean margin": float(margins.mean()),
        "spread of margins": float(margins.std()),
        "least margin": float(margins.min()),
    }


def draws(setting: dict[str, Any], coordinates: Any, first_seed: int) -> dict[str, Array]:
    common: dict[str, Any] = {"clusters": 4, "samples": 60, "dim": 3072, "coordinates": coordinates}
    seen = [look(sample_clusters(**common, **setting, seed=s), s + 1) for s in range(first_seed, first_seed + DRAWS)]
    return {name: np.array([one[name] for one in seen]) for name in seen[0]}


@cache
def ambient_draws(name: str) -> dict[str, Array]:
    return draws(SETTINGS[name], "ambient", 5000)


def differing(left: dict[str, Array], right: dict[str, Array]) -> dict[str, float]:
    tests = {name: float(ks_2samp(left[name], right[name]).pvalue) for name in left}
    return {name: p for name, p in tests.items() if p < LEVEL}


@pytest.mark.parametrize("name", SETTINGS)
def test_compact_and_ambient_samples_are_alike(name: str) -> None:
    assert differing(draws(SETTINGS[name], "compact", 0), ambient_draws(name)) == {}


def _all_freedom(block: Array, freedom: int, rng: np.random.Generator) -> None:
    """The triangle with one degree of freedom too many for every row above."""
    for i, row in enumerate(block):
        row[:i] = rng.standard_normal(i)
        row[i] = np.sqrt(rng.chisquare(freedom))


def _square(block: Array, freedom: int, rng: np.random.Generator) -> None:
    """Right norms, but noises that do not see each other: no entries beside the diagonal."""
    block[:] = np.diag(np.sqrt(rng.chisquare(freedom, size=len(block))))


@pytest.mark.parametrize(("wrong", "telling"), [(_all_freedom, {"last noise"}), (_square, {"product of noises"})])
def test_a_wrong_triangle_is_found_out(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[..., None], telling: set[str]
) -> None:
    monkeypatch.setattr(compact, "_fill_triangle", wrong)
    assert telling & set(differing(draws({}, "compact", 0), ambient_draws("the paper's")))


def test_any_dimension_gives_the_same_cosines() -> None:
    """η·dim and σ_w·dim are held, so 10¹² axes look like 3072."""
    found = []
    for dim in (3072, 10**12):
        values = []
        for seed in range(3):
            data = sample_clusters(dim=dim, samples=500, seed=seed)
            assert data.x.shape == (500, 574)
            final = train(BinaryNetwork.random(data, seed=seed), data, save_at=[]).final
            own = np.equal.outer(final.neuron_class, data.center_labels)
            values.append(alignment(final, data.centers)[own].mean())
        found.append(np.mean(values))
    assert found[0] == pytest.approx(found[1], abs=0.006)
    assert found[0] == pytest.approx(0.44, abs=0.015)
