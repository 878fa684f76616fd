"""Newton's walk: an upper bound like every attack, never worse than a gradient walk, and at right angles."""

from __future__ import annotations

import numpy as np
import pytest

from featavg import InputError
from featavg.model import MulticlassNetwork
from featavg.robustness import Budget, robust_radius
from featavg.robustness.attacks import GradientWalk, NewtonWalk


def bent(seed: int, each: int = 6) -> tuple[MulticlassNetwork, np.ndarray, np.ndarray]:
    """Prototypes that are all on, so that the boundary of summed probabilities is smooth and bent."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([1, -1], each)
    network = MulticlassNetwork(
        2 * rng.standard_normal((2 * each, 3)), np.full(2 * each, 40.0), np.eye(2 * each), np.zeros(2 * each), labels
    )
    x = rng.standard_normal((20, 3))
    return network, x, np.where(network.score(x, "summed-probabilities") >= 0, 1, -1)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_never_worse_than_a_gradient_walk_and_never_below_the_truth(seed: int) -> None:
    network, x, y = bent(seed)
    newton = NewtonWalk()(network, x, y, readout="summed-probabilities")
    gradient = GradientWalk(restarts=0, steps=20)(network, x, y, readout="summed-probabilities")
    truth = robust_radius(network, x, y, readout="summed-probabilities", budget=Budget(seconds=0.3))
    assert newton.verify().all()
    assert (newton.upper <= gradient.upper).all()
    assert newton.upper.mean() < 0.99 * gradient.upper.mean()
    assert (newton.upper >= truth.lower).all()
    assert np.median(newton.upper / truth.upper) < 1.01


def test_its_end_is_perpendicular_to_the_boundary() -> None:
    network, x, y = bent(0)
    found = NewtonWalk()(network, x, y, readout="summed-probabilities")
    delta = found.witness - x
    small = 1e-5
    slope = np.stack(
        [
            (network.score(found.witness + small * e, "summed-probabilities")
             - network.score(found.witness - small * e, "summed-probabilities")) / (2 * small)
            for e in np.eye(3)
        ],
        axis=1,
    )  # fmt: skip
    cosine = -y * (slope * delta).sum(axis=1) / np.linalg.norm(slope, axis=1) / np.linalg.norm(delta, axis=1)
    assert np.median(cosine) > 0.9999


def test_steps_are_at_least_one() -> None:
    with pytest.raises(InputError, match="steps >= 1, got 0"):
        NewtonWalk(steps=0)
