"""Networks built by hand do at the centers what they were built for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from featavg import averaging_network, decoupled_network, filtered_network, sample_clusters
from featavg.data import Dataset


@pytest.fixture(params=["ambient", "compact"])
def data(request: Any) -> Dataset:
    return sample_clusters(clusters=5, dim=500, samples=20, positive=2, coordinates=request.param, seed=0)


def test_the_averaging_network_scores_every_center_by_its_label(data: Dataset) -> None:
    network = averaging_network(data)
    assert_allclose(network.score(data.centers), data.center_labels, atol=1e-12)
    assert network.coordinates == data.coordinates
    assert_allclose(averaging_network(data, biases=0.25).score(data.centers), data.center_labels, atol=1e-12)
    assert_array_equal(averaging_network(data, biases=[0.1, -0.2]).biases, [0.1, -0.2])


def test_the_decoupled_network_names_every_center(data: Dataset) -> None:
    network = decoupled_network(data)
    assert_allclose(network.outputs(data.centers), np.eye(5), atol=1e-12)
    assert_array_equal(network.predict_binary(data.centers), data.center_labels)


def test_the_filtered_network_ignores_what_is_below_its_threshold(data: Dataset) -> None:
    network = filtered_network(data, threshold=0.25)
    assert_allclose(network.score(data.centers), 0.75 * data.center_labels, atol=1e-12)
    assert_array_equal(network.score(0.2 * data.centers), 0.0)
    assert_array_equal(network.neuron_class, data.center_labels)


def test_they_classify_noisy_points(data: Dataset) -> None:
    test = data.resample(200, seed=1)
    for network in (averaging_network(data), filtered_network(data)):
        assert_array_equal(network.predict(test.x), test.y)
    assert_array_equal(decoupled_network(data).predict(test.x), test.cluster)
