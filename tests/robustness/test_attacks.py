import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import featavg as fa
from featavg.errors import InputError
from featavg.robustness import robust_radius
from featavg.robustness.attacks import PGD, BoundaryWalk, GradientWalk, NewtonWalk, UniversalDirection, best_of
from featavg.robustness.attacks.base import Attack, Found
from tests.robustness.questions import ATTACKS, READOUTS, random_question

NAMES = [attack.name for attack in ATTACKS]


# --- closed forms ---------------------------------------------------------------------------------------------------


def clusters(positive=None, dim=400, k=6, **kw):
    return fa.sample_clusters(clusters=k, dim=dim, samples=20, positive=positive, seed=0, **kw)


@pytest.mark.parametrize("positive", [1, 3, 5])
@pytest.mark.parametrize("dim", [400, 10**12])
def test_the_universal_direction_is_exact_at_the_centers_of_an_averaging_network(positive, dim):
    data = clusters(positive, dim)
    found = UniversalDirection()(fa.averaging_network(data), data.centers, data.center_labels)
    assert found.upper == pytest.approx(np.sqrt(dim / 6), rel=1e-9)


def test_the_boundary_walk_is_exact_on_decoupled_and_filtered_networks():
    data = clusters()
    decoupled, walk = fa.decoupled_network(data), BoundaryWalk()
    at, labels = data.centers, data.center_labels
    assert walk(decoupled, at, np.arange(6)).upper == pytest.approx(np.sqrt(400 / 2), rel=1e-6)
    assert walk(decoupled, at, labels, readout="maximum").upper == pytest.approx(np.sqrt(400 / 2), rel=1e-6)
    assert walk(decoupled, at, labels, readout="summed-logits").upper == pytest.approx(np.sqrt(400 / 4), rel=1e-6)
    assert walk(fa.filtered_network(data), at, labels).upper == pytest.approx(np.sqrt(400 / 2), rel=1e-6)


@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("attack", [*ATTACKS[:2], PGD(radii=100.0, steps=20), ATTACKS[3]], ids=NAMES)
def test_on_a_linear_network_every_attack_has_the_dual_norm_formula(attack, norm):
    rng = np.random.default_rng(6)
    w, x = rng.standard_normal(5), rng.standard_normal((12, 5))
    model = ([w, -w], [0.3, -0.3], [[1.0, -1.0]], [0.0])
    score = x @ w + 0.3
    found = attack(model, x, np.sign(score).astype(int), norm=norm)
    length = np.linalg.norm(w, 2 if norm == "l2" else 1)
    assert found.upper == pytest.approx(np.abs(score) / length, rel=1e-6)


def test_one_direction_fools_all_centers_from_the_theorems_size_on():
    data = clusters()
    network, size = fa.averaging_network(data), np.sqrt(400 / 6)
    task = (network, data.centers, data.center_labels)
    assert UniversalDirection().share(*task, [0.999 * size, 1.001 * size]).tolist() == [0.0, 1.0]
    given_one = data.center_labels @ data.centers
    assert UniversalDirection(direction=given_one).share(*task, [0.999 * size, 1.001 * size]).tolist() == [0.0, 1.0]
    assert UniversalDirection(direction=given_one)(*task).upper == pytest.approx(size)
    blind = np.zeros(data.x.shape[1])
    blind[-1] = np.linalg.norm(given_one)
    assert UniversalDirection(direction=given_one + blind).share(*task, [1.2 * size]).tolist() == [0.0]
    assert UniversalDirection(direction=given_one + blind).share(*task, [1.5 * size]).tolist() == [1.0]


def test_directions_of_an_argmax_network_are_one_a_class():
    data = clusters()
    network = fa.decoupled_network(data)
    away = np.roll(data.centers, -1, axis=0)
    found = UniversalDirection(direction=data.centers - away)(network, data.centers, np.arange(6))
    assert found.upper == pytest.approx(np.sqrt(400 / 2))
    with pytest.raises(InputError, match="a row for each of 6 classes"):
        UniversalDirection(direction=data.centers[:2])(network, data.centers, np.arange(6))


# --- what every bracket promises ------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    readout=st.sampled_from(READOUTS),
    norm=st.sampled_from(["l2", "linf"]),
    box=st.sampled_from([None, (-1.0, 1.5)]),
    attack=st.sampled_from(ATTACKS),
)
def test_a_witness_is_fooled_at_the_distance_that_is_claimed(seed, readout, norm, box, attack):
    question = random_question(np.random.default_rng(seed), readout, norm, box)
    found = attack.on(question)
    hit = np.isfinite(found.upper)
    assert np.array_equal(hit, ~np.isnan(found.witness).any(axis=1))
    filled = np.where(hit[:, None], found.witness, question.x)
    assert question.fooled(filled)[hit].all()
    np.testing.assert_allclose(question.distances(filled)[hit], found.upper[hit], rtol=1e-11)
    assert np.all(found.upper[question.fooled(question.x)] == 0)
    assert not found.lower.any()
    assert found.verify().all()
    assert set(found.status) == {"attack only"}
    if box:
        assert filled.min() >= box[0]
        assert filled.max() <= box[1]


