import itertools
import json

import numpy as np
import pytest
import torch
from torch import nn

from featavg.deep import ModelCard, Recipe, ResNet18, SmallCNN, accuracy, card_of, fit, load_weights
from featavg.deep.recipe import augment
from featavg.errors import InputError

RECIPE = Recipe(epochs=4, batch_size=64, learning_rate=0.05, crop=1, flip=True, label_smoothing=0.1)


class Interruption(Exception):
    pass


def stop_after(epoch):
    def on_epoch(entry):
        if entry.epoch == epoch:
            raise Interruption

    return on_epoch


@pytest.fixture
def images():
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (300, 1, 8, 8), generator=generator, dtype=torch.uint8)
    return x, (x.double().mean(dim=(1, 2, 3)) > 127).long()


def narrow(seed=0):
    return ResNet18(2, width=2, channels=1, seed=seed)


def test_a_resumed_run_ends_as_an_uninterrupted_one_bit_by_bit(images, tmp_path):
    whole = fit(narrow(), *images, RECIPE)
    with pytest.raises(Interruption):
        fit(narrow(), *images, RECIPE, checkpoint=tmp_path / "run.safetensors", on_epoch=stop_after(2))
    # Another start, to see that the weights come from the file.
    resumed = fit(narrow(seed=5), *images, RECIPE, checkpoint=tmp_path / "run.safetensors")
    assert [entry.epoch for entry in resumed.log] == [1, 2, 3, 4]
    assert [(e.steps, e.loss, e.accuracy) for e in resumed.log] == [(e.steps, e.loss, e.accuracy) for e in whole.log]
    for name, value in whole.module.state_dict().items():
        assert torch.equal(resumed.module.state_dict()[name], value), name


def test_a_finished_run_is_only_read_and_its_weights_load(images, tmp_path):
    path = tmp_path / "run.safetensors"
    done = fit(narrow(), *images, RECIPE, checkpoint=path)
    before = path.read_bytes()
    assert fit(narrow(), *images, RECIPE, checkpoint=path).log == done.log
    assert path.read_bytes() == before
    loaded = load_weights(narrow(seed=5), path)
    assert torch.equal(loaded.head.weight, done.module.head.weight)


def test_a_checkpoint_of_another_run_is_refused_by_name(images, tmp_path):
    path, short = tmp_path / "run.safetensors", Recipe(epochs=1, batch_size=64)
    fit(narrow(), *images, short, checkpoint=path)
    with pytest.raises(InputError, match=r"learning_rate was 0\.1, is 0\.2"):
        fit(narrow(), *images, Recipe(epochs=1, batch_size=64, learning_rate=0.2), checkpoint=path)
    with pytest.raises(InputError, match="data was"):
        fit(narrow(), images[0], 1 - images[1], short, checkpoint=path)
    with pytest.raises(InputError, match="module was"):
        fit(ResNet18(2, width=3, channels=1), *images, short, checkpoint=path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match="damaged"):
        fit(narrow(), *images, short, checkpoint=path)


def test_the_seed_of_a_recipe_decides_the_run(images):
    losses = [fit(narrow(), *images, Recipe(epochs=1, seed=seed)).log[-1].loss for seed in (0, 0, 1)]
    assert losses[0] == losses[1] != losses[2]


def test_digits_are_learned_with_one_logit_or_ten(digits):
    (x, train), (test_x, test) = digits
    recipe = Recipe(epochs=4, batch_size=32, learning_rate=0.1)
    seen = []
    fine = fit(
        SmallCNN(10, shape=(1, 8, 8), hidden=32), x, train.cluster, recipe,
        validation=(test_x, test.cluster), progress=lambda done, total: seen.append(done / total),
    )  # fmt: skip
    assert fine.log[-1].validation == accuracy(fine.module, test_x, test.cluster) > 0.93
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    coarse = fit(SmallCNN(1, shape=(1, 8, 8), hidden=32), x, train.y, recipe)
    assert accuracy(coarse.module, test_x, test.y) > 0.93
    assert fine.status == "finished: epochs"


