import pytest
import torch

import featavg as fa
from featavg.deep import as_torch


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def digits():
    """Training and test digits as images (sample, 1, 8, 8) in [0, 1]."""
    train, test = fa.load_images("digits"), fa.load_images("digits", "test")
    shaped = [(torch.from_numpy(part.x.reshape(-1, 1, 8, 8)), part) for part in (train, test)]
    return shaped[0], shaped[1]


@pytest.fixture(scope="session")
def two_layer():
    """A two-layer network trained on digits, the same in torch, and 40 test points."""
    data, test = fa.load_images("digits"), fa.load_images("digits", "test", samples=40, seed=0)
    start = fa.MulticlassNetwork.random(data, 2, seed=0, scale=0.1)
    network = fa.train(start, data, fa.GradientDescent(steps=300, step_size=0.5)).final
    return network, as_torch(network, torch.float64), test
