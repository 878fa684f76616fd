"""Deep modules refined: the new head decides as its network does, radii match a closed form, the old module is kept."""

from __future__ import annotations

import copy
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from featavg import InputError, load_images
from featavg.data import dataset
from featavg.deep import Recipe, SmallCNN, fit, load_weights, read_card
from featavg.deep.heads import CoarseReadout, answer_coarsely
from featavg.refine import SubclassClassifier, inputs_for, open_model, read_decision, refine_module

RECIPE = Recipe(epochs=3, learning_rate=0.05, batch_size=64)


def small(outputs: int) -> SmallCNN:
    return SmallCNN(outputs, shape=(1, 8, 8), hidden=16, seed=0)


@pytest.fixture(scope="module")
def digits() -> Any:
    torch.set_num_threads(1)
    parts = [load_images("digits", part, samples=count, seed=0) for part, count in (("train", 500), ("test", 60))]
    return [(part.x.reshape(-1, 1, 8, 8), np.where(part.y > 0, "even", "odd"), part.cluster) for part in parts]


@pytest.fixture(scope="module")
def coarse(digits: Any) -> SmallCNN:
    (x, y, _), _ = digits
    return fit(small(1), x, np.where(y == "odd", 1, -1), RECIPE).module  # the later label is the positive one


@pytest.fixture(scope="module")
def headed(digits: Any, coarse: SmallCNN) -> Any:
    (x, y, _), (test_x, test_y, _) = digits
    before = copy.deepcopy(coarse.state_dict())
    found = refine_module(coarse, x, y, test=(test_x, test_y), n_subclasses=3, seed=1)
    assert all(torch.equal(before[name], tensor) for name, tensor in coarse.state_dict().items())
    return found


