"""The parts of the refine experiments against what they must equal, and tiny runs of all three."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from featavg.data import sample_clusters
from featavg.experiments import Registry
from featavg.experiments.paper.setting import NETWORK_SEED, TEST_SEED
from featavg.experiments.refinement import benchmark, leads, refine, refine_images, refine_why
from featavg.experiments.refinement.benchmark_split import BenchmarkSplit, images, pilot_split, reference_split
from featavg.experiments.refinement.methods import (
    COARSE,
    CONTROLS,
    LinearSVM,
    Prototypes,
    Setting,
    discovered,
    trained_against,
)
from featavg.experiments.refinement.neighbours import Neighbours
from featavg.experiments.refinement.tuning import Trials, quantile_radius
from featavg.figures import draw
from featavg.model import MulticlassNetwork
from featavg.record import Column, Table
from featavg.refine import SubclassClassifier
from featavg.refine.frame import State, descend
from featavg.robustness import robust_radius
from featavg.training import GradientDescent, WorstInBall, train


@pytest.fixture(scope="module")
def split() -> BenchmarkSplit:
    return reference_split(images("digits", "parity"), 400, 100, 1000)


def checked(share: float, what: str) -> None:
    assert 0 <= share <= 1 + 1e-9


def test_adversarial_training_sees_the_worst_points_of_the_ball() -> None:
    """On a linear two-class network PGD ends at −reach·(w_y − w_other)/‖·‖, where a step has a closed form."""
    rng = np.random.default_rng(0)
    start = State(rng.normal(size=(2, 5)), np.full(2, 50.0), np.eye(2))
    x, target, reach = np.tile(rng.normal(size=(1, 5)), (300, 1)), np.zeros(300, dtype=np.int64), 0.7
    states: list[State] = []
    seen = lambda _, state: states.append(state)  # noqa: E731
    descend(start, x, target, np.ones(300), 0.1, (1,), 0, seen, perturb=WorstInBall(reach, steps=7, still=1))
    after = states[0]
    away = start.weights[1] - start.weights[0]
    worst = x[0] + reach * away / np.linalg.norm(away)
    outputs = start.weights @ worst
    wrong = 1 / (1 + np.exp(outputs[0] - outputs[1]))
    expected = start.weights + 0.1 * wrong * np.array([[1.0], [-1.0]]) * worst
    np.testing.assert_allclose(after.weights, expected, rtol=1e-4, atol=1e-5)


def test_one_prototype_a_class_has_the_radius_of_the_bisector(split: BenchmarkSplit) -> None:
    rule = Prototypes("prototypes", (Setting(strength=1e4, count=1),), readout="maximum")
    chosen = (split.codes == 0) | (np.arange(400) % 5 == 0)  # unequal classes: the mean of all is nearer to one center
    few = split.train.take(chosen)
    uneven = BenchmarkSplit(few, split.judge, seed=1000)
    moment = next(rule.moments(uneven, rule.settings[0], (), 1.0))
    low, high = (few.x[few.y == sign].mean(axis=0) for sign in (-1, 1))
    squares = [((split.judge.x - center) ** 2).sum(axis=1) for center in (low, high)]
    distance = split.judge.y * (squares[0] - squares[1]) / (2 * np.linalg.norm(high - low))
    network = moment.state.network(uneven.frame, 2 * moment.class_of - 1)
    for radius in (0.1, 0.3):
        lower, upper = benchmark.verdict(network, split.judge.x, split.judge.y, radius, "maximum")
        assert lower == upper == np.mean(distance > radius)


def test_a_linear_machine_has_the_radius_of_its_plane(split: BenchmarkSplit) -> None:
    moment = next(LinearSVM().moments(split, Setting(strength=1.0), (), 1.0))
    model = LinearSVC(C=1.0, dual=False, tol=1e-3).fit(split.inside, split.codes)
    distance = split.judge.y * model.decision_function(split.judged) / np.linalg.norm(model.coef_) * split.frame.size
    network = moment.state.network(split.frame, 2 * moment.class_of - 1)
    for radius in (0.02, 0.1, 0.3):
        lower, upper = benchmark.verdict(network, split.judge.x, split.judge.y, radius, "summed-probabilities")
        assert lower == upper == np.mean(distance > radius)


def test_a_lost_point_is_lost_below_and_above() -> None:
    network = MulticlassNetwork(np.eye(2), np.full(2, 9.0), np.eye(2), np.zeros(2), np.array([-1, 1]))
    x, y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, 1])
    assert benchmark.verdict(network, x, y, 0.5, "summed-probabilities") == (0.5, 0.5)


def test_neighbours_are_scikit_learns_and_two_points_meet_at_their_bisector(split: BenchmarkSplit) -> None:
    model = KNeighborsClassifier(5).fit(split.train.x, split.codes)
    ours = Neighbours(split.train.x, split.codes, 5)
    np.testing.assert_array_equal(ours.predict(split.judge.x), model.predict(split.judge.x))
    two = Neighbours(np.array([[0.0, 0.0], *([[4.0, 0.0]] * 5)]), np.array([0, 1, 1, 1, 1, 1]), 1)
    np.testing.assert_allclose(two.attack(np.array([[0.5, 0.0], [3.0, 0.0]]), np.array([0, 0])), [1.5, 0.0], atol=1e-3)


def test_every_label_kind_stays_inside_its_class(split: BenchmarkSplit) -> None:
    for kind, count in (("coarse", 1), ("true", 1), ("discovered", 4), ("random", 4)):
        found = split.labels(kind, count)  # type: ignore[arg-type]
        np.testing.assert_array_equal(found.class_of[found.labels], split.codes)
        assert set(found.labels) == set(range(len(found.class_of)))


def test_the_pilot_is_judged_on_points_it_was_not_trained_on() -> None:
    pilot = pilot_split(images("digits", "parity"), 200, 50, 1000)
    assert (len(pilot.train), len(pilot.judge)) == (200, 50)
    rows = {row.tobytes() for row in pilot.train.x}
    assert not any(row.tobytes() in rows for row in pilot.judge.x)


def test_the_rule_takes_the_most_robust_trial_that_is_accurate_enough() -> None:
    settings = (Setting(1.0), Setting(3.0))
    distances = np.array([[[2.0, 2.0], [2.0, 0.0]], [[0.0, 0.0], [2.0, 2.0]]])
    trials = Trials(settings, (10, 20), np.array([[0.80, 0.95], [0.99, 0.90]]), distances, 0.0)
    assert trials.best(1.0, floor=0.95) == (settings[0], 20)
    assert trials.best(1.0, floor=0.90) == (settings[1], 20)
    assert trials.best(1.0, floor=0.995) == trials.most_accurate() == (settings[1], 10)
    assert quantile_radius(np.arange(1, 101) / 100, 0.35) == pytest.approx(0.65, abs=0.011)


def test_methods_have_equal_effort_and_width(split: BenchmarkSplit) -> None:
    networks = [COARSE, *CONTROLS, discovered(10), *trained_against(100)]
    assert {len(one.settings) for one in networks} == {4}
    built = [next(iter(one.moments(split, one.settings[0], (1,), 0.5))) for one in networks]
    # 400 points do not hold 100 sub-classes per class; there every sub-class has one neuron.
    assert {len(moment.state.weights) for moment in built if len(moment.class_of) <= 20} == {200}
    assert all(len(moment.state.weights) == len(moment.class_of) for moment in built if len(moment.class_of) > 100)


def test_the_first_method_pays_for_the_frame_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = reference_split(images("digits", "parity"), 100, 10, 1000)
    clock = iter(range(100))  # every look at it is a second
    monkeypatch.setattr("time.process_time", lambda: float(next(clock)))
    first, second = (next(iter(COARSE.moments(fresh, Setting(), (1,), 0.5))).seconds for _ in range(2))
    assert first == second


def test_adversarial_training_is_timed_until_it_is_as_good_as_sub_labels_when_stopped() -> None:
    """It is at the second mark, and never for the second seed, which counts as its whole course."""
    robust = np.array([[[0.6, 0.8, 0.7], [0.5, 0.8, 0.9]], [[0.6, 0.8, 0.7], [0.1, 0.2, 0.3]]])
    columns = {"course_robust": robust, "course_clean": np.ones_like(robust),
               "course_seconds": np.broadcast_to([1.0, 2.0, 4.0], robust.shape)}  # fmt: skip
    coords = {"followed": ["discovered 100", "adversarial, coarse"], "mark": [1, 2, 4]}
    axes = ("seed", "followed", "mark")
    table = Table({name: Column(values, axes) for name, values in columns.items()}, coords)
    assert leads.seconds_to_reach(table, chosen=4).tolist() == [2.0, 4.0]


def test_leads_take_the_ends_that_speak_against_them() -> None:
    columns = {"lower": Column([[0.5, 0.1]], ("seed", "method")), "upper": Column([[0.7, 0.3]], ("seed", "method"))}
    assert leads.lead(Table(columns, {"method": ["fine", "coarse"]}), "fine", "coarse") == pytest.approx([0.2])


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped estimator, but with one number of sub-classes and few steps."""
    monkeypatch.setattr(benchmark, "SubclassClassifier", partial(SubclassClassifier, 5, max_steps=50))


