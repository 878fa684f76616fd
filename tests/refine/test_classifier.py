"""SubclassClassifier: a scikit-learn estimator that is more robust than coarse labels make it, with honest radii."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from featavg import InputError, load_images
from featavg.refine import SubclassClassifier
from featavg.refine.frame import Frame, State, at_centers, descend
from featavg.refine.select import RATES, Trial, Worth, _best, folds, grouped, marks_until, newton_distances, pool
from featavg.robustness import Budget
from featavg.robustness.attacks import GradientWalk
from featavg.robustness.attacks.newton import NewtonWalk


@parametrize_with_checks([SubclassClassifier(random_state=0, max_steps=200)])
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def blobs(classes: int = 2, seed: int = 0) -> tuple[Any, Any, Any]:
    """Four clusters per class at orthogonal directions of length 6, noise 1."""
    rng = np.random.default_rng(seed)
    fine = rng.integers(4 * classes, size=400)
    return 6.0 * np.eye(30)[fine] + rng.standard_normal((400, 30)), np.array(list("abc"))[fine % classes], fine


@pytest.fixture(scope="module")
def digits() -> Any:
    train, test = load_images("digits", "train"), load_images("digits", "test")
    return train, test, SubclassClassifier(random_state=0).fit(train.x, train.y)


def walk(model: Any, test: Any) -> Any:
    return GradientWalk(restarts=0)(model.network_, test.x[:150], test.y[:150], readout="summed-probabilities").upper


def test_finer_labels_make_digits_harder_to_fool_and_no_less_accurate(digits: Any) -> None:
    train, test, auto = digits
    coarse = SubclassClassifier(n_subclasses=1, random_state=0).fit(train.x, train.y)
    assert auto.score(test.x, test.y) > 0.96 > coarse.score(test.x, test.y)
    assert np.median(walk(auto, test)) > 1.5 * np.median(walk(coarse, test))
    assert auto.choice_.count >= 10
    assert auto.choice_.baseline is not None


def test_robustness_comes_early_and_is_trained_away(digits: Any) -> None:
    train, test, _ = digits
    early, late = (
        SubclassClassifier(n_subclasses=20, steps=n, random_state=0).fit(train.x, train.y) for n in (150, 4000)
    )
    assert np.mean(walk(early, test)) > 1.1 * np.mean(walk(late, test))
    assert late.score(train.x, train.y) >= early.score(train.x, train.y)


def test_radii_are_exact_where_named_so(digits: Any) -> None:
    _, test, auto = digits
    found = auto.robust_radius(test.x[:15], test.y[:15], readout="maximum")
    assert set(found.status) == {"exact"}
    assert found.verify().all()
    five = SubclassClassifier(n_subclasses=5, random_state=0).fit(digits[0].x, digits[0].y)
    shown = five.robust_radius(test.x[:10], test.y[:10], budget=Budget(nodes=20_000, seconds=60.0))
    assert (shown.upper <= 1.02 * shown.lower).all()
    fooled = five.predict(shown.witness * (1 + 1e-9) - 1e-9 * test.x[:10]) != test.y[:10]
    assert fooled.all()


def test_what_all_outputs_share_leaves_brackets_that_verify(digits: Any) -> None:
    """A large common level hides differences in rounding; a bound must not claim more than its proof then gives."""
    train, test, _ = digits
    five = SubclassClassifier(n_subclasses=5, random_state=0).fit(train.x, train.y)
    five.network_ = five.network_.changed(biases=five.network_.biases + 180.0)
    found = five.robust_radius(test.x[:30], test.y[:30])
    assert found.verify().all()


def test_many_sub_classes_leave_useful_brackets_of_their_summed_probabilities(digits: Any) -> None:
    _, test, auto = digits
    found = auto.robust_radius(test.x[:5], test.y[:5])
    assert auto.choice_.count >= 20
    assert found.verify().all()
    assert np.median(found.lower / found.upper) > 0.8


def test_three_classes_have_radii_of_the_fine_maximum_against_the_rest() -> None:
    x, y, _ = blobs(classes=3)
    model = SubclassClassifier(n_subclasses=4, random_state=0).fit(x, y)
    found = model.robust_radius(x[:12], y[:12], readout="maximum")
    assert set(found.status) == {"exact"}
    assert found.question.fooled(found.witness).all()
    right = model.predict(x[:12]) == y[:12]
    assert right.sum() > 9
    assert (found.upper[right] > 0.1).all()
    inside = x[:12] + 0.99 * (found.witness - x[:12])
    assert (model.classes_[model.class_of_[model.network_.predict(inside)]] == y[:12]).all()
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1)


def test_known_sub_labels_are_used_and_unknown_ones_completed() -> None:
    x, y, fine = blobs()
    some = np.where(np.arange(400) % 3 == 0, fine, -1)
    model = SubclassClassifier(random_state=0, max_steps=100).fit(x, y, sublabels=some)
    assert model.subclass_names_.tolist() == ["0", "2", "4", "6", "1", "3", "5", "7"]
    assert (model.subclass_names_[model.subclass_].astype(int) == fine).mean() > 0.99
    assert {name: sub.tolist() for name, sub in model.subclasses_of_.items()} == {"a": [0, 1, 2, 3], "b": [4, 5, 6, 7]}
    assert (model.predict_subclass(x).astype(int) == fine).mean() > 0.97
    text = SubclassClassifier(random_state=0, max_steps=100).fit(x, y, [None if s < 0 else f"s{s}" for s in some])
    np.testing.assert_array_equal(text.subclass_, model.subclass_)


def test_one_gaussian_a_class_loses_no_accuracy_to_auto() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(1200) % 2
    x = rng.standard_normal((1200, 20)) + 0.35 * (2 * y - 1)[:, None]
    auto, one = (
        SubclassClassifier(n, random_state=0, max_steps=800).fit(x[:600], y[:600]) for n in ("auto", 1)
    )  # fmt: skip
    assert auto.score(x[600:], y[600:]) >= one.score(x[600:], y[600:]) - 0.02


def test_it_works_in_pipelines_searches_and_cross_validation() -> None:
    x, y, _ = blobs()
    model = make_pipeline(StandardScaler(), SubclassClassifier(random_state=0, max_steps=100))
    assert cross_val_score(model, x, y, cv=3).mean() > 0.9
    search = GridSearchCV(SubclassClassifier(random_state=0, max_steps=100), {"n_subclasses": [1, 4]}, cv=3).fit(x, y)
    assert search.best_params_ == {"n_subclasses": 4}


def test_weights_count_as_repetitions_and_shift_and_scale_change_nothing() -> None:
    x, y, _ = blobs()
    model = SubclassClassifier(n_subclasses=4, random_state=0, steps=50)
    plain, moved = model.fit(x, y).predict_proba(x), model.fit(1000 * x + 7, y).predict_proba(1000 * x + 7)
    np.testing.assert_allclose(plain, moved, atol=1e-3)
    blurred = x + 3.0 * np.random.default_rng(0).standard_normal(x.shape)
    heavy = np.where(y == "a", 20.0, 1.0)
    even, weighted = (model.fit(blurred, y, sample_weight=w).predict_proba(blurred)[:, 0] for w in (None, heavy))
    assert weighted.mean() > even.mean() + 0.02


def test_several_neurons_a_sub_class_and_two_ways_to_name_counts() -> None:
    x, y, _ = blobs()
    wide = SubclassClassifier({"a": 4, "b": 3}, neurons_per_subclass=2, random_state=0, max_steps=100).fit(x, y)
    assert wide.network_.weights.shape == (14, 30)
    ranged = SubclassClassifier((2, 5), random_state=0, max_steps=100).fit(x, y)
    assert 2 <= ranged.choice_.count <= 5


def test_no_neuron_is_born_dead_and_the_step_is_stable() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 3)) * [5.0, 1.0, 0.1] + 50
    frame = Frame.of(x, np.ones(100))
    inside = frame.inside(x)
    labels = np.arange(100) % 4
    start = at_centers(np.stack([inside[labels == j].mean(axis=0) for j in range(4)]), 1, 0)
    assert (inside @ start.weights.T + start.biases > 0).all()
    losses, states = [], []
    descend(start, inside, labels, np.ones(100), frame.rate, marks_until(200), 0, lambda _, state: states.append(state))
    for state in states:
        outputs = state.outputs(inside)
        losses.append(np.mean(np.log(np.exp(outputs - outputs.max(1, keepdims=True)).sum(1)) + outputs.max(1)
                              - outputs[np.arange(100), labels]))  # fmt: skip
    assert (np.diff(losses) <= 1e-12).all()


def test_the_state_at_a_mark_is_the_mean_of_the_second_half_whatever_the_other_marks() -> None:
    """Against gradient descent written down once more: all points at once, one neuron per class, some of them off."""
    rng = np.random.default_rng(0)
    x, labels, start = rng.standard_normal((60, 3)), np.arange(60) % 2, at_centers(np.eye(3)[:2], 1, 0)
    w, b, iterates = start.weights.copy(), start.biases.copy(), []
    for _ in range(7):
        z = x @ w.T + b
        f = np.maximum(z, 0.0)
        pull = (np.exp(f) / np.exp(f).sum(axis=1, keepdims=True) - np.eye(2)[labels]) * (z >= 0) / len(x)
        w, b = w - 0.5 * pull.T @ x, b - 0.5 * 0.09 * pull.sum(axis=0)
        iterates.append(w)
    assert 0 < np.mean(z < 0) < 0.5
    states: list[State] = []
    descend(start, x, labels, np.ones(60), 0.5, (3, 7), 0, lambda _, state: states.append(state))
    third, last = states
    np.testing.assert_allclose(third.weights, np.mean(iterates[1:3], axis=0))
    np.testing.assert_allclose(last.weights, np.mean(iterates[3:7], axis=0))


def worth(right: Any, radius: float) -> Worth:
    return Worth(float(np.mean(right)), radius, np.asarray(right, dtype=bool))


@pytest.mark.parametrize(("points", "turns"), [(30, 1), (300, 5), (4000, 3), (20_000, 1)])
def test_few_points_are_held_out_in_turns(points: int, turns: int) -> None:
    codes = np.arange(points) % 2
    parts = folds(codes, np.ones(points), seed=0)
    assert len(parts) == turns
    judged = np.concatenate([held for _, held in parts])
    assert len(np.unique(judged)) == len(judged)
    for fitted, held in parts:
        assert points < 40 or not set(fitted) & set(held)
        assert abs(codes[held].mean() - 0.5) < 0.02
    if turns == 5:
        assert len(judged) == points


def test_a_small_class_among_very_many_points_keeps_enough_to_be_cut_up() -> None:
    codes = (np.arange(120_000) >= 119_400).astype(np.int64)
    ((fitted, held),) = folds(codes, np.ones(120_000), seed=0, least=96)
    assert np.bincount(codes[fitted]).min() >= 96
    assert np.bincount(codes[held]).min() >= 1
    ((few, _),) = folds(codes, np.ones(120_000), seed=0, least=2)
    assert len(few) < len(fitted)


def test_worths_of_folds_are_pooled_over_their_points() -> None:
    first, second = worth([True, False], 1.0), worth([True, True], 3.0)
    both = pool([first, second], np.array([1.0, 2.0, 1.0, 1.0]))
    assert both.accuracy == 3 / 5
    assert both.radius == 2.0


def test_the_choice_is_the_largest_radius_among_trials_that_lose_no_accuracy() -> None:
    top, equal, low = np.ones(100), np.ones(100), np.ones(100)
    equal[:3] = 0  # three errors: 1.7 standard errors of the paired difference
    low[:5] = 0  # five: 2.2 of them
    worths = {2: worth(top, 1.0), 3: worth(equal, 2.0), 4: worth(low, 3.0)}
    tried = [(Trial(count, 1.0, 25, one.accuracy, one.radius), one) for count, one in worths.items()]
    assert _best(tried, None, np.ones(100)).count == 3
    assert _best(tried, 0.96, np.ones(100)).count == 3
    assert _best(tried, 0.98, np.ones(100)).count == 2  # the coarse baseline is not undercut
    assert _best(tried, 1.01, np.ones(100)).count == 3  # which nobody reaches here
    twice = np.full(100, 2.0)  # weights are repetitions: the same shares are surer
    assert _best(tried, None, twice).count == 2


def test_sub_classes_must_earn_their_keep() -> None:
    right, one_less, many_less = np.ones(100), np.ones(100), np.ones(100)
    one_less[0], many_less[:9] = 0, 0

    def chosen(one: Any, radius: float) -> int:
        worths = {1: worth(one, 1.0), 5: worth(right, radius)}
        tried = [(Trial(count, 1.0, 25, found.accuracy, found.radius), found) for count, found in worths.items()]
        return _best(tried, 1.0, np.ones(100)).count

    assert chosen(one_less, 1.04) == 1  # no more robust, and more accurate by luck
    assert chosen(one_less, 1.06) == 5
    assert chosen(many_less, 1.04) == 5


def test_a_learning_rate_is_chosen_with_the_moment_unless_given() -> None:
    x, y, _ = blobs()
    free = SubclassClassifier(4, random_state=0, max_steps=50).fit(x, y)
    assert {trial.rate for trial in free.choice_.trials} == set(RATES)
    assert free.choice_.rate in RATES
    fixed = SubclassClassifier(4, random_state=0, max_steps=50, learning_rate=0.5).fit(x, y)
    assert {trial.rate for trial in fixed.choice_.trials} == {0.5}


def test_newton_distance_of_a_linear_decision_is_the_distance() -> None:
    state = State(np.array([[3.0, 4.0], [-3.0, -4.0]]), np.array([50.0, 50.0]), np.eye(2))
    x, decision = np.array([[1.0, 1.0]]), grouped(np.array([0, 1]))
    np.testing.assert_allclose(newton_distances(state, decision, x, np.array([0])), 7 / 5)
    assert newton_distances(state, decision, x, np.array([1])) == 0


def test_newton_walks_end_where_the_attack_of_the_robustness_room_ends(digits: Any) -> None:
    """The walk in the space of the neurons against the one in that of the inputs, on a decision over sub-classes."""
    _, test, auto = digits
    few, codes = test.x[:60], (test.y[:60] > 0).astype(np.int64)
    network = auto.network_
    state = State(network.weights, network.biases, network.second)
    found = newton_distances(state, grouped(auto.class_of_), few, codes)
    attack = NewtonWalk()(network, few, test.y[:60], readout="summed-probabilities").upper
    assert np.array_equal(found == 0, attack == 0)
    assert np.median(np.abs(found - attack) / np.maximum(attack, 1e-9)) < 0.01


X = np.arange(40.0).reshape(20, 2)
Y = np.arange(20) % 2


@pytest.mark.parametrize(
    ("options", "x", "y", "sublabels", "message"),
    [
        ({}, X, np.zeros(20), None, "at least 2 classes, got 1 class"),
        ({}, np.ones((20, 2)), Y, None, "constant features"),
        ({"n_subclasses": 11}, X, Y, None, "10 points, fewer than 11 sub-labels|8 points, fewer than 11"),
        ({"n_subclasses": 0}, X, Y, None, "got 0"),
        ({"n_subclasses": {0: 2}}, X, Y, None, "no number for 1"),
        ({"learning_rate": -1.0}, X, Y, None, "auto or positive"),
        ({"neurons_per_subclass": 0}, X, Y, None, "at least 1, got 0"),
        ({}, X, Y, ["all"] * 20, "in one class, got 'all' in 2"),
        ({}, X, Y, [0] * 3, "one for each of 20 points"),
    ],
)
def test_bad_input_gets_one_sentence(options: Any, x: Any, y: Any, sublabels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SubclassClassifier(**options).fit(x, y, sublabels=sublabels)


def test_nan_unseen_labels_and_unknown_readouts_are_refused() -> None:
    model = SubclassClassifier(1, steps=10, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X == 3, np.nan, X), Y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.full((1, 2), np.nan))
    with pytest.raises(ValueError, match="3 features, but SubclassClassifier is expecting 2"):
        model.predict(np.ones((1, 3)))
    with pytest.raises(InputError, match=r"labels among \[0, 1\], got 5; map yours"):
        model.robust_radius(X[:1], [5])
    with pytest.raises(InputError, match="maximum, summed-probabilities"):
        model.robust_radius(X[:1], [0], readout="loudest")  # type: ignore[arg-type]


def test_few_points_of_many_columns_are_trained_in_their_span() -> None:
    """Columns that are a rotation of a few give the classifier of the few, rotated."""
    rng = np.random.default_rng(0)
    fine = np.arange(60) % 4
    few = 8.0 * np.eye(5)[fine] + rng.normal(size=(60, 5))
    turn = np.linalg.qr(rng.normal(size=(300, 5)))[0].T
    many, y = few @ turn + rng.normal(size=300), fine % 2
    wide = SubclassClassifier(2, steps=200, random_state=0).fit(many, y)
    narrow = SubclassClassifier(2, steps=200, random_state=0).fit(few, y)
    assert wide.network_.weights.shape == (4, 300)
    np.testing.assert_allclose(wide.predict_proba(many), narrow.predict_proba(few), atol=1e-6)
    # Nothing outside the span moves a decision, and radii are those of the few columns.
    outside = many + (np.eye(300) - turn.T @ turn) @ rng.normal(size=300)
    np.testing.assert_allclose(wide.predict_proba(outside), wide.predict_proba(many), atol=1e-9)
    radii = [model.robust_radius(x[:4], y[:4]).upper for model, x in ((wide, many), (narrow, few))]
    np.testing.assert_allclose(radii[0], radii[1], rtol=1e-4)