def test_a_budget_in_minutes_ends_the_run_with_its_schedule(images, monkeypatch):
    clock = itertools.count(step=0.01)  # a hundredth of a second passes with each look at it, on every machine
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    recipe = Recipe(epochs=10_000, minutes=0.02, batch_size=64)
    done = fit(narrow(), *images, recipe)
    assert done.status == "finished: minutes"
    # A step looks at the clock twice, the end of an epoch three times.
    assert done.log[-1].seconds == pytest.approx(60 * recipe.minutes, abs=0.04)
    assert done.log[-1].learning_rate < 1e-3 * recipe.learning_rate
    assert fit(narrow(), *images, Recipe(epochs=1, minutes=1e-6, batch_size=64)).status == "finished: minutes"


def test_schedules_meet_their_ends():
    cosine, cycle = (Recipe(schedule=name, learning_rate=2.0) for name in ("cosine", "one-cycle"))
    assert [cosine.rate(at) for at in (0, 0.5, 1)] == pytest.approx([2, 1, 0])
    assert [cycle.rate(at) for at in (0, 0.1, 0.2, 1)] == pytest.approx([0.08, 1.04, 2, 0])
    assert Recipe(schedule="constant", learning_rate=2.0).rate(0.7) == 2


def test_augmentation_shifts_and_mirrors_whole_images():
    torch.manual_seed(0)
    ramp = torch.arange(36, dtype=torch.uint8).reshape(1, 1, 6, 6).repeat(400, 2, 1, 1)
    mirrored = augment(ramp, 0, True)
    share = (mirrored[:, 0, 0, 0] == 5).double().mean()
    assert 0.4 < share < 0.6
    assert set(mirrored[:, 0, 0, 0].tolist()) == {0, 5}
    shifted = augment(ramp, 2, False)
    assert shifted.dtype == torch.uint8
    assert torch.equal(shifted[:, 0], shifted[:, 1])
    # The pixel (2, 2) = 14 comes from up to two places away, all 25 of them.
    assert set(shifted[:, 0, 2, 2].tolist()) == {6 * row + column for row in range(5) for column in range(5)}
    one = next(image for image in shifted[:, 0] if image[2, 2] == 0)
    assert one[0].tolist() == [14, 13, 12, 13, 14, 15]  # reflected at the edge
    assert augment(ramp, 0, False) is ramp


def test_what_cannot_be_trained_is_refused(images):
    x, y = images
    with pytest.raises(InputError, match=r"labels among \[-1, 1\]"):
        fit(SmallCNN(1, shape=(1, 8, 8), hidden=4), x, y)
    with pytest.raises(InputError, match="300 points"):
        fit(narrow(), x, y[:-1])
    with pytest.raises(InputError, match="diverged in epoch 1; lower learning_rate=1e"):
        fit(nn.Sequential(nn.Flatten(), nn.Linear(64, 9), nn.Linear(9, 2)), x, y, Recipe(learning_rate=1e30))
    with pytest.raises(InputError, match="nothing to train"):
        fit(narrow().requires_grad_(False), x, y)
    with pytest.raises(InputError, match="crop must be smaller"):
        fit(narrow(), x, y, Recipe(crop=8))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epochs": 0}, "epochs must be positive"),
        ({"minutes": 0}, "minutes must be positive"),
        ({"schedule": "steps"}, "one-cycle, cosine, constant"),
        ({"momentum": 1.0}, r"momentum must lie in \[0, 1\)"),
        ({"weight_decay": -1.0}, "must not be negative"),
    ],
)
def test_recipes_that_make_no_sense_are_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        Recipe(**wrong)


def test_label_smoothing_of_one_logit_is_that_of_two():
    from featavg.deep.fit import _loss

    f, y = torch.tensor([[0.7], [-1.3]]), torch.tensor([1, -1])
    pair = torch.cat([-f / 2, f / 2], dim=1)
    expected = nn.functional.cross_entropy(pair, (y + 1) // 2, label_smoothing=0.2)
    assert torch.allclose(_loss(f, y, 0.2), expected)


def test_a_card_is_json_and_a_page(images):
    done = fit(narrow(), *images, Recipe(epochs=1), validation=images)
    card = card_of(
        done, Recipe(epochs=1), name="tiny", architecture="ResNet18(2, width=2)", data="noise", notes=("a|b",)
    )
    assert json.loads(card.to_json())["results"]["validation accuracy"] == done.log[-1].validation
    page = card.markdown()
    assert "# tiny" in page
    assert "| epochs | 1 |" in page
    assert "sha256" not in card.as_dict()
    assert ModelCard("n", "a", 1, "d", {}, {}, sha256="ab").as_dict()["sha256"] == "ab"
    assert np.isclose(card.results["epochs"], 1)