@pytest.mark.usefixtures("hasty")
def test_a_tiny_tournament_runs_and_is_drawn() -> None:
    config = refine.Config(
        images="digits", samples=230, judged=30, points=4, maximum_points=2, radius=0.5, marks=(2, 4),
        counts=(2, 10, 100), widths=(50,), first_seed=1001, seeds=1,
    )  # fmt: skip
    record = Registry()["refine"].run(config, checked)
    assert len(record.claims) == 14
    table = record.evidence.table
    assert (table["lower"] <= table["upper"] + 1e-12).all()
    for drawing in record.evidence.drawings:
        draw(drawing, table)


@pytest.mark.usefixtures("hasty")
def test_a_tiny_run_on_other_images(monkeypatch: pytest.MonkeyPatch) -> None:
    task = refine_images.ImageTask("digits", "digits", "parity", 150, 30, (2, 10, 20))
    monkeypatch.setitem(refine_images.SETS, "digits", task)
    config = refine_images.Config(cases=("digits",), points=3, maximum_points=2, marks=(2, 4), first_seed=1001, seeds=1)
    record = Registry()["refine_images"].run(config, checked)
    assert len(record.claims) == 2
    assert record.evidence.table["digits_radius"] > 0
    for drawing in record.evidence.drawings:
        draw(drawing, record.evidence.table)


