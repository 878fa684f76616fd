from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import featavg as fa
from featavg.deep import SmallCNN, as_torch, ask_deep, feature_directions, fit
from featavg.deep.recipe import Recipe
from featavg.errors import InputError
from featavg.robustness import (
    APGD,
    PGD,
    BoundaryWalk,
    GradientWalk,
    MinimalNorm,
    NewtonWalk,
    Transfer,
    UniversalDirection,
    attack_all,
    best_of,
    levelling,
    robust_accuracy,
    robust_radius,
)
from tests.deep.random_networks import random_network

READOUTS = ("sign", "argmax", "summed-probabilities", "maximum", "summed-logits")
RADII = (0.2, 0.5, 1.0, 2.0)
ATTACKS = [
    MinimalNorm(),
    PGD(radii=RADII, steps=40, restarts=0, shorten=False),
    APGD(radii=RADII, steps=40, shorten=False),
    BoundaryWalk(starts=1, steps=40),
    BoundaryWalk(starts=1, queries=5, steps=5),
    GradientWalk(steps=20, restarts=1),
    NewtonWalk(),
    UniversalDirection(),
]
NAMES = ["minimal", "pgd", "apgd", "walk", "queries", "gradient", "newton", "universal"]


@pytest.fixture(scope="module")
def asked(two_layer):
    """Exact radii without a box, and the same question to the same network in torch."""
    network, module, test = two_layer
    exact = robust_radius(network, test.x, test.cluster)
    return exact, ask_deep(module, test.x, test.cluster, box=None, precision="float64")


@pytest.fixture(scope="module")
def cnn(digits):
    """A small network on digits and a question about its parity of 60 of them."""
    (x, train), (test_x, test) = digits
    module = SmallCNN(10, shape=(1, 8, 8), hidden=32)
    fit(module, x, train.cluster, Recipe(epochs=3, batch_size=32, learning_rate=0.1))
    return module, ask_deep(
        module, test_x[:60], test.y[:60], readout="summed-probabilities", class_labels=train.center_labels
    )


def random_question(readout, norm, box, precision="float64"):
    rng = np.random.default_rng(3)
    network = random_network(1 if readout == "sign" else 4, seed=2)
    y = rng.integers(4, size=20) if readout == "argmax" else rng.choice([-1, 1], 20)
    labels = None if readout == "sign" else network.class_labels
    return ask_deep(
        as_torch(network), rng.uniform(0, 1, (20, 6)), y,
        readout=readout, class_labels=labels, norm=norm, box=box, precision=precision,
    )  # fmt: skip


# --- against the truth ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attack", ATTACKS, ids=NAMES)
def test_no_attack_is_below_the_exact_radius(asked, attack):
    exact, question = asked
    assert (attack.on(question).upper >= exact.lower * (1 - 1e-9)).all()


def test_the_minimal_norm_attack_comes_near_the_exact_radius(asked):
    exact, question = asked
    ratio = MinimalNorm().on(question).upper[exact.upper > 0] / exact.upper[exact.upper > 0]
    assert np.median(ratio) < 1.01
    assert np.quantile(ratio, 0.9) < 1.1


def test_the_minimal_norm_curve_is_never_above_pgd_by_more_than_a_point(asked, cnn):
    exact, question = asked
    radii = np.quantile(exact.upper, np.linspace(0.1, 0.95, 10))
    for one, sizes in ((question, radii), (cnn[1], np.linspace(0.1, 1.0, 10))):
        minimal, pgd = MinimalNorm().on(one), PGD(radii=sizes, steps=40, restarts=0, shorten=False).on(one)
        excess = robust_accuracy(minimal, sizes).upper - robust_accuracy(pgd, sizes).upper
        assert excess.max() <= 0.01


def test_the_walk_from_the_other_side_comes_near_too(asked):
    exact, question = asked
    ratio = BoundaryWalk(starts=2).on(question).upper / np.maximum(exact.upper, 1e-12)
    assert np.median(ratio[exact.upper > 0]) < 1.1


def test_a_linear_network_falls_at_its_distance_in_either_norm():
    weight = torch.tensor([[3.0, -4.0]])
    module = nn.Linear(2, 1)
    with torch.no_grad():
        module.weight.copy_(weight), module.bias.fill_(-1.0)
    for norm, dual in (("l2", 5.0), ("linf", 7.0)):
        question = ask_deep(module, [[2.0, 0.0]], [1], norm=norm, box=None, precision="float64")
        found = MinimalNorm().on(question)
        assert found.upper == pytest.approx(5.0 / dual, rel=1e-3)
        assert APGD(radii=[5.01 / dual]).on(question).upper <= 5.01 / dual
        assert PGD(radii=[5.01 / dual]).on(question).upper <= 5.01 / dual
        assert np.isinf(APGD(radii=[4.99 / dual]).on(question).upper)


