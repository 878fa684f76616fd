"""What every norm promises to searches, attacks and bounds, in both precisions."""

import numpy as np
import pytest

from featavg.errors import InputError
from featavg.robustness.norms import NORMS, norm_of

ORDERS = {"l2": (2, 2), "linf": (np.inf, 1)}  # NumPy's names of the norm and of its dual


@pytest.fixture(params=tuple(NORMS))
def norm(request):
    return norm_of(request.param)


@pytest.mark.parametrize("name", ORDERS)
def test_lengths_and_dual_lengths_are_numpys(name):
    delta = np.random.default_rng(0).standard_normal((50, 7))
    own, dual = ORDERS[name]
    assert norm_of(name).length(delta) == pytest.approx(np.linalg.norm(delta, ord=own, axis=1))
    assert norm_of(name).dual(delta) == pytest.approx(np.linalg.norm(delta, ord=dual, axis=1))


def test_the_steepest_step_reaches_the_dual_norm_and_nothing_passes_it(norm):
    g, delta = np.random.default_rng(12).standard_normal((2, 50, 4))
    step = norm.steepest(g)
    assert norm.length(step) == pytest.approx(np.ones(50))
    assert (g * step).sum(axis=1) == pytest.approx(norm.dual(g))
    assert np.all((g * delta).sum(axis=1) <= norm.dual(g) * norm.length(delta) + 1e-12)
    assert norm.steepest(np.zeros((1, 4))).tolist() == [[0.0] * 4]


def test_projections_are_inside_nearest_and_leave_the_inside_alone(norm):
    rng = np.random.default_rng(13)
    delta, radius = rng.standard_normal((50, 4)), rng.uniform(0.1, 1.0, 50)
    near = norm.project(delta, radius)
    assert np.all(norm.length(near) <= radius * (1 + 1e-12))
    assert np.array_equal(norm.project(near * 0.9, radius), near * 0.9)
    assert norm.project(delta, 0.5) == pytest.approx(norm.project(delta, np.full(50, 0.5)))
    # No point of the ball is nearer in ℓ2: ⟨δ − near, other − near⟩ <= 0 for all of them.
    others = norm.random(rng, (50, 4), radius)
    assert ((delta - near) * (others - near)).sum(axis=1).max() <= 1e-12
    assert norm.project(np.zeros((1, 4)), 0.5).tolist() == [[0.0] * 4]


def test_random_points_fill_the_ball_evenly(norm):
    drawn = norm.random(np.random.default_rng(14), (2000, 2), 3.0)
    assert 2.9 < norm.length(drawn).max() <= 3.0
    assert np.mean(norm.length(drawn) <= 1.5) == pytest.approx(0.25, abs=0.04)  # (1/2)², 4 standard errors


def test_the_foot_of_a_plane_lies_on_it_at_its_distance(norm):
    rng = np.random.default_rng(15)
    g, height = rng.standard_normal((50, 4)), rng.standard_normal(50)
    foot = norm.foot(g, height)
    assert (g * foot).sum(axis=1) == pytest.approx(-height)
    assert norm.length(foot) == pytest.approx(np.abs(height) / norm.dual(g))
    assert not norm.foot(np.zeros((2, 4)), height[:2]).any()


def test_single_precision_stays_single_and_never_overflows(norm):
    rng = np.random.default_rng(16)
    delta = np.float32(10.0 ** rng.uniform(-18, 18, (20, 3)))
    for found in (
        norm.length(delta), norm.dual(delta), norm.steepest(delta), norm.project(delta, 0.1),
        norm.project(delta, np.full(20, 1e6, dtype=np.float32)), norm.foot(delta, delta[:, 0]),
    ):  # fmt: skip
        assert found.dtype == np.float32
        assert np.isfinite(found).all()


def test_an_unknown_norm_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"norm must be l2 or linf.*, got 'l7'"):
        norm_of("l7")
