"""Bad input ends in one sentence: what was expected, what came, what to do."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from featavg import Budget, InputError, MulticlassNetwork, robust_accuracy_at, robust_at, robust_radius, targeted_radius
from featavg.model import Activation, BinaryNetwork

TWO = ([[1.0], [-1.0]], [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])


def binary():
    rng = np.random.default_rng(0)
    return BinaryNetwork(*(rng.standard_normal(size) for size in ((8, 6), 8, (1, 8), 1)))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"x": np.zeros((0, 6)), "y": []}, "empty batch"),
        ({"x": np.zeros((1, 5))}, "6 columns"),
        ({"x": np.full((1, 6), np.nan)}, "finite"),
        ({"x": np.full((1, 6), 1j)}, "real numbers, got complex"),
        ({"y": [2]}, "labels among"),
        ({"y": [1, 1]}, "one label for each of 1 points"),
        ({"norm": "l1"}, "l2 or linf"),
        ({"readout": "loudest"}, "one output has the read-out sign"),
        ({"workers": 0}, "workers must be a whole number"),
        ({"workers": 1.5}, "workers must be a whole number.*got 1.5"),
        ({"budget": 5}, "budget must be featavg.Budget.*got 5"),
        ({"box": 1}, r"box must be a pair \(low, high\).*got 1"),
        ({"box": (np.zeros(5), np.ones(5))}, "each of 6 features"),
        ({"box": (np.nan, 1.0)}, "must lie in the box"),
        ({"box": (1.0, 2.0)}, "must lie in the box"),
        ({"box": (1.0, -1.0)}, "must lie in the box"),
    ],
)
def test_bad_questions_are_refused(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        robust_radius(binary(), **{"x": np.zeros((1, 6)), "y": [1], **arguments})


def test_a_power_of_relu_is_named_where_radii_are_refused():
    with pytest.raises(InputError, match=r"leaky ReLU between them, got 2 layers with Activation\(power=3"):
        robust_radius(replace(binary(), activation=Activation(power=3)), np.zeros((1, 6)), [1])


def test_tensors_that_record_gradients_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match=r"pass x.detach\(\)"):
        robust_radius(binary(), torch.zeros(1, 6, requires_grad=True), [1])
    assert len(robust_radius(binary(), torch.zeros(1, 6), [1])) == 1


def test_signs_for_a_network_of_several_classes_name_the_read_out():
    network = MulticlassNetwork(np.eye(3), np.zeros(3), np.eye(3), np.zeros(3), class_labels=np.array([1, 1, -1]))
    with pytest.raises(InputError, match="readout= summed-probabilities, maximum"):
        robust_radius(network, np.eye(3), [1, 1, -1])
    assert robust_radius(network, np.eye(3), [1, 1, -1], readout="maximum").verify().all()


def test_a_classifier_of_many_labels_at_once_is_refused():
    x = np.random.default_rng(0).standard_normal((40, 3))
    model = MLPClassifier((4,), max_iter=50, tol=1.0).fit(x, np.column_stack([x[:, 0] > 0, x[:, 1] > 0]))
    with pytest.raises(InputError, match="one classifier per label"):
        robust_radius(model, x[:1], [1])


@pytest.mark.parametrize("limits", [{"nodes": 0}, {"seconds": 0.0}, {"seconds": -1.0}, {"wall": 0}, {"nodes": "5"}])
def test_a_budget_of_nothing_is_refused(limits):
    with pytest.raises(InputError, match="budget"):
        Budget(**limits)


def test_targets_must_make_sense():
    with pytest.raises(InputError, match="differ from y"):
        targeted_radius(TWO, [[1.0]], [0], [0])
    with pytest.raises(InputError, match="rival must be labels among"):
        targeted_radius(TWO, [[1.0]], [0], [7])
    with pytest.raises(InputError, match="several outputs"):
        targeted_radius(([[1.0]], [0.0], [[1.0]], [0.0]), [[1.0]], [1], [0])
    with pytest.raises(InputError, match="proofs=True"):
        robust_radius(TWO, [[1.0]], [0], proofs=False).verify()


@pytest.mark.parametrize("radius", [-1.0, np.nan, np.inf, "far", [1.0, 2.0]])
def test_a_radius_is_one_number_that_is_not_negative(radius):
    with pytest.raises(InputError, match="radius"):
        robust_at(TWO, [[1.0]], [0], radius)
    if radius != [1.0, 2.0]:
        with pytest.raises(InputError, match="radii"):
            robust_accuracy_at(TWO, [[1.0]], [0], radius)
