"""What the checker proves: never more than the truth, whatever the numbers, and as much as the rules give."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import featavg.robustness.proof
from featavg.errors import InputError
from featavg.robustness.proof import Decision, Neurons, Problem, Proofs, check, proves
from featavg.robustness.proof.checker import levels
from featavg.robustness.proof.format import join, no_proofs, take
from tests.robustness.proof.problems import KINDS, radius_on_rays, random_problem
from tests.robustness.proof.provers import ROOT, Cut, Node, proofs_of, random_proofs, tight_proofs
from tests.robustness.proof.twin import twin_lower

SETTINGS = [(kind, norm, box) for kind in KINDS for norm in ("l2", "linf") for box in ("none", "both", "one-sided")]


def truth_of(problem: Problem) -> np.ndarray:
    return np.array([radius_on_rays(problem, point) for point in range(len(problem.x))])


def reach_for(truth: np.ndarray) -> float:
    return 1.001 * float(np.min(np.where(np.isfinite(truth) & (truth > 0), truth, 3.0))) + 0.01


@pytest.mark.parametrize(("kind", "norm", "box"), SETTINGS)
def test_any_numbers_prove_no_more_than_the_truth_and_as_much_as_rationals_do(kind: str, norm: str, box: str) -> None:
    proved = 0
    for seed in range(3):
        rng = np.random.default_rng([seed, *map(ord, kind + norm + box)])
        problem = random_problem(rng, kind, norm, box)
        truth = truth_of(problem)
        proofs = random_proofs(problem, rng, reach_for(truth), endless=False)
        exact, quick, fine = twin_lower(problem, proofs), check(problem, proofs, np.zeros(2)), check(problem, proofs)
        for lower in (quick, fine):
            assert (lower <= truth * (1 + 1e-12)).all()
            finite = np.isfinite(lower)  # the box may be left behind, which the twin does not know
            assert (lower <= exact)[finite].all()
            np.testing.assert_allclose(lower[finite], exact[finite], rtol=1e-7, atol=1e-9)
        proved += np.count_nonzero(fine)
    assert proved


@pytest.mark.parametrize("kind", ["sign", "argmax", "maximum", "logits"])
@pytest.mark.parametrize("box", ["none", "both", "one-sided"])
def test_good_multipliers_prove_the_radius(kind: str, box: str) -> None:
    closed = []
    for seed in range(6):
        problem = random_problem(np.random.default_rng([seed, *map(ord, kind + box)]), kind, "l2", box)
        truth = truth_of(problem)
        lower = check(problem, tight_proofs(problem, 50.0))
        assert (lower <= truth * (1 + 1e-12)).all()
        known = np.isfinite(truth) & (truth > 0)
        closed += (lower[known] >= truth[known] * (1 - 2e-2)).tolist()  # rays are a degree apart
    assert np.mean(closed) >= 0.8


@settings(max_examples=150)
@given(
    st.integers(0, 10_000),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=8, max_size=8),
    st.floats(allow_nan=True),
    st.floats(allow_nan=True),
)
def test_wild_numbers_prove_no_more_than_the_truth(
    seed: int, numbers: list[float], reach: float, box_step: float
) -> None:
    kind, norm, box = SETTINGS[seed % len(SETTINGS)]
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, kind, norm, box, points=1)
    rows = len(problem.neurons.constants) if kind == "probabilities" else 1
    theta = np.array(numbers[: len(problem.neurons.biases)])
    good = random_proofs(problem, rng, 1.0)
    bad = [
        (0, int(rival), [Node(*ROOT, [Cut(reach, np.abs(numbers[-rows:]), theta, box_step)])])
        for rival in np.unique(good.rival)
    ]
    proofs = join([good, proofs_of(bad)])
    with np.errstate(all="ignore"):
        assert check(problem, proofs)[0] <= radius_on_rays(problem, 0) * (1 + 1e-12)


def one_neuron(weight: float, bias: float, output: float, constant: float, x: float) -> tuple[Problem, float]:
    """f = output·ReLU(weight·x + bias) + constant at a point where it is positive, and its radius."""
    problem = Problem(
        Neurons(np.array([[weight]]), np.array([bias]), np.array([[output]]), np.array([constant])),
        np.array([[x]]),
        np.array([1]),
        Decision("sign", np.zeros(1, dtype=np.int64)),
    )
    return problem, (output * (weight * x + bias) + constant) / abs(output * weight)


@pytest.mark.parametrize(
    ("scale", "output"), [(1e-160, 1.0), (1e-160, 1e120), (1.0, 1e-200), (1.0, 1e120), (1e155, 1e-200), (1e155, 1e120)]
)
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("boxed", [False, True])
def test_scales_far_from_one(scale: float, output: float, norm: str, boxed: bool) -> None:
    problem, radius = one_neuron(scale, 0.0, output, -output * scale, 3.0)
    assert radius == pytest.approx(2.0)
    problem = problem._replace(norm=norm)
    if boxed:
        problem = problem._replace(low=np.array([-5.0]), high=np.array([np.inf]))
    step = 2.0 / (output * scale) if norm == "l2" else 2.0
    proofs = proofs_of([(0, 0, [Node(*ROOT, [Cut(10.0, 1.0, [output], step)])])])
    for lower in (check(problem, proofs, np.zeros(1)), check(problem, proofs)):
        assert lower[0] <= 2.0
        assert lower[0] == pytest.approx(2.0, rel=1e-9)


def scaled_by(problem: Problem, s: np.ndarray, r: int, e: int) -> Problem:
    weights, biases, outputs, constants = problem.neurons
    layer = Neurons(
        np.ldexp(weights, s[:, None] - e), np.ldexp(biases, s), np.ldexp(outputs, r - s), np.ldexp(constants, r)
    )
    low, high = (None if side is None else np.ldexp(side, e) for side in (problem.low, problem.high))
    return problem._replace(neurons=layer, x=np.ldexp(problem.x, e), low=low, high=high)


def proofs_scaled_by(proofs: Proofs, s: np.ndarray, r: int, e: int, norm: str) -> Proofs:
    return proofs._replace(
        theta=np.ldexp(proofs.theta, r - s[proofs.theta_neuron]),
        reach=np.ldexp(proofs.reach, e),
        box_step=np.ldexp(proofs.box_step, 2 * e - r if norm == "l2" else e),
    )


@pytest.mark.parametrize(("kind", "norm", "box"), SETTINGS)
def test_powers_of_two_change_nothing(kind: str, norm: str, box: str) -> None:
    """a ReLU(w·x + b) = (a/2ˢ) ReLU(2ˢ(w·x + b)); all rows times 2ʳ; all lengths times 2ᵉ."""
    proved = 0
    for seed in range(5):
        rng = np.random.default_rng([seed, *map(ord, kind + norm + box)])
        problem = random_problem(rng, kind, norm, box)
        proofs = random_proofs(problem, rng, 2.0, endless=False)
        s = rng.integers(-450, 450, len(problem.neurons.biases))
        r, e = (0, 0) if kind == "probabilities" else rng.integers(-300, 300, 2)
        lower = check(problem, proofs)
        found = check(scaled_by(problem, s, r, e), proofs_scaled_by(proofs, s, r, e, norm))
        np.testing.assert_allclose(found, np.ldexp(lower, e), rtol=1e-12)
        proved += np.count_nonzero(lower)
    assert proved


@pytest.mark.parametrize("level", range(4))
def test_every_level_of_arithmetic_gives_a_bound_and_finer_ones_lose_less(
    level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    neurons, axes = 12, 300
    half = rng.normal(size=(neurons // 2, axes))
    weights = np.concatenate([half, half + 1e-6 * rng.normal(size=half.shape)])
    outputs = np.repeat([1.0, -1.0], neurons // 2)[None]  # nearly cancelling pairs
    x, biases = rng.normal(size=(1, axes)), np.full(neurons, 100.0)
    h = outputs[0] @ weights
    radius = 1e-3
    constant = radius * np.linalg.norm(h) - outputs[0] @ (weights @ x[0] + biases)
    problem = Problem(
        Neurons(weights, biases, outputs, np.array([constant])),
        x,
        np.array([1]),
        Decision("sign", np.zeros(1, dtype=np.int64)),
    )
    proofs = proofs_of([(0, 0, [Node(*ROOT, [Cut(2 * radius, 1.0, outputs[0])])])])
    exact = twin_lower(problem, proofs)[0]
    chosen = levels(problem)[level]
    monkeypatch.setattr(featavg.robustness.proof.checker, "levels", lambda _: [chosen])
    lower = check(problem, proofs)[0]
    assert exact * (1 - (0.5, 0.5, 1e-6, 2e-12)[level]) <= lower <= exact


def test_finer_arithmetic_is_used_where_a_claim_asks_for_it() -> None:
    rng = np.random.default_rng(1)
    weights, x = rng.normal(size=(20, 400)), rng.normal(size=(1, 400))
    biases = 1e-6 * np.abs(rng.normal(size=20)) - weights @ x[0]  # the radius is a millionth of ‖x‖
    outputs = np.abs(rng.normal(size=(1, 20)))
    problem = Problem(
        Neurons(weights, biases, outputs, np.array([-1e-7])),
        x,
        np.array([1]),
        Decision("sign", np.zeros(1, dtype=np.int64)),
    )
    proofs = proofs_of([(0, 0, [Node(*ROOT, [Cut(1e3, 1.0, outputs[0])])])])
    exact = twin_lower(problem, proofs)
    quick, claimed = check(problem, proofs, np.zeros(1)), check(problem, proofs, exact)
    assert quick[0] < exact[0] * (1 - 1e-8)
    assert exact[0] * (1 - 1e-9) < claimed[0] <= exact[0]
    assert proves(problem, proofs, claimed).all()
    assert not proves(problem, proofs, exact * (1 + 1e-9)).any()


def test_no_trees_no_bound_and_parts_prove_what_the_whole_does() -> None:
    rng = np.random.default_rng(3)
    problem = random_problem(rng, "argmax", "l2", "none", points=3)
    proofs = tight_proofs(problem, 50.0)
    whole = check(problem, proofs)
    assert not check(problem, no_proofs()).any()
    again = take(join([proofs, proofs]), np.arange(len(proofs.point), 2 * len(proofs.point)))
    np.testing.assert_array_equal(check(problem, again), whole)
    missing = take(proofs, np.flatnonzero((proofs.point != 0) | (proofs.rival != proofs.rival[0])))
    assert check(problem, missing)[0] == 0
    target = problem._replace(target=np.full(3, proofs.rival[0]))
    assert check(target, proofs)[0] >= whole[0]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"labels": np.array([1, 3])}, "labels"),
        ({"x": np.array([[np.nan]])}, "fitting shapes|finite"),
        ({"norm": "l1"}, "norm"),
        ({"low": np.array([0.0])}, "both sides"),
        ({"low": np.array([5.0]), "high": np.array([6.0])}, "in the box"),
    ],
)
def test_problems_that_make_no_sense_are_refused(change: dict[str, object], match: str) -> None:
    problem, _ = one_neuron(1.0, 0.0, 1.0, -1.0, 3.0)
    with pytest.raises(InputError, match=match):
        check(problem._replace(**change), no_proofs())


def test_the_checker_imports_nothing_of_the_search() -> None:
    folder = Path(featavg.robustness.proof.__file__).parent
    allowed = ("featavg.errors", "featavg.arrays", "featavg.compilation", "featavg.robustness.proof")
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert all(not name.startswith("featavg") or name.startswith(allowed) for name in names), path
