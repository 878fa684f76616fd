"""diagnose: finds planted averaging, accuses neither random nor decoupled heads, and says when labels do not help."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from featavg import InputError, SubclassClassifier, averaging_network, decoupled_network, sample_clusters
from featavg.analysis import averages
from featavg.data import split
from featavg.intervals import normal
from featavg.refine import diagnose, discover_sublabels, read_decision
from featavg.refine.diagnose import centred_means

TRIALS = 200


def features(seed: int, clusters: int = 10, dim: int = 30, samples: int = 300) -> tuple[Any, Any, Any]:
    """Points around orthogonal centers away from the origin; even clusters are class 0."""
    rng = np.random.default_rng(seed)
    fine = np.arange(samples) % clusters
    centers = 4.0 * np.linalg.qr(rng.standard_normal((dim, dim)))[0][:clusters] + 2.0
    return centers[fine] + rng.standard_normal((samples, dim)), fine % 2, fine


def head(kind: str, x: Any, fine: Any, rng: Any) -> tuple[Any, Any]:
    """Rows of weights and their classes."""
    centers = centred_means(x, fine)
    if kind == "random":
        rows = rng.standard_normal((8, x.shape[1]))
        return rows, np.arange(8) % 2
    if kind == "decoupled":
        return centers + 0.1 * rng.standard_normal(centers.shape), np.arange(10) % 2
    if kind == "one random row":
        row = rng.standard_normal(x.shape[1])
        return np.stack([row, -row]), np.array([1, 0])
    average = np.stack([centers[c::2].mean(axis=0) for c in (0, 1)])
    return average + 0.15 * np.abs(average).mean() * rng.standard_normal(average.shape), np.array([0, 1])


def test_calibration_with_given_sub_labels() -> None:
    found: dict[str, list[bool]] = {kind: [] for kind in ("random", "decoupled", "one random row", "averaging")}
    for trial in range(TRIALS):
        x, _, fine = features(trial)
        centers, class_of = centred_means(x, fine), np.arange(10) % 2
        for kind, verdicts in found.items():
            rows, row_class = head(kind, x, fine, np.random.default_rng(trial))
            seen = averages(rows, row_class, np.ones(len(rows)), centers, class_of)
            verdicts.append(seen.p_value < 0.05 and (kind != "averaging" or seen.median_index > 0.5))
    for kind in ("random", "decoupled", "one random row"):
        assert np.mean(found[kind]) <= 0.08, kind
    assert np.mean(found["averaging"]) >= 0.99


def test_calibration_with_sub_labels_found_on_one_half_and_tested_on_the_other() -> None:
    wrong, missed = 0, 0
    for trial in range(20):
        x, y, fine = features(trial)
        first, second = split(y, (1, 1), seed=trial)
        sub = discover_sublabels(x[first], y[first], 5, seed=trial)
        labels = sub.assign(x[second], y[second])
        centers = centred_means(x[second], labels)
        verdicts = {}
        for kind in ("random", "decoupled", "averaging"):
            rows, row_class = head(kind, x, fine, np.random.default_rng(trial))
            verdicts[kind] = averages(rows, row_class, np.ones(len(rows)), centers, sub.class_of).p_value < 0.05
        wrong += verdicts["random"] + verdicts["decoupled"]
        missed += not verdicts["averaging"]
    assert (wrong <= 3, missed) == (True, 0)


def test_the_index_is_one_for_averages_and_zero_for_single_features() -> None:
    centers, class_of = np.eye(6), np.arange(6) % 2
    rows = np.stack([centers[::2].sum(axis=0), centers[0], -centers[1::2].sum(axis=0)])
    found = averages(rows, np.array([0, 0, 1]), np.ones(3), centers, class_of)
    np.testing.assert_allclose(found.index[:2], [1, 0], atol=1e-12)
    np.testing.assert_allclose(found.p_values[0], 0, atol=1e-12)
    assert found.p_values[2] > 0.99
    single = averages(rows, np.array([0, 0, 1]), np.ones(3), centers[:2], np.array([0, 1]))
    assert np.isnan(single.p_value)
    np.testing.assert_allclose(averages(rows[:1], np.array([0]), np.ones(1), centers, class_of).share, 1)


@pytest.fixture(scope="module")
def averaging() -> Any:
    data = sample_clusters(clusters=10, dim=60, samples=500, seed=0, coordinates="ambient")
    return data, diagnose(averaging_network(data), data.x, data.y)


def test_the_averaging_network_is_found_out_without_being_told_the_clusters(averaging: Any) -> None:
    data, found = averaging
    assert found.does_average
    assert found.finer_labels_help
    assert found.per_class.tolist() == [5, 5]
    assert found.flips.ratio < 1.25  # one direction is nearly all there is to such a network
    assert found.averages.share > 0.95
    # √(d/k) at the centers, somewhat less at noisy points.
    assert 0.8 < np.median(found.exact_upper) / np.sqrt(data.dim / 10) < 1.1
    assert "It averages" in found.verdict
    assert "SubclassClassifier" in found.verdict
    right = found.attack[found.attack > 0]
    first = found.attack[np.flatnonzero(found.rows == found.fragile[0])[0]]
    assert first == right.min()


def test_the_decoupled_network_does_not_average() -> None:
    data = sample_clusters(clusters=10, dim=60, samples=500, seed=0, coordinates="ambient")
    found = diagnose(decoupled_network(data), data.x, data.y, data.cluster)
    assert found.does_average is False
    assert found.sublabels_given
    assert "no nearer to the average of their class than chance explains" in found.verdict


def test_one_gaussian_per_class_is_told_that_there_are_no_finer_labels() -> None:
    rng = np.random.default_rng(1)
    y = np.arange(500) % 2
    x = rng.standard_normal((500, 12)) + 1.0 * y[:, None]
    found = diagnose(LogisticRegression().fit(x, y), x, y)
    assert found.does_average is None
    assert "nan" not in str(found)
    assert not found.finer_labels_help
    assert found.advice == "no finer labels"
    assert "No finer labels found: keep the labels as they are." in found.verdict
    assert found.gain is not None  # it was tried all the same
    (claim,) = (claim for claim in found.to_result().claims if "Finer labels" in claim.text)
    assert claim.verdict != "fails"


def test_labels_that_cost_accuracy_or_bring_little_are_not_advised(averaging: Any) -> None:
    _, found = averaging
    assert found.finer_labels_help
    gain = found.gain
    model = gain.over_model

    def wrong(errors: int) -> Any:
        right = np.ones(len(model.before.right))
        right[:errors] = 0
        return replace(gain, over_model=replace(model, after=replace(model.after, right=right)))

    few, many = wrong(2), wrong(60)
    assert replace(found, gain=few).finer_labels_help  # a loss that noise or keep_accuracy allows
    assert replace(found, gain=many).advice == "too few points"  # perhaps it only learned from fewer
    assert "Pass those that it was trained on" in replace(found, gain=many).verdict
    costly = replace(found, gain=replace(many, train_given=True))
    assert costly.advice == "costs accuracy"
    assert "will not help" not in costly.verdict
    for name in ("over_model", "over_coarse"):
        other = getattr(gain, name)
        equal = replace(gain, **{name: replace(other, before=other.after)})
        little = replace(found, gain=replace(equal, train_given=True))
        assert little.advice == "will not help"
        # The page must not call unhealthy what the verdict does not advise to change.
        assert little.to_result().claims[-1].interval == (1.0, 1.0)
    # Less robust than a model that learned from more points says nothing about labels.
    equal = replace(gain, over_model=replace(model, before=model.after))
    assert replace(found, gain=equal).advice == "unsure"


def test_with_the_training_points_finer_labels_are_tried_on_all_of_them(averaging: Any) -> None:
    data, _ = averaging
    few = data.resample(90, seed=1)
    found = diagnose(averaging_network(data), few.x, few.y, train=(data.x, data.y))
    assert found.gain.trained_on == len(data)
    assert found.per_class.tolist() == [5, 5]
    assert found.advice == "train on finer labels"
    assert len(found.gain.over_model.before.right) == found.points == 90  # each is judged once
    assert found.gain.over_model.accuracy[0] == found.accuracy
    with pytest.raises(InputError, match="train must have the classes"):
        diagnose(averaging_network(data), few.x, few.y, train=(data.x, data.y + 5))
    with pytest.raises(InputError, match=r"train must be \(X, y\)"):
        diagnose(averaging_network(data), few.x, few.y, train=(data.x,))


def test_a_model_at_chance_is_told_so_and_nothing_else(averaging: Any) -> None:
    data, _ = averaging
    shuffled = data.x[:, np.random.default_rng(0).permutation(data.x.shape[1])]
    found = diagnose(averaging_network(data), shuffled, data.y)
    assert found.advice == "at chance"
    assert found.verdict.startswith("This model is no better than chance on these points")
    assert "finer" not in found.verdict
    # Always saying the frequent class is chance, too, however accurate that looks.
    rare = np.concatenate([np.flatnonzero(data.y > 0), np.flatnonzero(data.y < 0)[:20]])
    always = (np.zeros((1, 60)) + 1e-9, [1.0])
    assert diagnose(always, data.x[rare], data.y[rare], data.cluster[rare]).advice == "at chance"


def test_a_refined_model_is_called_so(averaging: Any) -> None:
    data, _ = averaging
    model = SubclassClassifier(5, steps=100, random_state=0).fit(data.x, data.y)
    found = diagnose(model, data.x, data.y)
    assert found.advice == "already refined"
    assert found.gain is None
    assert "already refined" in found.verdict


def test_sentences_say_which_of_index_and_p_value_fails(averaging: Any) -> None:
    _, found = averaging
    uneven = replace(found, averages=replace(found.averages, index=np.full_like(found.averages.index, 0.44)))
    assert uneven.does_average is False
    assert "more than chance does, but hold some sub-classes far more than others" in uneven.verdict
    assert "Finer labels help all the same." in uneven.verdict
    chance = replace(found, averages=replace(found.averages, p_values=np.full_like(found.averages.p_values, 0.4)))
    assert "no nearer to the average of their class than chance explains" in chance.verdict


def test_the_change_in_accuracy_is_paired() -> None:
    before, after = np.repeat([True, False], [90, 10]), np.repeat([True, False], [80, 20])
    low, high = normal(after.astype(float) - before)
    np.testing.assert_allclose([(low + high) / 2, high - low], [-0.1, 2 * 1.96 * 0.3 / 10])
    assert normal(before.astype(float) - before) == (0.0, 0.0)


def test_overlapping_gaussians_in_the_plane_are_one_cloud_each() -> None:
    """Cuts through one cloud bend the boundary, and a weak attack would call that robust."""
    rng = np.random.default_rng(1008)
    u = rng.standard_normal(2)
    y = np.arange(500) % 2
    x = rng.standard_normal((500, 2)) + np.outer(y, u / np.linalg.norm(u))
    found = diagnose(LogisticRegression().fit(x, y), x, y, n_subclasses=8, seed=1008)
    assert found.per_class.max() == 8
    assert not found.finer_labels_help


def test_page_record_and_json_say_the_same(averaging: Any, tmp_path: Path) -> None:
    _, found = averaging
    text = found.report(tmp_path / "page.html").read_text()
    assert "It averages" in text
    assert text.count("<svg") == len(found.to_result().evidence.drawings) == 2
    assert "http:" not in text
    assert "https:" not in text
    record = found.to_result()
    assert [claim.verdict for claim in record.claims] == ["fails", "fails", "fails"]
    content = json.loads(found.to_json())
    assert content["does_average"] is True
    assert content["fragile"] == found.fragile.tolist()
    assert content["verdict"] == found.verdict
    assert str(found).startswith(found.verdict)


def test_radii_that_are_not_of_the_inputs_say_so_in_words_and_in_every_table(averaging: Any) -> None:
    _, found = averaging
    hidden = replace(found, space="the features that come into 'head'")
    assert "its median radius is" in found.verdict
    assert "its median radius in the features that come into 'head' is" in hidden.verdict
    for rows in (hidden.table(), hidden.gain_table()):
        assert any(name.endswith("in the features that come into 'head'") for name, _ in rows)


def test_a_table_of_points_has_their_names_classes_and_subclasses(
    averaging: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, found = averaging
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns, index: (columns, index)))
    columns, index = found.to_frame([f"p{row}" for row in range(len(data))])
    assert index.tolist() == [f"p{row}" for row in found.rows]
    assert columns["class"].tolist() == data.y[found.rows].tolist()
    assert {str(name).split(".")[0] for name in columns["subclass"]} <= {"-1", "1"}
    assert all(str(name).startswith(f"{of}.") for name, of in zip(columns["subclass"], columns["class"], strict=True))
    np.testing.assert_array_equal(columns["margin"] > 0, columns["attack"] > 0)
    assert columns["fragile"].sum() == len(found.fragile)


class Twofold(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(30, 8), torch.nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        return torch.log_softmax(self.second(torch.relu(self.first(x))), dim=1)


def test_one_network_is_one_decision_however_it_is_written() -> None:
    torch.manual_seed(0)
    whole, (x, y, _) = Twofold(), features(0, samples=60)
    plain = torch.nn.Sequential(whole.first, torch.nn.ReLU(), whole.second)
    dropping = torch.nn.Sequential(
        torch.nn.Flatten(), *plain[:2], torch.nn.Dropout(), plain[2], torch.nn.Softmax(dim=1)
    )
    expected = read_decision(plain, x, y)
    assert expected.space == "the inputs"
    for module in (whole, dropping):
        found = read_decision(module, x, y)
        assert found.space == expected.space
        np.testing.assert_array_equal(found.attack(np.arange(9)), expected.attack(np.arange(9)))


class Backbone(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.early = torch.nn.Linear(30, 8)
        self.head = torch.nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        return self.head(torch.tanh(self.early(x)))


def test_torch_heads_arrays_and_linear_models_are_the_same_thing() -> None:
    torch.manual_seed(0)
    module, (x, y, fine) = Backbone(), features(0, samples=120)
    deep = diagnose(module, x, y, fine)
    inner = torch.tanh(module.early(torch.tensor(x, dtype=torch.float32))).detach().double().numpy()
    weights, bias = (part.detach().double().numpy() for part in (module.head.weight, module.head.bias))
    for plain in (diagnose((weights, bias), inner, y, fine), diagnose((inner, weights, bias), None, y, fine)):
        np.testing.assert_allclose(plain.averages.alignment, deep.averages.alignment)
        np.testing.assert_allclose(plain.attack, deep.attack)
    # The radius of a linear decision is margin / ‖difference of rows‖.
    outputs = inner[deep.rows] @ weights.T + bias
    margin = (outputs[:, 1] - outputs[:, 0]) * (2 * y[deep.rows] - 1)
    np.testing.assert_allclose(deep.attack, np.maximum(margin, 0) / np.linalg.norm(weights[1] - weights[0]), atol=1e-6)
    with pytest.raises(InputError, match="one of the linear layers early, head, got 'tail'"):
        diagnose(module, x, y, head="tail")


def test_a_module_without_a_linear_head_is_refused_with_what_it_has() -> None:
    x, y, _ = features(0)
    module = torch.nn.Sequential(torch.nn.Conv1d(1, 1, 1), torch.nn.ReLU())
    with pytest.raises(InputError, match="needs a linear head, got only Conv1d, ReLU"):
        diagnose(module, x, y)


def test_without_torch_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, _ = features(0)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"pip install 'featavg\[deep\]'"):
        diagnose(Backbone(), x, y)


X, Y, FINE = features(0, samples=60)
W = np.ones((1, 30))


@pytest.mark.parametrize(
    ("model", "x", "y", "sublabels", "message"),
    [
        ((W,), X, np.zeros(60), None, "at least 2 classes"),
        ((W,), np.ones((60, 30)), Y, None, "same values everywhere"),
        ((W,), np.where(X[0, 0] == X, np.nan, X), Y, None, "NaN"),
        ((W[:, :5],), X, Y, None, "as wide as the head, got 30 features and 5 weights"),
        ((np.ones((3, 30)),), X, Y, None, "3 outputs cannot decide between 2 classes"),
        ((W, [0.0]), X, Y, [0] * 60, "every sub-label must lie in one class"),
        ((np.zeros((1, 30)),), X, Y, None, "all 0"),
        ((W,), X[:9], Y[:9], None, "at least 8 points of every class"),
        ((W,), None, Y, None, "x must be points, got None"),
    ],
)
def test_bad_input_gets_one_sentence(model: Any, x: Any, y: Any, sublabels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        diagnose(model, x, y, sublabels)


def test_more_sub_labels_than_points_are_refused() -> None:
    with pytest.raises(InputError, match="has 15 points, fewer than 16 sub-labels; ask for fewer"):
        diagnose((W,), X, Y, n_subclasses=16)


def test_unseen_labels_are_refused() -> None:
    with pytest.raises(InputError, match=r"labels among \[0, 1\], got 2; map yours"):
        diagnose(LogisticRegression().fit(X, Y), X, np.where(np.arange(60) == 3, 2, Y))
