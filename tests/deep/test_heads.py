import numpy as np
import pytest
import torch

import featavg as fa
from featavg.deep import (
    HeadedNetwork,
    SmallCNN,
    as_torch,
    coarse_head,
    extract_features,
    feature_data,
    fine_head,
)  # fmt: skip
from featavg.errors import InputError


@pytest.fixture(scope="module")
def backbone():
    return SmallCNN(10, shape=(1, 8, 8), hidden=24, seed=0)


@pytest.fixture(scope="module")
def data(backbone, digits):
    (x, train), _ = digits
    return feature_data(extract_features(backbone, x), train.cluster, train.center_labels)


def test_features_do_not_depend_on_the_batch_and_are_penultimate(backbone, digits):
    (x, _), _ = digits
    found = extract_features(backbone, x[:50], batch=7)
    assert found.dtype == np.float64
    assert found == pytest.approx(extract_features(backbone, x[:50]), abs=1e-5)
    with torch.inference_mode():
        outputs = backbone.head(torch.from_numpy(found).float())
        assert torch.allclose(outputs, backbone(x[:50].float()), atol=1e-5)


def test_class_features_are_mean_features(data):
    assert data.centers[3] == pytest.approx(data.x[data.cluster == 3].mean(axis=0))
    assert np.array_equal(data.y, data.center_labels[data.cluster])


def test_heads_are_built_as_in_the_paper(data):
    coarse, fine = coarse_head(data), fine_head(data)
    assert coarse.neurons == fine.neurons == 30
    assert np.array_equal(coarse.second[0], np.repeat([1 / 15, -1 / 15], 15))
    assert np.array_equal(fine.second, np.repeat(np.eye(10), 3, axis=1) / 3)
    assert not fine.biases.any()
    assert fa.equivalent_weights(coarse, 10).shape == fa.equivalent_weights(fine, 10).shape == data.centers.shape


def test_trained_heads_have_exact_radii_in_feature_space(data):
    rule = fa.GradientDescent(steps=300, step_size=1.0)
    coarse = fa.train(coarse_head(data, 10, scale=0.1), data, rule).final
    assert fa.robust_radius(coarse, data.x[:5], data.y[:5]).verify().all()
    assert (coarse.predict(data.x) == data.y).mean() > 0.8
    fine = fa.train(fine_head(data, scale=0.1), data, rule).final
    assert (fine.predict(data.x) == data.cluster).mean() > 0.5


def test_a_headed_network_is_the_head_on_the_features(backbone, data, digits):
    (x, _), _ = digits
    head = fine_head(data, seed=1, scale=1.0)
    module = HeadedNetwork(backbone, head).eval()
    with torch.inference_mode():
        found = module(x[:20].float())
    assert found.numpy() == pytest.approx(head.outputs(data.x[:20]), abs=1e-4)
    assert np.array_equal(fa.as_network(as_torch(head, torch.float64)).weights, head.weights)


def test_heads_that_cannot_be_cut_are_refused(data):
    with pytest.raises(InputError, match="multiple of the 10 classes"):
        fine_head(data, 25)
    with pytest.raises(InputError, match="two halves, each of 5 equal groups"):
        coarse_head(data, 24)
    with pytest.raises(InputError, match="none of class 1"):
        feature_data([[1.0]], [0], [1, -1])