def test_a_witness_does_not_pass_the_box_by_a_rounding():
    question = random_question(np.random.default_rng(5837), "maximum", "l2", (-1.0, 1.5))
    found = UniversalDirection().on(question)
    assert np.nanmax(found.witness) <= 1.5
    assert found.verify().all()


@pytest.mark.parametrize("attack", ATTACKS, ids=NAMES)
def test_radii_do_not_change_with_scaling_rotation_or_the_order_of_neurons(attack):
    rng = np.random.default_rng(7)
    question = random_question(rng, "sign")
    w, b, a, c = (getattr(question.network, name) for name in ("weights", "biases", "second", "output_bias"))
    turn, mixed = np.linalg.qr(rng.standard_normal((4, 4)))[0], rng.permutation(7)
    plain = attack(question.network, question.x, question.y).upper
    if not isinstance(attack, PGD | GradientWalk):  # random starts depend on the coordinates
        turned = attack((w @ turn, b, a, c), question.x @ turn, question.y).upper
        assert turned == pytest.approx(plain, rel=1e-5)
        assert attack((w[mixed], b[mixed], a[:, mixed], c), question.x, question.y).upper == pytest.approx(
            plain, rel=1e-5
        )
    assert attack((w, b, 1e6 * a, 1e6 * c), question.x, question.y).upper == pytest.approx(plain, rel=1e-5)


class Liar(Attack):
    name = "liar"

    def search(self, field):
        return Found(np.where(np.arange(len(field))[:, None] == 0, np.nan, field.at_rest + 1e-3))


def test_what_a_search_brings_home_is_not_believed():
    found = Liar()(([[1.0]], [0.0], [[1.0]], [-1.0]), [[0.5], [3.0]], [1, 1])
    assert found.upper.tolist() == [0.0, np.inf]  # wrong as it is; not fooled by the perturbation
    assert np.isnan(found.witness).tolist() == [[False], [True]]


@pytest.mark.parametrize("attack", ATTACKS, ids=NAMES)
def test_no_points_is_no_error(attack):
    found = attack(([[1.0]], [0.0], [[1.0]], [0.0]), np.zeros((0, 1)), [])
    assert len(found) == 0
    assert found.witness.shape == (0, 1)


@pytest.mark.parametrize("attack", ATTACKS, ids=NAMES)
def test_a_network_that_cannot_be_fooled_gives_infinity_and_nan(attack):
    found = attack(([[1.0]], [0.0], [[1.0]], [0.5]), [[1.0]], [1])
    assert found.upper.tolist() == [np.inf]
    assert np.isnan(found.witness).all()
    assert f"{attack.name}: nothing found at 1 of 1 points" in found.flags


# --- flags ----------------------------------------------------------------------------------------------------------


def test_a_dead_network_is_flagged_by_gradients_and_crossed_by_the_boundary_walk():
    # f = 1 − ReLU(x − 2): flat at x = 0, where no gradient shows the way to x = 3.
    dead = ([[1.0], [1.0]], [-2.0, 9.0], [[-1.0, 0.0]], [1.0])  # and a neuron without a voice that is on
    at = ([[0.0], [2.5]], [1, 1])
    for attack in (GradientWalk(restarts=0), PGD(radii=4.0, restarts=0)):
        found = attack(dead, *at)
        assert f"{attack.name}: zero gradient at 1 of 2 points" in found.flags
        assert f"{attack.name}: dead start (all rival neurons off) at 1 of 2 points" in found.flags
        assert np.isinf(found.upper).tolist() == [True, False]
    started = BoundaryWalk(start=[[7.0]])(dead, *at)
    assert started.upper == pytest.approx([3.0, 0.5])
    assert started.flags == ()
    assert UniversalDirection()(dead, *at).upper == pytest.approx([3.0, 0.5])


def test_a_boundary_walk_without_a_fooled_start_says_so():
    found = BoundaryWalk(start=[[1.0]])(([[1.0]], [0.0], [[1.0]], [-0.5]), [[2.0]], [1])
    assert "boundary walk: no fooled start at 1 of 1 points" in found.flags
    assert found.upper == pytest.approx([1.5])  # by the ray on which rivals count as on


# --- the single attacks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shorten", [True, False])
def test_a_larger_radius_never_fools_fewer(shorten):
    question = random_question(np.random.default_rng(8), "argmax", samples=40)
    radii = [0.2, 0.5, 1.0, 2.0, 4.0]
    hits = []
    for count in range(1, len(radii) + 1):
        upper = PGD(radii=radii[:count], steps=10, shorten=shorten).on(question).upper
        hits.append((upper <= radii[count - 1] * (1 + 1e-9)).sum())
    assert hits == sorted(hits)
    assert hits[0] < hits[-1]


def test_the_order_of_radii_does_not_matter():
    question = random_question(np.random.default_rng(15), "sign", samples=40)
    one, other = (PGD(radii=radii, restarts=0, shorten=False).on(question).upper for radii in ([3.0, 1.0], [1.0, 3.0]))
    assert one.tolist() == other.tolist()