def test_early_and_late_parts_of_weights_are_put_together() -> None:
    config = refine_why.Config(samples=60, dim=30, marks=(5, 200), test_points=10, first_seed=1001, seeds=2)
    record = Registry()["refine_why"].run(config, checked)
    table = record.evidence.table
    swaps, radius = table.sel("swaps", network="fine"), table.sel("radius", network="fine")
    np.testing.assert_allclose(swaps[:, 0], radius[:, 0], rtol=0.02)
    np.testing.assert_allclose(swaps[:, 3], radius[:, -1], rtol=0.02)
    assert (table["points_used"] <= 1 + 1e-12).all()
    for drawing in record.evidence.drawings:
        draw(drawing, table)
    # By hand for the second seed: late features, early noise, at equal features.
    data = sample_clusters(10, 30, 60, noise=config.noise, seed=1002)
    start = MulticlassNetwork.random(data, 1, seed=NETWORK_SEED + 1002)
    rule = GradientDescent(steps=200, step_size=config.rate / 30)
    run = train(start, data, rule, save_at=[5, 200], engine="gram")
    made = [run.coefficients[1 + t].T for t in range(2)]  # type: ignore[index]
    feature, noise = ([c @ part for c in made] for part in (data.x - data.noise, data.noise))
    weights = feature[1] / np.linalg.norm(feature[1]) + noise[0] / np.linalg.norm(feature[0])
    test = data.resample(10, seed=TEST_SEED + 1002)
    by_hand = robust_radius(start.changed(weights=weights), test.x, test.y, readout="maximum").lower.mean()
    assert swaps[1, 1] == pytest.approx(by_hand, rel=1e-6)
