import hashlib
from importlib import resources

import numpy as np
import pytest
import torch

from featavg.deep import Recipe, SmallCNN
from featavg.deep.backbones import SHIPPED_NAME, SHIPPED_SHA256, cifar_backbone
from featavg.deep.fit import after_epoch, trained
from featavg.errors import InputError


@pytest.fixture
def task(monkeypatch, tmp_path):
    monkeypatch.setenv("FEATAVG_CACHE", str(tmp_path))
    rng = np.random.default_rng(0)
    return rng.random((64, 1, 8, 8)).astype(np.float32), rng.integers(3, size=64)


def small(seed=0):
    return SmallCNN(3, shape=(1, 8, 8), hidden=8, seed=seed)


def test_a_finished_network_is_taken_from_the_cache_and_its_epochs_too(task):
    recipe = Recipe(epochs=3, batch_size=16)
    first = trained("it", small(), *task, recipe, keep=(1, 3))
    told = []
    again = trained("it", small(seed=5), *task, recipe, progress=lambda done, total: told.append(done))
    assert told == []  # nothing was trained, whatever the module started from
    assert again.log == first.log
    assert all(torch.equal(a, b) for a, b in zip(first.module.parameters(), again.module.parameters(), strict=True))
    early, last = (after_epoch("it", small(), epoch) for epoch in (1, 3))
    assert torch.equal(last.head.weight, first.module.head.weight)
    assert not torch.equal(early.head.weight, last.head.weight)
    with pytest.raises(InputError, match="no weights at"):
        after_epoch("it", small(), 2)


def test_a_cached_network_of_another_recipe_is_not_mistaken_for_this_one(task):
    trained("it", small(), *task, Recipe(epochs=1, batch_size=16))
    with pytest.raises(InputError, match="of another run"):
        trained("it", small(), *task, Recipe(epochs=2, batch_size=16))


def test_the_shipped_backbone_is_the_file_it_says_it_is():
    shipped = resources.files("featavg.deep") / "shipped" / f"{SHIPPED_NAME}.safetensors"
    assert hashlib.sha256(shipped.read_bytes()).hexdigest() == SHIPPED_SHA256
    assert not cifar_backbone().training