def test_pgd_stays_in_its_ball():
    for norm in ("l2", "linf"):
        upper = (
            PGD(radii=[0.7], shorten=False).on(random_question(np.random.default_rng(9), "sign", norm, None, 40)).upper
        )
        assert upper[np.isfinite(upper)].max() <= 0.7 * (1 + 1e-9)


def test_random_starts_help_where_the_gradient_at_x_is_flat():
    dead, at = ([[1.0]], [-2.0], [[-1.0]], [1.0]), ([[0.0]], [1])
    assert np.isinf(PGD(radii=4.0, restarts=0)(dead, *at).upper[0])
    assert PGD(radii=4.0, restarts=10)(dead, *at).upper[0] == pytest.approx(3.0)


def test_a_box_keeps_the_walk_inside_and_costs_length():
    model = ([[1.0, 1.0], [-1.0, -1.0]], [-1.0, 1.0], [[1.0, -1.0]], [0.0])
    tight = ([[1.0, 0.1]], [1])
    # 0.2 x₁ + x₂ = 0.15 is nearest at x₂ < 0; in the box x₂ stops at 0 and x₁ pays the rest.
    tilted = ([[0.2, 1.0], [-0.2, -1.0]], [-0.15, 0.15], [[1.0, -1.0]], [0.0])
    for task, truth in ((model, 0.1 / np.sqrt(2)), (tilted, np.hypot(0.25, 0.1))):
        uppers = np.array([attack(task, *tight, box=(0, 1)).upper[0] for attack in ATTACKS])
        assert uppers.min() == pytest.approx(truth, rel=1e-6)
        assert np.all((uppers >= truth * (1 - 1e-9)) & (uppers < 1.05 * truth))
        assert np.all([attack(task, *tight).upper[0] <= truth * (1 + 1e-6) for attack in ATTACKS])


def test_the_best_of_brackets_takes_the_smallest_upper_and_names_the_winner():
    question = random_question(np.random.default_rng(10), "argmax", samples=30)
    walk, universal = GradientWalk(restarts=0).on(question), UniversalDirection().on(question)
    best = best_of(walk, universal=universal)
    assert best.upper.tolist() == np.minimum(walk.upper, universal.upper).tolist()
    assert question.distances(best.witness) == pytest.approx(best.upper)
    wins = [flag for flag in best.flags if flag.startswith("best of")]
    assert sum(int(flag.split(" at ")[1].split()[0]) for flag in wins) == 30
    assert {flag.split(": ")[1].split(" at ")[0] for flag in wins} == {"method 1", "universal"}
    assert set(walk.flags) <= set(best.flags)
    certified = replace(walk, lower=best.upper / 2, upper=np.full(30, np.inf))
    both = best_of(universal, certified)
    assert both.lower.tolist() == (best.upper / 2).tolist()
    assert set(both.status) <= {"open", "exact"}
    proved = best_of(universal, robust_radius(question.network, question.x, question.y))
    assert set(proved.status) == {"exact"}
    assert proved.verify().all()
    with pytest.raises(InputError, match="one question"):
        best_of(walk, UniversalDirection().on(random_question(np.random.default_rng(11), "argmax", samples=30)))
    with pytest.raises(InputError, match="at least one"):
        best_of()


def test_bad_settings_are_one_sentence():
    for make, words in (
        (lambda: PGD(radii=[]), "positive"),
        (lambda: PGD(radii=[1.0, -1.0]), "positive"),
        (lambda: PGD(radii=1.0, steps=0), "steps"),
        (lambda: PGD(radii=1.0, step_size=0.0), "step_size"),
        (lambda: GradientWalk(steps=0), "steps"),
        (lambda: BoundaryWalk(starts=0), "starts"),
        (lambda: UniversalDirection(direction=[1.0, 2.0])(([[1.0]], [0], [[1.0]], [0]), [[1.0]], [1]), "length 1"),
        (lambda: BoundaryWalk(start=[[1.0, 2.0]])(([[1.0]], [0], [[1.0]], [0]), [[1.0]], [1]), "columns"),
        (lambda: GradientWalk()(([[1.0]], [0], [[1.0]], [0]), [[np.nan]], [1]), "finite"),
    ):
        with pytest.raises(InputError, match=words):
            make()


@pytest.mark.parametrize("attack", [GradientWalk(), NewtonWalk()], ids=lambda attack: attack.name)
def test_a_box_that_is_open_on_one_side(attack):
    """f = ReLU(x₁) − ReLU(−x₂) + 1 at (1, −1): free along −x₂ alone, where the radius is 1."""
    network = ([[1.0, 0.0], [0.0, -1.0]], [0.0, 0.0], [[1.0, -1.0]], [1.0])
    box = (np.array([1.0, -np.inf]), np.array([np.inf, 0.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = attack(network, [[1.0, -1.0]], [1], box=box)
    assert_allclose(found.upper, [1.0], rtol=1e-6)