def test_the_readout_sums_probabilities() -> None:
    logits = torch.randn(5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    summed = logits.softmax(dim=1) @ torch.tensor([[1.0, 0], [0, 1], [1, 0], [0, 1]], dtype=torch.float64)
    torch.testing.assert_close(CoarseReadout([0, 1, 0, 1])(logits).softmax(dim=1), summed)
    with pytest.raises(InputError, match=r"every class 0 \.\.\. 2 needs a sub-class"):
        CoarseReadout([0, 2, 2])


def test_a_refined_head_decides_as_its_network_does_on_the_same_features(
    digits: Any, coarse: SmallCNN, headed: Any
) -> None:
    (x, y, _), (test_x, _, _) = digits
    with torch.no_grad():
        features, test_features = (coarse.features(torch.tensor(part, dtype=torch.float32)) for part in (x, test_x))
        logits = headed.module(torch.tensor(test_x, dtype=torch.float32))
    model = SubclassClassifier(3, random_state=1).fit(features.double().numpy(), y)
    expected = model.predict_proba(test_features.double().numpy())
    np.testing.assert_allclose(logits.double().softmax(dim=1).numpy(), expected, atol=1e-4)
    assert headed.module.fine(torch.zeros(1, 1, 8, 8)).shape == (1, 6)
    assert headed.compared.per_class == (3, 3)
    assert np.array_equal(headed.subclass, model.subclass_)
    # The backbone is the same, number for number.
    kept, new = coarse.state_dict(), headed.module.fine.state_dict()
    assert all(torch.equal(kept[name], new[name]) for name in kept if not name.startswith("head"))


def test_numbers_card_and_file_say_the_same(digits: Any, coarse: SmallCNN, headed: Any, tmp_path: Path) -> None:
    _, (test_x, test_y, _) = digits
    with torch.no_grad():
        decided = headed.classes[headed.module(torch.tensor(test_x, dtype=torch.float32)).argmax(dim=1).numpy()]
        signs = coarse(torch.tensor(test_x, dtype=torch.float32)).flatten().numpy()
    compared = headed.compared
    assert compared.accuracy == (np.mean(np.where(signs > 0, "odd", "even") == test_y), np.mean(decided == test_y))
    assert np.mean(compared.radii[1] > 0) == compared.accuracy[1]
    assert np.isfinite(compared.radii).all()
    headed.save(tmp_path / "refined.safetensors")
    card = read_card(tmp_path / "refined.safetensors")
    assert card["classes"] == ["even", "odd"]
    assert card["results"]["accuracy after"] == pytest.approx(compared.accuracy[1], abs=1e-4)
    assert "'head' replaced by Linear(16, 6), ReLU, Linear(6, 6)" in card["architecture"]
    again = load_weights(copy.deepcopy(headed.module), tmp_path / "refined.safetensors")
    assert again.readout.class_of.tolist() == headed.class_of.tolist()


@pytest.mark.parametrize("way", ["a finer head", "a new network"])
def test_a_refined_module_is_diagnosed_by_its_own_decision(
    way: str, digits: Any, coarse: SmallCNN, headed: Any, tmp_path: Path
) -> None:
    (x, y, _), (test_x, test_y, _) = digits
    build = {"build": small, "recipe": RECIPE} if way == "a new network" else {}
    found = refine_module(coarse, x, y, test=(test_x, test_y), n_subclasses=3, seed=1, **build) if build else headed
    found.save(tmp_path / "refined.safetensors")
    loaded = open_model(tmp_path / "refined.safetensors", "small-cnn", (8, 8))
    for module in (found.module, loaded):
        decision = read_decision(module, test_x, test_y)
        with torch.no_grad():
            decided = found.module(torch.tensor(test_x, dtype=torch.float32)).argmax(dim=1).numpy()
        assert np.array_equal(decision.predict(decision.data.x), decided)
        radii = decision.attack(np.arange(len(test_y)))
        assert np.array_equal(radii == 0, found.classes[decided] != test_y)
    assert inputs_for(loaded, dataset(test_x.reshape(-1, 64), test_y, shape=(8, 8))).shape == (60, 1, 8, 8)


def test_what_reshapes_points_changes_no_diagnosis() -> None:
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    x, y = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32), np.arange(60) % 2
    plain, wrapped = (read_decision(one, x, y) for one in (layers, nn.Sequential(nn.Flatten(), nn.Dropout(), *layers)))
    everyone = np.arange(60)
    assert (plain.space, wrapped.space) == ("the inputs", "the inputs")
    np.testing.assert_array_equal(plain.attack(everyone), wrapped.attack(everyone))
    deeper = nn.Sequential(*layers, nn.ReLU(), nn.Linear(2, 2))
    assert read_decision(deeper, x, y).space == "the features that come into '4'"
    # Two linear layers in a row are one.
    folded = nn.Sequential(*layers, nn.Linear(2, 2))
    found = read_decision(folded, x, y)
    assert found.space == "the inputs"
    with torch.no_grad():
        np.testing.assert_array_equal(found.predict(x), folded(torch.tensor(x)).argmax(dim=1).numpy())


def test_a_block_inside_is_not_taken_for_the_head() -> None:
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 6))
    module = answer_coarsely(
        nn.Sequential(OrderedDict(inner=inner, bend=nn.Tanh(), head=nn.Linear(6, 4))), [0, 0, 1, 1]
    )
    x, y = np.random.default_rng(0).normal(size=(50, 4)), np.arange(50) % 2
    decision = read_decision(module.double(), x, y)
    with torch.no_grad():
        decided = module(torch.tensor(x)).argmax(dim=1).numpy()
    assert np.array_equal(decision.predict(decision.data.x), decided)


def test_a_refined_module_refuses_labels_of_too_few_classes() -> None:
    module = answer_coarsely(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 3)), [0, 1, 2])
    with pytest.raises(InputError, match="the model decides between 3 classes, got 2"):
        read_decision(module, np.random.default_rng(0).normal(size=(20, 4)), 2 * (np.arange(20) % 2))


