"""The margin of a decision, its gradient, and the first fooled point along a ray."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from featavg.robustness.attacks import GradientWalk, UniversalDirection, field_of
from featavg.robustness.attacks.contest import contest_of
from featavg.robustness.question import ask
from tests.robustness.questions import ATTACKS, READOUTS, random_question

# --- the margin of the decision -------------------------------------------------------------------------------------


@pytest.mark.parametrize("readout", READOUTS)
def test_the_contest_has_the_margins_of_the_question(readout):
    question = random_question(np.random.default_rng(0), readout)
    points = question.x + 1.0
    contest = contest_of(question)
    votes = contest.votes(np.maximum(question.network.preactivations(points), 0))
    assert contest.margins(votes) == pytest.approx(question.margins(points), abs=1e-12)


def test_a_rival_makes_the_contest_one_against_one():
    question = random_question(np.random.default_rng(1), "argmax")
    question = replace(question, rival=(question.y + 1) % 5)
    field = field_of(question)
    assert field.margins(field.at_rest) == pytest.approx(question.margins(question.x), abs=1e-12)
    for attack in ATTACKS:
        found = attack.on(question)
        hit = np.isfinite(found.upper)
        assert question.fooled(np.where(hit[:, None], found.witness, question.x))[hit].all()


@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("readout", READOUTS)
def test_gradients_are_finite_differences(readout, norm):
    question = random_question(np.random.default_rng(2), readout, norm)
    field = field_of(question)
    delta = np.random.default_rng(3).standard_normal(field.at_rest.shape)
    _, gradient = field.gradients(delta)
    for i in range(len(field)):
        one = field.take(np.array([i]))
        numeric = approx_fprime(delta[i], lambda d, one=one: one.margins(d[None])[0], 1e-7)
        assert gradient[i] == pytest.approx(numeric, abs=1e-5)


def test_a_neuron_at_zero_counts_as_active():
    field = field_of(ask(([[2.0]], [0.0], [[1.0]], [1.0]), [[0.0]], [1]))
    assert np.abs(field.gradients(field.at_rest)[1]).tolist() == [[2.0]]


# --- the exact ray --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("readout", READOUTS)
def test_rays_find_the_first_fooled_point_of_a_dense_sample(readout):
    rng = np.random.default_rng(4)
    for _ in range(2):
        question = random_question(rng, readout, samples=80)
        field = field_of(question)
        direction = rng.standard_normal(field.at_rest.shape)
        found = field.first_along(direction)
        time = np.nan_to_num(found[:, 0] / direction[:, 0], nan=np.inf)
        times = np.linspace(0, 10, 2001)
        hits = np.stack([field.fooled(t * direction) for t in times])
        dense = np.where(hits.any(axis=0), times[hits.argmax(axis=0)], np.inf)
        seen = np.isfinite(dense)
        # Never later than the sample, and earlier by more than a step only if the sample stepped over a thin set.
        assert np.all(time <= dense + 1e-9)
        assert np.mean(time[seen] > dense[seen] - 0.005 - 1e-9) > 0.95
        inside = np.isfinite(time)
        reached = field.fooled(np.where(inside[:, None], found * (1 + 1e-9), 0.0))
        assert reached[inside].all()
        for share in (0.25, 0.5, 0.9, 1 - 1e-6):
            early = field.margins(np.where(inside[:, None], share * found, 0.0))
            assert np.all(early[inside & (time > 0)] > 0)


def test_a_ray_into_a_dead_zone_ends_in_a_tie_and_says_so():
    found = GradientWalk()(([[0.3, 0.1]], [0.0], [[0.7]], [0.0]), [[1.0, 1.0]], [1])
    assert found.upper[0] == pytest.approx(0.4 / np.hypot(0.3, 0.1), rel=1e-5)
    assert "gradient walk: ended in a tie at 1 of 1 points" in found.flags


def test_a_network_that_dies_out_neuron_by_neuron_is_tied_at_the_last_one():
    # The votes left over are rounding, 1e-17 instead of 0, and of either sign.
    rng = np.random.default_rng(14)
    for _ in range(100):
        weights, at = rng.random((4, 1)) + 0.1, rng.random(4)
        model = (weights, -weights[:, 0] * at, rng.random((1, 4)), [0.0])
        field = field_of(ask(model, [[2.0]], [1]))
        out = field.coordinates(np.array([[-1.0]]))
        assert np.abs(field.first_along(out)[0, 0]) == pytest.approx(2.0 - at.min(), rel=1e-9)


def test_wide_networks_are_searched_in_blocks(monkeypatch):
    question = random_question(np.random.default_rng(5), "argmax", samples=30)
    whole = UniversalDirection().on(question).upper
    monkeypatch.setattr("featavg.robustness.attacks.rays.BLOCK", 100)
    assert UniversalDirection().on(question).upper.tolist() == whole.tolist()
