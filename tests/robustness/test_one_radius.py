"""One radius decided: the same answer as the whole distance, robust accuracy included, at any radius."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from featavg import MulticlassNetwork, robust_accuracy, robust_accuracy_at, robust_at, robust_radius
from featavg.model import BinaryNetwork, Grouped, Groups


def random_network(rng, outputs, neurons=12, axes=6):
    sizes = ((neurons, axes), neurons, (outputs, neurons), outputs)
    arrays = [rng.standard_normal(size) for size in sizes]
    if outputs == 1:
        return BinaryNetwork(*arrays)
    return MulticlassNetwork(*arrays, class_labels=np.arange(outputs) % 3)


@pytest.mark.parametrize(("outputs", "readout"), [(1, "sign"), (5, "argmax"), (5, "maximum"), (5, "summed-logits")])
def test_one_radius_is_decided_as_the_whole_distance_decides_it(outputs, readout):
    rng = np.random.default_rng(8)
    network, x = random_network(rng, outputs), rng.standard_normal((20, 6))
    y = network.reading(readout).predict(x)
    found = robust_radius(network, x, y, readout=readout)
    assert found.verify().all()
    for radius in np.quantile(found.upper, [0.2, 0.8]) * 1.001:
        decided = robust_at(network, x, y, float(radius), readout=readout)
        assert decided.verify().all()
        assert_array_equal(decided.lower > radius, found.lower > radius)
        assert_array_equal(decided.upper <= radius, found.upper <= radius)
    radii = [0.0, *np.quantile(found.upper, [0.3, 0.6]) * 1.001]
    at, whole = robust_accuracy_at(network, x, y, radii, readout=readout), robust_accuracy(found, radii)
    assert_array_equal(at.lower, whole.lower)
    assert_array_equal(at.upper, whole.upper)
    assert at.lower[0] == 1.0


def test_at_radius_zero_a_point_stands_if_it_is_right():
    network = ([[1.0]], [0.0], [[1.0]], [-1.0])
    found = robust_accuracy_at(network, [[3.0], [1.0], [0.0]], [1, 1, 1], 0)
    assert found.lower.tolist() == found.upper.tolist()
    assert found.lower == pytest.approx([1 / 3])


def test_three_coarse_classes_are_the_nearest_of_both_rivals():
    """Each class against one other, as a network of two coarse classes: the radius is the smaller of both."""
    rng = np.random.default_rng(4)
    network, x = random_network(rng, 6), rng.standard_normal((8, 6))
    groups = np.arange(6) % 3
    for how in ("maximum", "summed-logits"):
        y = network.reading(how).predict(x)
        found = robust_radius(network, x, y, readout=how)
        for i, own in enumerate(y):
            pairs = []
            for other in {0, 1, 2} - {int(own)}:
                kept = np.flatnonzero((groups == own) | (groups == other))
                two = MulticlassNetwork(
                    network.weights, network.biases, network.second[kept], network.output_bias[kept]
                )
                named = Grouped(Groups.of(groups[kept]), how)
                pairs.append(robust_radius(two, x[i : i + 1], [own], readout=named).upper[0])
            assert found.upper[i] == pytest.approx(min(pairs), rel=3e-6)