# --- what every attack keeps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("attack", ATTACKS, ids=NAMES)
@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize(("norm", "precision"), [("l2", "float32"), ("linf", "float64")])
def test_witnesses_are_fooled_in_the_box_and_at_their_distance(attack, readout, norm, precision):
    found = attack.on(random_question(readout, norm, (0.0, 1.0), precision))
    assert found.verify().all()
    shown = np.isfinite(found.upper)
    assert found.witness[shown].min() >= 0
    assert found.witness[shown].max() <= 1
    assert np.array_equal(np.isnan(found.witness).all(axis=1), ~shown)
    assert not found.lower.any()
    assert set(found.status) == {"attack only"}
    wrong = found.question.fooled(found.question.x)
    assert np.array_equal(found.upper == 0, wrong)


@pytest.mark.parametrize("attack", [PGD(radii=RADII, restarts=1), APGD(radii=RADII, steps=30)], ids=["pgd", "apgd"])
def test_what_a_ball_attack_finds_lies_in_its_ball(attack):
    for norm in ("l2", "linf"):
        upper = attack.on(random_question("argmax", norm, (0.0, 1.0))).upper
        assert upper[np.isfinite(upper)].max() <= max(RADII)


def test_shortening_only_shortens():
    question = random_question("maximum", "l2", (0.0, 1.0))
    long, short = (PGD(radii=RADII, shorten=shorten).on(question).upper for shorten in (False, True))
    assert (short <= long).all()
    assert (short < long).any()


def test_attacks_repeat_and_more_starts_never_hurt():
    question = random_question("argmax", "l2", (0.0, 1.0))
    one, again, more = (MinimalNorm(restarts=count).on(question).upper for count in (0, 0, 2))
    assert np.array_equal(one, again)
    assert (more <= one).all()


# --- through a deep network -----------------------------------------------------------------------------------------


def test_the_best_of_all_is_the_smallest_point_by_point(cnn):
    _, question = cnn
    attacks = {"minimal": MinimalNorm(), "walk": BoundaryWalk(starts=1, steps=40), "direction": UniversalDirection()}
    found = attack_all(question, attacks)
    assert list(found) == ["minimal", "walk", "direction", "best"]
    assert np.array_equal(found["best"].upper, np.min([found[name].upper for name in attacks], axis=0))
    assert any(flag.startswith("best of: minimal") for flag in found["best"].flags)
    assert found["best"].verify().all()
    with pytest.raises(InputError, match="one or more named attacks"):
        attack_all(question, {})


def test_brackets_of_the_same_question_asked_twice_are_compared_and_of_another_network_refused():
    found, again = (MinimalNorm().on(random_question("argmax", "l2", (0.0, 1.0))) for _ in range(2))
    assert np.array_equal(best_of(found, again).upper, found.upper)
    question = random_question("argmax", "l2", (0.0, 1.0))
    with torch.no_grad():
        question.module[0].bias[0] += 1.0
    with pytest.raises(InputError, match="brackets of one question"):
        best_of(found, MinimalNorm().on(question))
    with pytest.raises(InputError, match="brackets of one question"):
        best_of(found, MinimalNorm().on(random_question("argmax", "linf", (0.0, 1.0))))


def test_transferred_perturbations_fool_and_are_searched_along_their_ray(cnn, digits):
    _, question = cnn
    (x, train), _ = digits
    other = fit(
        SmallCNN(10, shape=(1, 8, 8), hidden=32, seed=9), x, train.cluster, Recipe(epochs=1, batch_size=32)
    ).module
    theirs = ask_deep(other, question.x.reshape(-1, 1, 8, 8), question.y,
                      readout="summed-probabilities", class_labels=train.center_labels)  # fmt: skip
    source = MinimalNorm().on(theirs)
    found = Transfer(source=source).on(question)
    assert found.verify().all()
    assert np.isfinite(found.upper).mean() > 0.5
    # A network's own perturbations come back at their own length.
    own = MinimalNorm().on(question)
    assert Transfer(source=own).on(question).upper == pytest.approx(own.upper, rel=0.02)
    with pytest.raises(InputError, match="witnesses of the same points"):
        Transfer(source=MinimalNorm().on(random_question("argmax", "l2", None))).on(question)


