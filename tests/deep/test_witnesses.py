"""Witnesses of linear modules, where the nearest fooled point is a formula: rounding robs no attack of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from featavg.deep import ask_deep
from featavg.robustness import APGD, PGD, BoundaryWalk, GradientWalk, MinimalNorm, NewtonWalk
from featavg.robustness.attacks import field_of, witnesses
from featavg.robustness.attacks.minimal import shrink, step_over

NORMS = ("l2", "linf")


def linear(weight, bias):
    module = nn.Linear(len(weight), 1)
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(weight)[None]), module.bias.fill_(float(bias))
    return module


def random_problem(seed, whole_numbers=False):
    """Weight, bias and points in float32, of scales 1e-3 ... 1e3; whole numbers lie on their boundary or near it."""
    rng = np.random.default_rng(seed)
    dim, count = int(rng.choice([1, 2, 3, 7, 64, 300, 2000])), int(rng.choice([1, 2, 17, 60]))
    large, wide = 10.0 ** rng.uniform(-3, 3, 2)
    weight, x = large * rng.standard_normal(dim), wide * rng.standard_normal((count, dim))
    bias = large * wide * rng.standard_normal()
    if whole_numbers:
        weight, x, bias = rng.integers(1, 9, dim), rng.integers(-8, 9, (count, dim)) / 2, rng.integers(-3, 4)
    return np.float32(weight), np.float32(bias), np.float32(x)


def outputs_in_float64(weight, bias, points):
    return points.astype(np.float64) @ weight.astype(np.float64) + float(bias)


def dual_norm(weight, norm):
    return np.linalg.norm(weight.astype(np.float64), ord=2 if norm == "l2" else 1)


def rounding_of(x, radius, norm):
    """How far float32 lets a point lie from where it should: a few units of the length of the point."""
    lengths = np.linalg.norm(x.astype(np.float64), ord=2 if norm == "l2" else np.inf, axis=1)
    return 16 * np.finfo(np.float32).eps * (lengths + radius)


def asked(weight, bias, x, norm, box=None, batch=250):
    f = outputs_in_float64(weight, bias, x)
    return ask_deep(linear(weight, bias), x, np.where(f > 0, 1, -1), norm=norm, box=box, batch=batch), np.abs(f)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("whole_numbers", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_radius_of_a_linear_module_is_its_formula_to_the_accuracy_of_float32(
    seed, whole_numbers, norm, monkeypatch
):
    weight, bias, x = random_problem(seed, whole_numbers)
    question, margins = asked(weight, bias, x, norm)
    radius = margins / dual_norm(weight, norm)
    found = MinimalNorm(steps=2 if seed % 3 == 0 else 60).on(question)
    assert np.isfinite(found.upper).all()
    assert found.verify().all()
    assert (np.abs(found.upper - radius) <= 1e-5 * radius + rounding_of(x, radius, norm)).all()
    # Fooled in other batches, without oneDNN, and in exact arithmetic.
    for batch in (1, 3, 16):
        assert replace(question, batch=batch).fooled(found.witness).all()
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    assert question.fooled(found.witness).all()
    assert (outputs_in_float64(weight, bias, found.witness) * question.y <= 0).all()


@pytest.mark.parametrize("norm", NORMS)
def test_steps_do_not_stall_just_before_a_straight_boundary(norm):
    for seed in range(12):
        field = field_of(asked(*random_problem(seed), norm)[0])
        best, _ = shrink(field, field.at_rest, field.nothing, 60)
        assert best.dtype == np.float32
        assert np.isfinite(best).all(), seed


def nearest_in_box(weight, bias, point, norm, box):
    """Distance to the boundary inside the box, by bisection on the clipped ray, in float64; ∞ if it is not met."""
    weight, point = weight.astype(np.float64), point.astype(np.float64)
    sign = np.sign(point @ weight + float(bias))
    ray = -sign * (weight if norm == "l2" else np.sign(weight))
    low, high = 0.0, 2.0 * (box[1] - box[0]) / np.abs(ray[ray != 0]).min()

    def at(t):
        return np.clip(point + t * ray, *box)

    if sign * (at(high) @ weight + float(bias)) > 0:
        return np.inf
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sign * (at(middle) @ weight + float(bias)) > 0 else (low, middle)
    return np.linalg.norm(at(high) - point, ord=2 if norm == "l2" else np.inf)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(8))
def test_a_linear_module_in_a_box_falls_wherever_it_can(seed, norm):
    rng = np.random.default_rng(seed)
    dim, box = int(rng.choice([1, 2, 5, 64, 500])), (0.0, 1.0)
    weight, x = np.float32(rng.standard_normal(dim) * 10.0 ** rng.uniform(-3, 3)), np.float32(rng.random((30, dim)))
    bias = np.float32(-x.mean(axis=0) @ weight)
    question, _ = asked(weight, bias, x, norm, box)
    radius = np.array([nearest_in_box(weight, bias, point, norm, box) for point in x])
    slack = rounding_of(x, np.where(np.isfinite(radius), radius, 0), norm)
    for upper, accuracy in ((MinimalNorm().on(question).upper, 2e-3), (ray_radii(question), 1e-5)):
        assert np.array_equal(np.isfinite(upper), np.isfinite(radius))
        near = np.isfinite(radius)
        assert (upper[near] >= radius[near] - slack[near]).all()
        assert (upper[near] <= radius[near] * (1 + accuracy) + slack[near]).all()


def ray_radii(question):
    delta = step_over(field_of(question)).astype(np.float64)
    return np.nan_to_num(np.linalg.norm(delta, ord=2 if question.norm == "l2" else np.inf, axis=1), nan=np.inf)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(6))
def test_all_attacks_bring_a_witness_of_a_linear_module(seed, norm):
    weight, bias, x = random_problem(seed, whole_numbers=seed % 2 == 0)
    question, margins = asked(weight, bias, x, norm)
    radii = np.unique(1.001 * margins[margins > 0] / dual_norm(weight, norm))
    beyond = x - 2 * np.outer(question.y * margins / dual_norm(weight, "l2") ** 2 + question.y * 1e-3, weight)
    attacks = [
        PGD(radii=radii[-1:], shorten=True),
        APGD(radii=radii[-1:], steps=40, shorten=True),
        BoundaryWalk(start=np.float32(beyond), starts=1, steps=5),
        GradientWalk(restarts=0),
        NewtonWalk(),
    ]
    for attack in attacks:
        found = attack.on(question)
        assert np.isfinite(found.upper).all(), attack.name
        assert found.verify().all()
        for batch in (1, 3):
            assert replace(question, batch=batch).fooled(found.witness).all()


def test_without_the_push_rounding_takes_witnesses_back(monkeypatch):
    """What the push is for: of these problems some witnesses fool in no arithmetic but that of the search."""

    def lost():
        count = 0
        for seed in range(12):
            weight, bias, x = random_problem(seed)
            found = MinimalNorm().on(asked(weight, bias, x, "linf")[0])
            sure = outputs_in_float64(weight, bias, np.nan_to_num(found.witness)) * found.question.y <= 0
            count += int((~np.isfinite(found.upper) | ~sure).sum())
        return count

    assert lost() == 0
    monkeypatch.setattr(witnesses, "PUSHES", 0)
    assert lost() > 0


def test_a_push_stays_within_the_reach_of_its_attack():
    question, margins = asked(np.float32([3.0, -4.0]), np.float32(-1.0), np.float32([[2.0, 0.0]]), "l2")
    on_the_boundary = np.float32([[2.0, 0.0]]) - margins[:, None] * np.float32([[3.0, -4.0]]) / 25
    field, delta = field_of(question), np.float32(on_the_boundary - question.x)
    pushed = witnesses.push_over(field, delta)
    assert field.norm.length(pushed) > field.norm.length(delta)
    assert np.array_equal(witnesses.push_over(field, delta, reach=0.5), delta)
    assert np.isnan(witnesses.push_over(field, field.nothing)).all()
