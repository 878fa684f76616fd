"""The two networks: what they compute, how they read out, and what they refuse."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from featavg import BinaryNetwork, InputError, MulticlassNetwork, Points, sample_clusters
from featavg.model import GROUPED, RELU, Activation, Grouped, Groups, Layer, Network, as_relus, same_network

X = np.random.default_rng(0).standard_normal((20, 6))


@pytest.fixture
def binary() -> Network:
    rng = np.random.default_rng(1)
    return BinaryNetwork(rng.standard_normal((4, 6)), rng.standard_normal(4), [[1.0, -2.0, 0.5, -1.0]], [0.3])  # type: ignore[arg-type]


@pytest.fixture
def multi() -> Network:
    # A seed at which no point has all neurons off: outputs would tie there, where margins have no slope.
    labels, rng = np.array([1, -1, -1]), np.random.default_rng(8)
    return MulticlassNetwork(
        rng.standard_normal((5, 6)), np.zeros(5), rng.standard_normal((3, 5)), np.zeros(3), class_labels=labels
    )


def test_one_output_is_the_sum_over_neurons(binary: Network) -> None:
    for x, score in zip(X, binary.score(X), strict=True):
        terms = [
            a * max(float(w @ x) + b, 0.0)
            for a, w, b in zip(binary.second[0], binary.weights, binary.biases, strict=True)
        ]
        assert score == pytest.approx(sum(terms) + 0.3, rel=1e-12)
    y = np.where(np.arange(20) % 2, 1, -1)
    assert_allclose(binary.margins(X, y), y * binary.score(X))
    assert_array_equal(binary.predict(X), np.sign(binary.score(X)))
    assert_array_equal(binary.neuron_class, [1, -1, 1, -1])


def test_a_neuron_at_exactly_zero_counts_as_on_and_a_zero_score_as_a_tie() -> None:
    network = BinaryNetwork(np.eye(2), np.zeros(2), np.array([[1.0, -1.0]]), np.zeros(1))
    assert network.active([[0.0, -1.0]]).tolist() == [[True, False]]
    assert network.predict([[1.0, 1.0]]).tolist() == [0]


def test_read_outs_are_what_they_are_called(multi: Network) -> None:
    outputs = multi.outputs(X)
    p = softmax(outputs, axis=1)
    assert_allclose(multi.probabilities(X), p, rtol=1e-12)
    assert_allclose(multi.score(X), np.log(p[:, 0] / p[:, 1:].sum(axis=1)), rtol=1e-9)
    assert_allclose(multi.score(X, "maximum"), outputs[:, 0] - outputs[:, 1:].max(axis=1))
    assert_allclose(multi.score(X, "summed-logits"), outputs[:, 0] - outputs[:, 1:].sum(axis=1))
    for readout in GROUPED:
        assert_array_equal(multi.predict_binary(X, readout), np.sign(multi.score(X, readout)))
    target = np.random.default_rng(3).integers(3, size=20)
    margins = [row[t] - np.delete(row, t).max() for row, t in zip(outputs, target, strict=True)]
    assert_allclose(multi.margins(X, target), margins)
    assert_array_equal(multi.margins(X, target) > 0, multi.predict(X) == target)


def test_random_networks_are_the_papers() -> None:
    data = sample_clusters(clusters=4, samples=30, coordinates="ambient", seed=0)
    binary, multi = BinaryNetwork.random(data, 50, seed=1), MulticlassNetwork.random(data, 25, seed=1)
    assert_array_equal(binary.second, np.repeat([[0.02, -0.02]], 50, axis=1).reshape(1, 100))
    assert_array_equal(multi.second @ np.ones(100), np.ones(4))
    assert_array_equal(multi.neuron_class, np.repeat(np.arange(4), 25))
    for network in (binary, multi):
        assert network.weights.std() == pytest.approx(1e-5, rel=0.01)
    assert binary.biases.std() == pytest.approx(1e-5, rel=0.3)
    assert not multi.biases.any()
    assert BinaryNetwork.random(data, seed=1).weights.tobytes() == BinaryNetwork.random(data, seed=1).weights.tobytes()
    assert BinaryNetwork.random(data, bias_scale=0.0).biases.tolist() == [0.0] * 10


def test_fine_labels_of_any_points_name_their_coarse_class() -> None:
    points = Points(X, np.array([1, 1, -1, -1] * 5), np.array([0, 2, 1, 1] * 5))
    assert MulticlassNetwork.random(points).class_labels.tolist() == [1, -1, 1]  # type: ignore[union-attr]
    with pytest.raises(InputError, match="every fine label must belong to one coarse label"):
        Points(X, points.y, np.array([0, 1, 1, 2] * 5))
    with pytest.raises(InputError, match=r"fine labels must be 0 ... 2 without gaps"):
        Points(X, points.y, np.array([0, 3, 1, 1] * 5))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"weights": [[np.nan] * 6] * 4}, "weights must be finite, got 24 NaN"),
        ({"weights": np.ones(4)}, "weights must have 2 axes"),
        ({"weights": [["a"] * 6] * 4}, "weights must be numbers in a matrix"),
        ({"biases": np.zeros(3)}, "biases must be a vector of length 4"),
        ({"second": np.ones((1, 3))}, "second must have 4 columns, got 3"),
        ({"output_bias": [np.inf]}, "output_bias must be finite"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(binary: Network, change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        binary.changed(**change)


def test_points_that_do_not_fit_are_refused(binary: Network, multi: Network) -> None:
    with pytest.raises(InputError, match="x must have 6 columns, got 5"):
        binary.score(X[:, :5])
    with pytest.raises(InputError, match="x must be finite, got 1 NaN"):
        multi.outputs([[np.nan, 0, 0, 0, 0, 0]])
    with pytest.raises(InputError, match=r"readout must be one of .*, got 'softest'"):
        multi.score(X, "softest")
    with pytest.raises(InputError, match="needs class_labels with both signs"):
        MulticlassNetwork(multi.weights, multi.biases, multi.second, multi.output_bias).score(X)
    with pytest.raises(InputError, match="needs class_labels with both signs"):
        multi.changed(class_labels=np.ones(3, dtype=np.int64)).score(X)
    with pytest.raises(InputError, match="neurons_per_class must be at least 1, got 0"):
        BinaryNetwork.random(sample_clusters(samples=5), 0)


def test_class_labels_are_one_for_each_output(multi: Network) -> None:
    with pytest.raises(InputError, match="class_labels must hold one label for each of 3"):
        multi.changed(class_labels=np.array([1, -1]))


def test_networks_cannot_be_changed(binary: Network) -> None:
    with pytest.raises(FrozenInstanceError):
        binary.weights = np.zeros((4, 6))  # type: ignore[misc]


def test_layers_follow_each_other(binary: Network) -> None:
    w, b, a, c = binary.weights, binary.biases, binary.second, binary.output_bias
    deep = Network((Layer(w, b), Layer(np.eye(4) - 0.5, np.ones(4)), Layer(a, c)))
    by_hand = np.maximum(np.maximum(X @ w.T + b, 0) @ (np.eye(4) - 0.5).T + 1, 0) @ a.T + c
    assert_allclose(deep.outputs(X), by_hand, rtol=1e-12)
    with pytest.raises(InputError, match="needs a network of two layers, got 3"):
        _ = deep.second
    with pytest.raises(InputError, match="weights_2 must have 4 columns, got 3"):
        Network((Layer(w, b), Layer(a[:, :3], c)))
    with pytest.raises(InputError, match="the read-out sign needs one output and two labels, got 4"):
        Network((Layer(w, b),))


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize(
    "trained",
    [("weights",), ("second",), ("weights", "second"), ("weights", "biases", "second"), ("weights", "biases")],
)
def test_the_degree_is_how_outputs_grow(trained: tuple[str, ...], power: int) -> None:
    """f(2θ) = 2^degree f(θ), by evaluation; None where no exponent fits."""
    rng = np.random.default_rng(3)
    arrays = {"weights": rng.standard_normal((4, 6)), "biases": rng.standard_normal(4), "second": np.ones((1, 4))}
    for biases in (arrays["biases"], np.zeros(4)):
        network = BinaryNetwork(arrays["weights"], biases, arrays["second"], [0.0], activation=Activation(power=power))
        scaled = network.changed(**{name: 2 * getattr(network, name) for name in trained})
        on = X[(network.score(X) != 0) & (scaled.score(X) != 0)]
        growth = np.log2(np.abs(scaled.score(on) / network.score(on)))
        degree = network.degree(trained)
        if degree is None:
            assert np.ptp(growth) > 1e-3
        else:
            assert_allclose(growth, degree, atol=1e-9)
    with pytest.raises(InputError, match=r"trained parameters are .*, got 'third'"):
        network.degree(("third",))


@pytest.mark.parametrize("readout", ["argmax", *GROUPED])
def test_the_slope_of_a_margin_is_its_derivative(multi: Network, readout: str) -> None:
    decision = multi.reading(readout).readout
    outputs = multi.outputs(X)
    codes = np.random.default_rng(4).integers(len(decision.labels), size=len(X))
    step = 1e-6
    for output in range(3):
        moved = outputs + step * np.eye(3)[output]
        change = (decision.margins(moved, codes) - decision.margins(outputs, codes)) / step
        assert_allclose(change, decision.slope(outputs, codes)[:, output], atol=1e-5)


def test_three_coarse_classes_are_decided_by_their_pools() -> None:
    groups = Groups.of(["cat", "dog", "cat", "owl"])
    outputs = np.random.default_rng(5).standard_normal((30, 4))
    shares = softmax(outputs, axis=1) @ (np.array(["cat", "dog", "cat", "owl"])[:, None] == ["cat", "dog", "owl"])
    decision = Grouped(groups)
    assert_array_equal(decision.predict(outputs), np.array(["cat", "dog", "owl"])[shares.argmax(axis=1)])
    codes = decision.encode(["owl"] * 30)
    others = np.delete(np.log(shares), 2, axis=1).max(axis=1)
    assert_allclose(decision.margins(outputs, codes), np.log(shares[:, 2]) - others, rtol=1e-9)
    with pytest.raises(InputError, match=r"y must be labels among \['cat', 'dog', 'owl'\], got 'cow'"):
        decision.encode(["cow"])


def test_networks_are_told_apart(binary: Network, multi: Network) -> None:
    assert same_network(binary, binary.changed(biases=binary.biases.copy()))
    assert not same_network(binary, binary.changed(biases=binary.biases + 1e-16 + 1e-3))
    assert not same_network(binary, multi)
    assert not same_network(multi, multi.reading("maximum"))
    assert not same_network(multi, multi.changed(class_labels=[1, 1, -1]))


@pytest.mark.parametrize("leak", [0.5, 0.1, 1 / 3])
def test_a_leaky_network_is_one_of_relus_without_rounding(multi: Network, leak: float) -> None:
    """Σ of the mirrored neurons' second weights is −leak·A in rationals; outputs agree in floats."""
    leaky = replace(multi, activation=Activation(leak=leak))
    found = as_relus(leaky)
    assert found.activation == RELU
    assert_allclose(found.outputs(X), leaky.outputs(X), atol=1e-12)
    width = len(multi.weights)
    mirrored = found.second[:, width:].reshape(3, -1, width)
    sums = np.vectorize(Fraction)(mirrored).sum(axis=1)
    assert (sums == -Fraction(leak) * np.vectorize(Fraction)(multi.second)).all()


def test_a_network_of_relus_is_itself_and_powers_stay(multi: Network) -> None:
    assert as_relus(multi) is multi
    cubes = replace(multi, activation=Activation(power=3))
    assert as_relus(cubes) is cubes