def test_the_feature_direction_of_a_linear_feature_is_its_weight():
    class Linear(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(3, 1, bias=False), nn.Linear(1, 1, bias=False)
            with torch.no_grad():
                self.body.weight.copy_(torch.tensor([[2.0, -1.0, 2.0]])), self.head.weight.fill_(1.0)

        def features(self, x):
            return self.body(x)

        def forward(self, x):
            return self.head(self.features(x))

    x = np.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 0.5]])
    question = ask_deep(Linear(), x, [1, -1], box=None, precision="float64")
    directions = feature_directions(question)
    assert directions == pytest.approx(np.array([[-2, 1, -2], [2, -1, 2]]) / 3)
    found = UniversalDirection(direction=directions).on(question)
    assert found.upper == pytest.approx([3 / 3, 1 / 3], rel=1e-3)
    assert feature_directions(question, x[::-1].copy(), [-1, 1]) == pytest.approx(directions)
    # Linear as it is, its mean gradient is the same direction.
    assert UniversalDirection().on(question).upper == pytest.approx(found.upper)
    with pytest.raises(InputError, match="of others"):
        feature_directions(ask_deep(Linear(), x[:1], [1], box=None))
    with pytest.raises(InputError, match="a label for each of 2 images"):
        feature_directions(question, x, [1])


def test_the_batch_size_of_a_question_does_not_matter(cnn):
    _, question = cnn
    small = replace(question, batch=7)
    assert MinimalNorm().on(small).upper == pytest.approx(MinimalNorm().on(question).upper, rel=0.02)


# --- flags ----------------------------------------------------------------------------------------------------------


class Masked(nn.Module):
    """A linear decision hidden behind steps: its gradient is 0 everywhere."""

    def forward(self, x):
        return torch.round(20 * (x.mean(dim=1, keepdim=True) - 0.5)) + 0.5 + 0 * x.sum(dim=1, keepdim=True)


def test_masked_gradients_are_flagged_and_fall_to_the_walk_without_gradients():
    x = np.random.default_rng(0).uniform(0, 1, (20, 5))
    x[:, 0] = np.where(np.arange(20) % 2, 0.0, 1.0)
    y = np.where(Masked()(torch.from_numpy(x)).numpy()[:, 0] > 0, 1, -1)
    question = ask_deep(Masked(), x, y)
    for attack in (MinimalNorm(), PGD(radii=[0.5], restarts=0), APGD(radii=[0.5], steps=10, restarts=0)):
        found = attack.on(question)
        assert f"{attack.name}: zero gradient at 20 of 20 points" in found.flags
        assert np.isinf(found.upper).all()
    assert "minimal norm: curve levels off at 100 % of points" in MinimalNorm().on(question).flags
    walk = BoundaryWalk(queries=20).on(question)
    assert np.isfinite(walk.upper).all()
    assert not walk.flags


def test_a_dead_network_is_a_tie_everywhere():
    dead = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))
    with torch.no_grad():
        dead[0].bias.fill_(-100.0)
    found = MinimalNorm().on(ask_deep(dead, np.full((2, 3), 0.5), [0, 1]))
    assert not found.upper.any()


def test_a_random_network_is_flagged():
    class Noisy(nn.Module):
        def forward(self, x):
            return x + 0.1 * torch.rand_like(x)

    found = MinimalNorm(steps=2).on(ask_deep(Noisy(), [[0.9, 0.1]], [0]))
    assert any("random network: margins of two passes differ" in flag for flag in found.flags)
    assert not any(
        "random" in flag for flag in MinimalNorm(steps=2).on(ask_deep(nn.Linear(2, 2), [[0.9, 0.1]], [0])).flags
    )


def test_a_curve_that_levels_off_is_flagged():
    half = np.concatenate([np.linspace(0.01, 0.9, 60), np.full(40, np.inf)])
    assert levelling(half, reach=2.0) == ("curve levels off at 40 % of points",)
    assert levelling(half) == ("curve levels off at 40 % of points",)
    assert levelling(half, reach=1.0) == ()  # still falling where it ends
    assert levelling(np.linspace(0.01, 0.9, 60)) == ()
    assert levelling(np.full(9, np.inf), reach=1e-3) == ()  # too small a radius says nothing


def test_a_point_without_a_start_on_the_other_side_is_flagged():
    question = ask_deep(nn.Linear(1, 1), [[0.5]], [1])
    question.module.weight.fill_(1.0), question.module.bias.zero_()
    assert "boundary walk: no fooled start at 1 of 1 points" in BoundaryWalk().on(question).flags
    assert np.isfinite(BoundaryWalk(start=[[0.0]]).on(question).upper).all()


@pytest.mark.parametrize(
    "build",
    [lambda: MinimalNorm(steps=0), lambda: PGD(radii=[]), lambda: PGD(radii=[-1.0]), lambda: BoundaryWalk(starts=0)],
)
def test_attacks_that_make_no_sense_are_refused(build):
    with pytest.raises(InputError):
        build()


def test_robust_accuracy_reads_a_deep_bracket(cnn):
    found = MinimalNorm(steps=30).on(cnn[1])
    curve = fa.robust_curve(found)
    assert curve.upper[-1] == 0
    assert robust_accuracy(found, [0.0]).upper == pytest.approx(np.mean(found.upper > 0))
