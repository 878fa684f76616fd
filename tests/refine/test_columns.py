"""Names of columns that a model remembers, a scale that is part of it, the user's own model and test points."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from featavg import InputError, SubclassClassifier, load_classifier, refine_points, save_classifier
from featavg.refine import check_columns, discover_sublabels, read_decision
from featavg.refine.frame import Scale

UNITS = np.array([1.0, 1e3, 1.0, 1.0, 1e-3, 1.0])


class Table:
    """As much of a pandas table as scikit-learn and NumPy look at."""

    def __init__(self, values: Any, columns: list[str]) -> None:
        self.values, self.columns, self.shape = values, columns, values.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)


def clouds(samples: int = 240, units: Any = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    fine = np.arange(samples) % 4
    return (6.0 * np.eye(6)[fine] + rng.normal(size=(samples, 6))) * units, np.array(["cat", "dog"])[fine % 2]


@pytest.fixture(scope="module")
def scaled() -> Any:
    x, y = clouds(units=UNITS)
    return x, y, refine_points(x, y, n_subclasses=2, scale=True, baselines=True)


def test_permuted_missing_and_added_columns_are_refused_also_by_a_model_from_a_file(tmp_path: Path) -> None:
    x, y = clouds()
    names = list("abcdef")
    model = SubclassClassifier(2, steps=20, random_state=0).fit(x, y)
    model.columns_ = tuple(names)
    save_classifier(model, tmp_path / "model.npz")
    read = load_classifier(tmp_path / "model.npz")
    assert read.columns_ == tuple(names)
    assert np.array_equal(read.predict(x), model.predict(x))  # without names nothing can be said
    for wrong, said in (
        (["b", "a", *"cdef"], "must come as in training .a, b, c, ….*'b' as the first"),
        ([*"abcde", "z"], "trained with a column 'f'"),
    ):
        with pytest.raises(InputError, match=said):
            read.predict(Table(x, wrong))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not trained with a column 'g'"):
        check_columns(names, [*names, "g"])


def test_a_scaled_network_decides_as_the_one_on_raw_points() -> None:
    x, y = clouds()
    scale = Scale.of(x * 7 + 3)
    network = SubclassClassifier(2, steps=20, random_state=0).fit(scale.inside(x * 7 + 3), y).network_
    wanted = network.outputs(scale.inside(x * 7 + 3))
    np.testing.assert_allclose(scale.raw(network).outputs(x * 7 + 3), wanted, rtol=1e-9)
    np.testing.assert_allclose(scale.scaled(scale.raw(network)).weights, network.weights, rtol=1e-12)


def test_a_scaled_refinement_takes_points_as_they_are_and_does_not_depend_on_their_units(scaled: Any) -> None:
    x, y, found = scaled
    assert found.model.score(x, y) > 0.97
    plain = refine_points(*clouds(), n_subclasses=2, scale=True)
    np.testing.assert_allclose(found.model.network_.weights * UNITS, plain.model.network_.weights, rtol=1e-4)
    np.testing.assert_allclose(found.compared.median[0], plain.compared.median[0], rtol=1e-3)
    assert "in deviations of the columns" in found.compared.note
    assert "In the units of the points the median radii are" in found.compared.note


def test_baselines_stand_in_the_same_table_and_objects_show_themselves_shortly(scaled: Any) -> None:
    _, _, found = scaled
    names = [one.name for one in found.compared.standings]
    assert names[2:] == ["MLP", "MLP with decay", "logistic regression", "adversarial training"]
    for one in found.compared.standings:
        assert one.accuracy_interval[0] <= one.accuracy <= one.accuracy_interval[1]
        assert one.radius_interval[0] <= one.radius <= one.radius_interval[1]
        assert one.name in str(found)
        assert one.name in found._repr_html_()
    assert len(repr(found)) < 200
    compared = found.compared
    sides = [compared.before, compared.after, *(side for _, side in compared.others)]
    # One kind of bound in one table: a proved radius beside attacked ones would look like the smaller one.
    assert [one.radius for one in compared.standings] == [np.median(side.upper) for side in sides]
    assert "radii are upper bounds: by that search for the first two, by an attack for the others" in compared.note
    assert [cell.split()[:2] for cell in compared.table()[-1][1:]] == [["at", "most"], ["at", "least"]]


def test_the_trials_that_no_other_beats_are_told_as_table_and_picture(tmp_path: Path) -> None:
    x, y = clouds()
    # So much noise that accuracy and radius want different steps.
    found = refine_points(x + 2.0 * np.random.default_rng(1).normal(size=x.shape), y, n_subclasses=(1, 2))
    choice = found.model.choice_
    assert len(choice.trials) > 10
    for one in choice.front():
        assert not any(
            other.accuracy >= one.accuracy and other.radius >= one.radius and other != one for other in choice.trials
        )
    head, *rows = found.front_table()
    assert len(rows) == len(choice.front()) >= 2
    assert all(cell in found.summary() for row in (head, *rows) for cell in row)
    assert len(repr(choice)) < 100
    figure = found.plot_front(tmp_path / "front.svg")
    assert len(figure.axes[0].get_lines()) == len(rows)
    assert head[0] in found.report(tmp_path / "page.html").read_text()


def test_logistic_regression_beside_has_the_distances_to_its_plane() -> None:
    """Two classes, no scale: in the frame of refinement and back, against the plane computed here."""
    from featavg.data import Labels
    from featavg.refine.baselines import baselines

    x, y = clouds()
    learn, judge = np.arange(160), np.arange(160, 240)
    labels = Labels.of(y)
    found = baselines(x, labels, learn, (x[judge], labels.take(judge)), 4, 0)
    line = next(one for one in found if one.kind == "logistic regression")
    centred = x[learn] - x[learn].mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=1).mean() / x.shape[1])
    model = LogisticRegression(max_iter=1000).fit(centred / size, labels.codes[learn])
    side = model.decision_function((x[judge] - x[learn].mean(axis=0)) / size) * (2 * labels.codes[judge] - 1)
    distance = np.maximum(side, 0.0) / np.linalg.norm(model.coef_) * size
    np.testing.assert_allclose(line.attack(np.arange(80)), distance, rtol=1e-3, atol=1e-6)


def test_adversarial_training_beside_is_more_robust_than_the_same_network_without_an_attack() -> None:
    """Four clusters on orthogonal axes: the plain network averages, the attacked one may not."""
    from featavg.refine.baselines import adversarial_network, coarse_network

    x, y = clouds(480)
    codes = (y == "dog").astype(int)
    hard, plain = (make(x[:240], codes[:240], 20, 0) for make in (adversarial_network, coarse_network))
    sides = [read_decision(network, x[240:], codes[240:]) for network in (hard, plain)]
    assert sides[0].right().mean() >= sides[1].right().mean() - 0.02
    radii = [float(np.median(side.attack(np.arange(240)))) for side in sides]
    assert radii[0] > 1.1 * radii[1]


def test_the_users_own_model_is_compared_at_the_users_own_points() -> None:
    x, y = clouds()
    model = MLPClassifier((16,), max_iter=2000, random_state=0).fit(x[:160], y[:160])
    found = refine_points(x[:160], y[:160], model=model, test=(x[160:], y[160:]), n_subclasses=2)
    assert len(found.model.subclass_) == 160  # nothing held out
    assert found.compared.accuracy[0] == model.score(x[160:], y[160:])
    assert "16 neurons" in found.compared.kinds[0]
    with pytest.raises(InputError, match="model= needs test="):
        refine_points(x, y, model=model)
    with pytest.raises(InputError, match="test must be"):
        refine_points(x, y, test=(x,))


def test_a_linear_classifier_behind_a_scaler_is_read_in_raw_units() -> None:
    x, y = clouds(units=UNITS)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    decision = read_decision(model, x, y)
    assert decision.right().mean() == model.score(x, y)
    slope = model[-1].coef_[0] / model[0].scale_
    side = model.decision_function(x) * np.where(y == "dog", 1, -1)
    np.testing.assert_allclose(
        decision.attack(np.arange(len(x))), np.maximum(side, 0.0) / np.linalg.norm(slope), rtol=1e-5, atol=1e-12
    )


def test_subclasses_are_drawn_with_their_names_and_sizes(tmp_path: Path) -> None:
    found = discover_sublabels(*clouds(), n_subclasses=2)
    figure = found.plot(tmp_path / "sizes.png")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == found.names.tolist()
    assert sorted(line.get_xdata()[0] for line in figure.axes[0].get_lines() if line.get_marker() == "o") == sorted(
        found.sizes.tolist()
    )
    assert (tmp_path / "sizes.png").stat().st_size > 1000


def test_a_page_has_a_table_for_before_and_after_and_one_for_all_classifiers(scaled: Any, tmp_path: Path) -> None:
    _, _, found = scaled
    text = found.compared.report(tmp_path / "page.html").read_text(encoding="utf-8")
    first, second, *_ = (text[place.start() :] for place in re.finditer("<table class='facts'>", text))
    assert first.index("before") < first.index("</table>") < first.index("adversarial training")
    assert second.index("accuracy") < second.index("adversarial training") < second.index("</table>")
