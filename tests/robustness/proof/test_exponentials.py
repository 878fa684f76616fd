"""The rule of the exponentials: below every value, sharp, no more than the truth, as much as rationals, audited."""

from __future__ import annotations

import numpy as np
import pytest

from featavg.robustness.proof import Decision, Neurons, Problem, Proofs, check
from featavg.robustness.proof.audit import audit
from featavg.robustness.proof.exponentials import exponential_offset
from tests.robustness.proof.problems import outputs_at, radius_on_rays
from tests.robustness.proof.provers import Cut, branched, curved, proofs_of
from tests.robustness.proof.twin import twin_lower

GROUPS = np.array([0, 0, 1, 1, 1])


def test_it_is_below_all_values_and_next_to_the_least() -> None:
    rng = np.random.default_rng(0)
    for _ in range(3000):
        slope, theta, middle, level = rng.normal(size=4) * [1.0, 2.0, 2.0, 2.0]
        bend, power = rng.exponential(1.0) * rng.choice([0.0, 0.01, 1.0, 30.0]), rng.exponential(1.0) + 0.01
        low, high = np.sort(rng.normal(size=2)) * rng.choice([0.01, 1.0, 4.0]) + rng.choice([-2.0, 0.0, 1.0])
        z = np.append(np.linspace(low, high, 4001), np.clip(0.0, low, high))
        on = np.maximum(z, 0.0)
        values = slope * on - theta * z + bend * (z - middle) ** 2 - np.exp(power * on + level)
        least = exponential_offset(slope, theta, bend, middle, power, level, low, high)
        # Between two of the points a curve may dip by (step²/8)·F''.
        dip = (high - low) ** 2 / 4000**2 / 4 * (bend + power**2 * np.exp(power * max(high, 0.0) + level))
        assert least <= values.min()
        assert least >= values.min() - dip - 1e-9 * (1.0 + np.abs(values).max())


def test_what_is_beyond_floats_proves_nothing() -> None:
    for power, level, high in ((1.0, 0.0, 800.0), (1.0, 0.0, np.inf), (1e308, 0.0, 10.0), (1.0, np.nan, 1.0)):
        assert exponential_offset(0.0, 0.0, 1.0, 0.0, power, level, -1.0, high) == -np.inf


def alone_problem(rng: np.random.Generator, norm: str = "l2", box: str = "none") -> Problem:
    """Three outputs of the rival with a neuron each, which the own outputs may use as well."""
    weights, second = rng.normal(size=(5, 2)), np.zeros((5, 5))
    second[:2] = np.abs(rng.normal(size=(2, 5))) * (rng.random((2, 5)) < 0.5)
    second[np.arange(2, 5), rng.permutation(5)[:3]] = rng.exponential(1.0, 3) + 0.2
    layer = Neurons(weights, rng.normal(size=5), second, rng.normal(size=5))
    x = rng.normal(size=(2, 2))
    problem = Problem(layer, x, np.zeros(2, dtype=np.int64), Decision("probabilities", GROUPS), norm)
    f = outputs_at(problem, x)
    labels = (np.logaddexp.reduce(f[:, :2], axis=1) < np.logaddexp.reduce(f[:, 2:], axis=1)).astype(np.int64)
    # The rule is about the second group as the rival.
    constants = layer.constants + np.where(GROUPS == 0, np.where(labels.any(), 6.0, 0.0), 0.0)
    problem = problem._replace(neurons=layer._replace(constants=constants))
    if box == "none":
        return problem
    return problem._replace(low=x.min(axis=0) - rng.uniform(0, 1, 2), high=np.array([np.inf, x[:, 1].max() + 0.5]))


def alone_proofs(problem: Problem, rng: np.random.Generator, reach: float) -> Proofs:
    """Tangents at random points nearby, some with other numbers, on trees of random depth."""
    trees = []
    for point in range(len(problem.x)):

        def cuts(pattern: np.ndarray, leaf: bool, point: int = point) -> list[Cut]:
            return [alone_cut(problem, point, reach, rng) for _ in range(rng.integers(1, 4))]

        trees.append((point, 1, branched(5, cuts, rng.permutation(5), int(rng.integers(0, 4)))))
    return proofs_of(trees)


def alone_cut(problem: Problem, point: int, reach: float, rng: np.random.Generator) -> Cut:
    at = problem.x[point] + rng.normal(size=2) * reach * 0.5
    f, z = outputs_at(problem, at[None])[0], problem.neurons.weights @ at + problem.neurons.biases
    p, q = (np.exp(side - np.logaddexp.reduce(side)) for side in (f[:2], f[2:]))
    level = np.logaddexp.reduce(f[2:]) + rng.normal() * rng.choice([0.0, 0.3])
    factors = np.concatenate([p, -np.exp(f[2:] - level)])
    theta = (factors @ problem.neurons.outputs) * (z > 0) * rng.choice([1.0, rng.uniform(0.5, 1.5)])
    return Cut(reach, np.concatenate([p, q, [level]]), theta, float(rng.choice([0.0, rng.exponential()])))


@pytest.mark.parametrize(("norm", "box"), [("l2", "none"), ("l2", "both"), ("linf", "none"), ("linf", "both")])
def test_it_proves_no_more_than_the_truth_and_as_much_as_rationals_do(norm: str, box: str) -> None:
    proved = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 9])
        problem = alone_problem(rng, norm, box)
        truth = np.array([radius_on_rays(problem, point) for point in range(2)])
        reach = 1.001 * float(np.min(np.where(np.isfinite(truth) & (truth > 0), truth, 3.0))) + 0.01
        plain = alone_proofs(problem, rng, reach)
        for proofs in (plain, curved(problem, plain, rng)):
            lower, fast = check(problem, proofs), check(problem, proofs, np.zeros(2))
            assert (np.maximum(lower, fast) <= truth * (1 + 1e-12)).all()
            # In ℓ∞ the rationals look at every multiplier of a cap, the checker stops where little can be missing.
            exact = twin_lower(problem, proofs)
            assert (lower <= exact * (1 + 1e-7) + 1e-9).all()
            np.testing.assert_allclose(lower, exact, rtol=1e-7 if norm == "l2" else 1e-2, atol=1e-9)
            np.testing.assert_allclose(fast, lower, rtol=1e-7, atol=1e-9)
            assert (audit(problem, proofs) >= np.maximum(lower, fast) * (1 - 1e-12)).all()
            proved += int((lower > 0).sum())
    assert proved >= 8


def test_outputs_with_several_neurons_are_refused() -> None:
    rng = np.random.default_rng(0)
    problem = alone_problem(rng)
    proofs = alone_proofs(problem, rng, 0.1)
    assert (check(problem, proofs) > 0).any()
    for changed in (second_neuron, shared_neuron, falling_neuron):
        outputs = problem.neurons.outputs.copy()
        changed(outputs)
        other = problem._replace(neurons=problem.neurons._replace(outputs=outputs))
        assert (check(other, proofs) == 0).all()
        assert (audit(other, proofs) == 0).all()


def second_neuron(outputs: np.ndarray) -> None:
    outputs[2] = np.abs(outputs[2]) + 0.1


def shared_neuron(outputs: np.ndarray) -> None:
    outputs[2] = outputs[3]


def falling_neuron(outputs: np.ndarray) -> None:
    outputs[2] = -outputs[2]
