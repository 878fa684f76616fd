"""One margin protocol: a two-layer network attacked through it alone, and through its own exact field."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from featavg.robustness.attacks import APGD, Field, GradientWalk, MinimalNorm, NewtonWalk, Transfer, field_of
from featavg.robustness.attacks.base import Attack
from featavg.robustness.bracket import RadiusBracket
from featavg.robustness.question import ask
from tests.robustness.questions import ATTACKS, READOUTS, random_question

# Not the universal direction: of a network that is known by its slopes alone it is another one.
FAMILY = [*ATTACKS[1:], MinimalNorm(steps=40), APGD(radii=[1.0, 3.0], steps=20), NewtonWalk()]
NAMES = [attack.name for attack in FAMILY]
BOXES = (None, (-1.0, 1.5))


def plainly(attack: Attack, question, monkeypatch) -> RadiusBracket:
    """The attack with margins and slopes of the question alone."""
    with monkeypatch.context() as patch:
        patch.setattr("featavg.robustness.attacks.base.field_of", lambda asked: Field(asked, np.arange(len(asked.x))))
        return attack.on(question)


@pytest.mark.parametrize("readout", READOUTS)
def test_the_slopes_of_a_question_are_finite_differences(readout):
    question = random_question(np.random.default_rng(0), readout)
    points = question.x + 0.3
    margins, slopes = question.slopes(points)
    assert margins == pytest.approx(question.margins(points))
    for i in range(len(points)):
        one = question.part(np.array([i]))
        numeric = approx_fprime(points[i], lambda point, one=one: one.margins(point[None])[0], 1e-7)
        assert slopes[i] == pytest.approx(numeric, abs=1e-5)


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("readout", READOUTS)
def test_both_fields_have_the_same_margins_gradients_and_boundary(readout, norm, box):
    rng = np.random.default_rng(1)
    question = random_question(rng, readout, norm, box, samples=30)
    exact, plain = field_of(question), Field(question, np.arange(30))
    delta = exact.inside(0.3 * rng.standard_normal(exact.at_rest.shape))
    ambient = exact.points(delta) - question.x
    (margins, gradients), (plain_margins, slopes) = exact.gradients(delta), plain.gradients(ambient)
    assert plain_margins == pytest.approx(margins)
    assert exact.coordinates(slopes) == pytest.approx(gradients)
    assert plain.norm.dual(slopes) == pytest.approx(exact.norm.dual(gradients))
    # A bisected ray is the exact one wherever the segment crosses the boundary once.
    end = plain.first_along(ambient, halvings=40)
    first = exact.first_along(delta)
    assert np.all(exact.lengths(first) <= plain.lengths(end) + 1e-9)


@pytest.mark.parametrize("attack", FAMILY, ids=NAMES)
@pytest.mark.parametrize("box", BOXES)
def test_every_attack_works_through_margins_and_slopes_alone(attack, box, monkeypatch):
    question = random_question(np.random.default_rng(2), "argmax", "l2", box, samples=30)
    exact, plain = attack.on(question), plainly(attack, question, monkeypatch)
    assert exact.verify().all()
    assert plain.verify().all()
    both = np.isfinite(exact.upper) & np.isfinite(plain.upper) & (exact.upper > 0)
    assert both.sum() >= 0.6 * (exact.upper > 0).sum()
    assert np.median(plain.upper[both] / exact.upper[both]) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_the_minimal_norm_attack_comes_near_the_truth_of_two_layers(norm):
    question = random_question(np.random.default_rng(3), "sign", norm, samples=60)
    minimal, walk = MinimalNorm().on(question).upper, GradientWalk().on(question).upper
    right = np.isfinite(walk) & (walk > 0)
    assert np.median(minimal[right] / walk[right]) < 1.01
    assert np.isfinite(minimal[right]).all()


def test_witnesses_of_one_network_are_tried_on_another():
    x = np.random.default_rng(6).standard_normal((20, 4))
    networks = [random_question(np.random.default_rng(seed), "sign").network for seed in (4, 5)]
    one, other = (ask(network, x, network.predict(x)) for network in networks)
    source = MinimalNorm().on(one)
    found = Transfer(source=source).on(other)
    assert found.verify().all()
    hit = np.isfinite(found.upper) & (found.upper > 0)
    assert hit.any()
    ray, way = (source.witness - one.x)[hit], (found.witness - one.x)[hit]
    # What no neuron of the other network sees is left out of its witness; four axes and seven neurons leave nothing.
    cosine = (ray * way).sum(axis=1) / np.linalg.norm(ray, axis=1) / np.linalg.norm(way, axis=1)
    assert cosine == pytest.approx(1.0)
    own = Transfer(source=source).on(one)
    assert np.all(own.upper <= source.upper * (1 + 1e-9))
