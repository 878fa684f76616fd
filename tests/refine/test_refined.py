"""Before and after: what is reported is what an independent measurement of the two networks gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from featavg import InputError, load_classifier, load_network, robust_radius, save_classifier, save_network
from featavg.data import split
from featavg.model import read_about
from featavg.refine import Comparison, SubclassClassifier, refine_points
from featavg.refine.decision import Measured, widened
from featavg.refine.select import FIFTHS


def clouds(samples: int = 240, classes: int = 2) -> tuple[Any, Any]:
    """Two clouds for each class, around orthogonal centers."""
    rng = np.random.default_rng(0)
    fine = np.arange(samples) % (2 * classes)
    return 6.0 * np.eye(8)[fine] + rng.normal(size=(samples, 8)), np.array(["a", "b", "c"])[fine % classes]


@pytest.mark.parametrize("classes", [2, 3])
def test_accuracy_and_radii_are_those_of_the_two_networks_at_points_they_have_not_seen(classes: int) -> None:
    x, y = clouds(classes=classes)
    told: list[float] = []
    found = refine_points(x, y, n_subclasses=2, seed=5, progress=lambda share, what: told.append(share))
    parts = split(np.unique(y, return_inverse=True)[1], FIFTHS, 5)
    judge = parts[0]
    assert len(found.model.subclass_) == 192 == 240 - len(judge)
    codes = np.searchsorted(found.model.classes_, y[judge])
    compared = found.compared
    first = compared.before.right_split == 0
    np.testing.assert_array_equal(compared.before.right[first], found.coarse.predict(x[judge]) == codes)
    np.testing.assert_array_equal(compared.after.right[first], found.model.predict(x[judge]) == y[judge])
    assert len(compared.before.right) == sum(map(len, parts[:3]))
    here = compared.before.split == 0
    few = slice(0, int(here.sum()))
    before = robust_radius(found.coarse, x[judge][few], codes[few])
    after = found.model.robust_radius(x[judge][few], y[judge][few])  # of the decision that predict makes
    np.testing.assert_allclose(compared.before.upper[here], before.upper, rtol=1e-4)
    assert (compared.after.lower[here] <= after.upper * (1 + 1e-6)).all()
    assert (compared.after.upper[here] >= after.lower * (1 - 1e-6)).all()
    assert found.coarse.neurons == found.model.network_.neurons
    assert (told, told[-1]) == (sorted(told), 1.0)


def measured(right: Any, lower: Any, upper: Any, splits: int = 1) -> Measured:
    parts = [np.arange(len(values)) * splits // len(values) for values in (right, upper)]
    return Measured(np.asarray(right, float), parts[0], np.asarray(lower, float), np.asarray(upper, float), parts[1])


def compared(
    upper: Any, lower: Any = None, right: Any = ([1, 1, 1, 0], [1, 1, 1, 1]), splits: int = 1, **options: Any
) -> Comparison:
    low = np.zeros(np.shape(upper)) if lower is None else lower
    sides = [measured(right[side], low[side], upper[side], splits) for side in (0, 1)]
    return Comparison(("x", "y"), "a ruler", (2, 3), *sides, **options)


def test_proved_radii_count_against_refinement_and_attacks_are_called_so() -> None:
    upper = [[1.0, 2.0, 3.0, 0.0], [4.0, 6.0, 8.0, 2.0]]
    attack = compared(upper)
    assert (attack.median, attack.robust) == ((1.5, 5.0), (0.5, 1.0))
    assert "under attack at ℓ2 radius 1.5 from 0.500 to 1.000" in attack.verdict
    assert "Radii by a ruler: upper bounds." in attack.note
    proved = compared(upper, [[0.5, 1.0, 3.0, 0.0], [2.0, 3.0, 4.0, 1.0]])
    assert (proved.median, proved.robust) == ((1.5, 2.5), (0.5, 0.75))
    assert ", at ℓ2 radius 1.5 from 0.500 to 0.750" in proved.verdict
    assert "exact at 0 of 4 points" in proved.note
    assert attack.to_result().evidence.table["robust"][:, 0].tolist() == [0.75, 1.0]


def test_the_verdict_follows_the_interval() -> None:
    rng = np.random.default_rng(0)
    radii = rng.uniform(1, 2, size=100)
    for factor, words in ((2.0, "hardened it"), (0.5, "weakened it"), (1.0, "made no sure difference")):
        found = compared([radii, factor * rng.permutation(radii)])
        assert found.verdict.startswith(f"Refinement {words}: the median radius is {factor:.2f} times as large")
        assert str(found).startswith(found.verdict)
        assert json.loads(found.to_json())["helped"] is found.helped is (factor > 1)


def test_lost_accuracy_is_not_celebrated_and_what_may_be_lost_is_an_option() -> None:
    radii = np.random.default_rng(0).uniform(1, 2, size=100)
    right = [np.ones(100), np.arange(100) >= 28]
    lost = compared([radii, 26 * radii], right=right)
    assert lost.outcome == "costs accuracy"
    assert not lost.helped
    assert "costs accuracy: clean accuracy goes from 1.000 to 0.720" in lost.verdict
    assert compared([radii, 26 * radii], right=right, keep_accuracy=0.3).helped


def test_splits_that_disagree_are_not_called_sure() -> None:
    """One of three trainings gains a lot, two nothing: over points alone that would be a sure gain."""
    rng = np.random.default_rng(0)
    before = rng.uniform(1, 1.02, size=99)
    luck = np.repeat([1.6, 1.02, 1.02], 33)
    pooled, apart = (compared([before, luck * before], splits=splits) for splits in (1, 3))
    assert pooled.outcome == "hardened"
    assert apart.outcome == "no sure difference"
    assert compared([before, 1.5 * before], splits=3).outcome == "hardened"
    # What the points explain widens nothing; the rest enters with Student's factor, 12.7 for two splits.
    assert widened(1.0, (0.0, 2.0), (1.1, 0.9)) == (0.0, 2.0)
    low, high = widened(1.0, (1.0, 1.0), (0.9, 1.1))
    np.testing.assert_allclose([low, high], [1 - 12.7062 * 0.1, 1 + 12.7062 * 0.1], rtol=1e-4)


def test_zero_medians_have_no_ratio_and_one_sub_class_each_is_no_refinement() -> None:
    for upper in ([[0, 0, 1], [1, 2, 3]], [[1, 2, 3], [0, 0, 1]], [[1, 2, 3], [np.inf] * 3]):
        found = compared(upper)
        assert (found.factor, found.outcome) == (None, "no radius")
        assert "have no ratio" in found.verdict
        assert found.to_result().claims == ()
        assert json.loads(found.to_json())["factor"] is None
    single = Comparison(("x", "y"), "a ruler", (1, 1), found.before, found.after)
    assert single.verdict.startswith("No finer labels found")
    assert not single.helped


def test_one_column_that_holds_all_of_the_variance_is_told() -> None:
    x, y = clouds()
    found = refine_points(x * [1000, *[1] * 7], y, n_subclasses=1)
    assert "Column 0 alone has" in found.compared.note
    assert "No finer labels found" in found.compared.verdict
    assert "alone has" not in refine_points(x, y, n_subclasses=1).compared.note


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_a_classifier_comes_back_from_its_file(ending: str, tmp_path: Path) -> None:
    x, y = clouds(classes=3)
    names = np.array(["é", "b", "c"])[np.searchsorted(["a", "b", "c"], y)]
    for labels in (names, np.searchsorted(["a", "b", "c"], y) - 1):
        model = SubclassClassifier(2, steps=30, random_state=0).fit(x, labels)
        path = tmp_path / f"model.{ending}"
        save_classifier(model, path)
        again = load_classifier(path)
        assert np.array_equal(again.predict(x), model.predict(x))
        assert np.array_equal(again.predict_subclass(x), model.predict_subclass(x))
        assert np.array_equal(again.predict_proba(x), model.predict_proba(x))
        assert np.array_equal(load_network(path).outputs(x), model.network_.outputs(x))
        with pytest.raises(ValueError, match="8 features"):
            again.predict(x[:, :3])
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_an_interrupted_write_leaves_the_old_file_and_no_part_of_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = clouds()
    model, path = SubclassClassifier(2, steps=30, random_state=0).fit(x, y), tmp_path / "model.npz"
    save_classifier(model, path)
    before = path.read_bytes()

    def interrupt(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("numpy.savez", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_classifier(model, path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_files_without_names_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    x, y = clouds()
    network = SubclassClassifier(2, steps=30, random_state=0).fit(x, y).network_
    save_network(network, tmp_path / "plain.npz")
    assert read_about(tmp_path / "plain.npz") == {}
    with pytest.raises(InputError, match="with the names of its classes, got one without; use load_network"):
        load_classifier(tmp_path / "plain.npz")
    names = {"classes": ["a", "b"], "class_of": [0, 0, 1, 7], "subclass_names": ["1"] * 4}
    save_network(network, tmp_path / "wrong.npz", names)
    with pytest.raises(InputError, match=r"class_of must be labels among \[0, 1\], got 7"):
        load_classifier(tmp_path / "wrong.npz")
    arrays = dict(np.load(tmp_path / "wrong.npz"))
    np.savez(tmp_path / "torn.npz", **{**arrays, "about": arrays["about"][:9]})
    with pytest.raises(InputError, match="is damaged"):
        load_classifier(tmp_path / "torn.npz")


@pytest.mark.parametrize(
    ("y", "sublabels", "sentence"),
    [
        (["a"] * 240, None, "at least 2 classes"),
        (["a"] * 5 + ["b"] * 235, None, "at least 10 points of every class, got 5 of 'a'"),
        (["a", "b"] * 120, ["s"] * 3, "sublabels must be one for each of 240 points"),
        (["a", "b"] * 120, ["s"] * 240, "every sub-label must lie in one class"),
    ],
)
def test_bad_input_gets_one_sentence(y: Any, sublabels: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        refine_points(clouds()[0], y, sublabels, n_subclasses=2)


def test_a_comparison_is_drawn_by_the_suffix_of_its_file(tmp_path: Path) -> None:
    found = compared([[1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0]])
    beginnings = {"pdf": b"%PDF-", "svg": b"<?xml", "png": b"\x89PNG"}
    for kind, beginning in beginnings.items():
        found.plot(tmp_path / f"curves.{kind}")
        assert (tmp_path / f"curves.{kind}").read_bytes().startswith(beginning)
    assert found.plot().axes[0].get_xlabel() == "ℓ2 size"
    with pytest.raises(InputError, match=r"curves.docx must end in .pdf or .svg or .png"):
        found.plot(tmp_path / "curves.docx")


def test_accuracy_that_is_won_is_won_beyond_what_is_allowed_and_beyond_chance() -> None:
    radii = np.ones((2, 4))
    wrong = np.repeat([0.0, 1.0], [10, 90])
    assert compared(radii, right=(wrong, np.ones(100))).gains_accuracy
    assert not compared(radii, right=(np.ones(100), wrong)).gains_accuracy
    assert not compared(radii, right=(wrong, np.ones(100)), keep_accuracy=0.2).gains_accuracy
    assert not compared(radii, right=([0.0, 1, 1, 1], [1.0, 1, 1, 1])).gains_accuracy  # one point may be chance
