"""What the chapters on implicit bias are built from, against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featavg.experiments.implicit_bias.powers import Powers, attacked, farthest
from featavg.experiments.implicit_bias.simplicity import WRONG, slab_coordinate, slab_points
from featavg.model import Activation, BinaryNetwork

K, POSITIVE, DIM = 10, 6, 12
CENTERS, SIGNS = np.eye(DIM)[:K], np.repeat([1.0, -1.0], [POSITIVE, K - POSITIVE])
ROOTS = np.sqrt([POSITIVE, K - POSITIVE])
AVERAGES = np.stack([CENTERS[:POSITIVE].sum(axis=0), CENTERS[POSITIVE:].sum(axis=0)]) / ROOTS[:, None]
AVERAGE = Powers(AVERAGES, ROOTS * (1, -1), 1)  # F
CUBES = Powers(CENTERS, SIGNS, 3)  # F^(3)


@pytest.mark.parametrize(("function", "radius"), [(AVERAGE, K**-0.5), (CUBES, 0.5**0.5)])
def test_the_attacks_find_the_radius_of_both_candidates(function: Powers, radius: float) -> None:
    found = attacked(function, CENTERS, SIGNS.astype(int), CENTERS).upper
    assert_allclose(found, radius, rtol=2e-3)
    assert (found >= radius * (1 - 1e-9)).all()


def test_the_ascent_finds_the_largest_difference() -> None:
    starts = np.random.default_rng(0).standard_normal((50, DIM))
    starts /= np.linalg.norm(starts, axis=1, keepdims=True)
    at_average = np.sqrt(POSITIVE) - POSITIVE**-0.5  # at μ₊: √K₁ against K₁ · K₁^(−3/2)
    assert farthest(AVERAGE, CUBES, starts, 300) == pytest.approx(at_average, abs=2e-3)


def test_a_network_of_normalised_powers_is_a_sum_of_powers() -> None:
    rng = np.random.default_rng(1)
    weights, x = rng.standard_normal((5, DIM)), rng.standard_normal((7, DIM))
    network = BinaryNetwork(weights, np.zeros(5), rng.standard_normal((1, 5)), [0.0])
    network = replace(network, activation=Activation(power=3, normalized=True))
    function, step = Powers.of(network), 1e-6
    assert_allclose(function(x), network.outputs(x)[:, 0], rtol=1e-12)
    slopes = [(function(x + step * way) - function(x - step * way)) / (2 * step) for way in np.eye(DIM)]
    assert_allclose(function.slope(x), np.transpose(slopes), atol=1e-6)


@pytest.mark.parametrize(("slabs", "center", "outer"), [(5, 3 / 4, 0.0), (7, 1 / 2, 1 / 8)])
def test_slabs_are_as_likely_as_in_the_public_code(slabs: int, center: float, outer: float) -> None:
    positive = np.arange(40_000) % 2 == 0
    x = np.abs(slab_coordinate(positive, slabs, np.random.default_rng(0)))
    half = (2 - 0.2 * (slabs - 1)) / slabs / 2
    assert x.max() <= 1
    assert np.mean(x[~positive] <= half) == pytest.approx(center, abs=0.02)
    assert np.mean(x[positive] >= 1 - 2 * half) == pytest.approx(outer, abs=0.02)
    assert np.abs(np.subtract.outer(x[positive][:500], x[~positive][:500])).min() >= 0.2 - 1e-12


def test_the_linear_coordinate_is_wrong_only_where_it_should_be() -> None:
    for kind, share in (("LMS-5", 0.0), ("noisy LMS-5", WRONG)):
        x, positive = slab_points(kind, 3, 20_000, np.random.default_rng(0))
        assert np.mean((x[:, 0] > 0) != positive) == pytest.approx(share, abs=0.01)
        assert np.abs(x[:, 0]).min() >= 0.1