def test_radii_of_a_linear_module_are_its_margins_over_the_length_of_its_weights(digits: Any) -> None:
    (x, y, _), (test_x, test_y, _) = digits
    torch.manual_seed(0)
    linear = nn.Sequential(nn.Flatten(), nn.Linear(64, 1))
    fit(linear, x, np.where(y == "odd", 1, -1), RECIPE)
    found = refine_module(linear, x, y, test=(test_x, test_y), n_subclasses=1, box=None, seed=3)
    weight, bias = linear[1].weight[0].detach().double().numpy(), linear[1].bias.item()
    margins = np.where(test_y == "odd", 1, -1) * (test_x.reshape(-1, 64) @ weight + bias)
    expected = np.sort(np.maximum(margins, 0.0) / np.linalg.norm(weight))
    np.testing.assert_allclose(np.sort(found.compared.radii[0]), expected, rtol=2e-3, atol=1e-5)
    assert type(found.module.fine[1][0]) is nn.Linear


@pytest.mark.parametrize("space", ["features", "pixels"])
def test_a_new_module_is_trained_on_sub_labels(space: Any, digits: Any, coarse: SmallCNN) -> None:
    (x, y, fine), (test_x, test_y, _) = digits
    told: list[float] = []
    found = refine_module(
        coarse, x, y, fine, test=(test_x, test_y), build=small, recipe=RECIPE, space=space, seed=1,
        progress=lambda share, what: told.append(share),
    )  # fmt: skip
    assert found.subclass_names.tolist() == [*"02468", *"13579"]  # given sub-labels are taken as they are
    assert [found.subclass_names[j] for j in found.subclass[:20]] == [str(digit) for digit in fine[:20]]
    expected = answer_coarsely(fit(small(10), x, found.subclass, RECIPE).module, found.class_of)
    with torch.no_grad():
        images = torch.tensor(test_x, dtype=torch.float32)
        torch.testing.assert_close(found.module(images), expected(images))
    assert found.card.recipe["epochs"] == 3
    assert (told, told[-1]) == (sorted(told), 1.0)


class Softened(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(64, 2)

    def forward(self, x: Any) -> Any:
        return self.head(x.flatten(1)).softmax(dim=1)


CONVOLUTIONS = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())


@pytest.mark.parametrize(
    ("module", "options", "sentence"),
    [
        (CONVOLUTIONS, {}, "a torch module needs a linear head, got only Conv2d, Flatten, ReLU"),
        (nn.Sequential(nn.Flatten(), nn.Linear(10, 2)), {}, "features must fit the module, got points of shape"),
        (nn.Sequential(nn.Flatten(), nn.Linear(64, 5)), {}, "a head of 5 outputs cannot decide between 2 classes"),
        (Softened(), {}, "something comes after 'head'"),
        (small(2), {"space": "pixels"}, "space must be features, or pixels where build="),
        (small(2), {"build": lambda outputs: small(3)}, r"build\(4\) must return a module of 4 outputs, got one of 3"),
        (small(2), {"test": (np.zeros((2, 1, 8, 8)), ["even", "prime"])}, "got 'prime'; map yours"),
        (small(2), {"sublabels": ["x"] * 500}, "every sub-label must lie in one class"),
    ],
)
def test_bad_input_gets_one_sentence(module: Any, options: dict[str, Any], sentence: str, digits: Any) -> None:
    (x, y, _), (test_x, test_y, _) = digits
    with pytest.raises(InputError, match=sentence):
        refine_module(module, x, y, **{"test": (test_x, test_y), "n_subclasses": 2, **options})


def test_a_module_without_test_points_is_compared_at_a_fifth_that_is_held_out(tmp_path: Path) -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2)) + 10 * rng.integers(2, size=(100, 2))
    y = ((x[:, 0] > 5) ^ (x[:, 1] > 5)).astype(int)
    found = refine_module(nn.Linear(2, 1), x, y, n_subclasses=2, box=None)
    assert len(found.subclass) + len(found.compared.before.right) == 100
    assert len(found.compared.before.right) == 20
    assert "the module itself may have been trained on it" in found.compared.note
    assert len(repr(found)) < 300
    assert found.report(tmp_path / "page.html").read_text().endswith("</html>\n")
