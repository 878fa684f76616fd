"""Two engines and autograd agree to the last digits, and what cannot be trained is refused in one sentence."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from featavg import (
    Adam,
    BinaryNetwork,
    GradientDescent,
    GradientFlow,
    InputError,
    MulticlassNetwork,
    Points,
    SignDescent,
    Trajectory,
    every,
    sample_clusters,
    train,
)
from featavg.arrays import Array
from featavg.data import Dataset
from featavg.training import CrossEntropy, DivergenceWarning

ENGINES: Any = ("gram", "dense")
SAVED = [0, 1, 7, 100, 500, 1000]
CASES = [
    (BinaryNetwork, "logistic", True),
    (BinaryNetwork, "logistic", False),
    (BinaryNetwork, "exponential", True),
    (BinaryNetwork, "exponential", False),
    (MulticlassNetwork, "cross-entropy", True),
    (MulticlassNetwork, "cross-entropy", False),
]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return sample_clusters(clusters=4, dim=300, samples=80, positive=1, coordinates="ambient", seed=3)


def trained(biases: bool) -> tuple[str, ...]:
    return ("weights", "biases") if biases else ("weights",)


def close(left: Array, right: Array, tolerance: float = 1e-9) -> None:
    assert_allclose(left, right, rtol=0, atol=tolerance * np.abs(right).max())


def torch_weights(
    network: Any, data: Dataset, rule: GradientDescent, name: str, train_biases: bool
) -> tuple[Array, Array]:
    """Weights (time, neuron, axis) and biases at the saved times, by autograd."""
    x, y, fine = torch.tensor(data.x), torch.tensor(data.y), torch.tensor(data.cluster)
    weights = torch.tensor(network.weights, requires_grad=True)
    biases = torch.tensor(network.biases, requires_grad=train_biases)
    second = torch.tensor(network.second)
    optimiser = torch.optim.SGD([p for p in (weights, biases) if p.requires_grad], lr=rule.eta(data))
    saved = []
    for step in range(rule.steps + 1):
        if step in SAVED:
            saved.append((weights.detach().numpy().copy(), biases.detach().numpy().copy()))
        outputs = torch.relu(x @ weights.T + biases) @ second.T
        if name == "cross-entropy":
            loss = torch.nn.functional.cross_entropy(outputs, fine)
        else:
            exponent = -y * outputs[:, 0]
            loss = (torch.exp(exponent) if name == "exponential" else torch.nn.functional.softplus(exponent)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return np.stack([w for w, _ in saved]), np.stack([b for _, b in saved])


@pytest.mark.parametrize(("kind", "loss", "biases"), CASES)
def test_coefficients_weights_and_autograd_walk_one_path(data: Dataset, kind: Any, loss: Any, biases: bool) -> None:
    network = kind.random(data, 3, seed=4)
    rule = GradientDescent(steps=1000, step_size=2e-3)
    options = {"loss": loss, "trained": trained(biases), "save_at": SAVED}
    runs = [train(network, data, rule, engine=engine, **options) for engine in ENGINES]
    weights, hidden = torch_weights(network, data, rule, loss, biases)
    for run in runs:
        assert run.status == "finished"
        assert run.steps.tolist() == SAVED
        assert_allclose(run.times, run.steps * 2e-3, rtol=1e-12)
        for t in range(len(SAVED)):
            close(run.weights[t], weights[t])
            close(run.biases[t], hidden[t])
    close(runs[0].log_losses, runs[1].log_losses)
    close(runs[0].margins, runs[1].margins)


@pytest.mark.parametrize(("kind", "loss", "biases"), CASES[::2])
def test_float32_stays_close(data: Dataset, kind: Any, loss: Any, biases: bool) -> None:
    network = kind.random(data, 3, seed=4)
    rule, options = GradientDescent(steps=300), {"loss": loss, "trained": trained(biases)}
    fine, rough = (train(network, data, rule, dtype=d, **options).final.weights for d in (np.float64, np.float32))
    close(rough, fine, 1e-3)
    assert np.abs(rough - fine).max() > 1e-9 * np.abs(fine).max()  # it was float32 indeed


def test_more_points_than_axes_need_no_gram_matrix() -> None:
    data = sample_clusters(clusters=3, dim=20, samples=90, seed=0)
    network = BinaryNetwork.random(data, 2, seed=1, scale=1e-3)
    rule = GradientDescent(steps=200, step_size=1e-2)
    left, right = (train(network, data, rule, engine=engine) for engine in ("gram", "auto"))
    assert right.coefficients is None
    close(left.final.weights, right.final.weights)


def turned(data: Dataset, rows: Any = slice(None), turn: Array | None = None) -> Dataset:
    turn = np.eye(data.x.shape[1]) if turn is None else turn
    return replace(data, x=data.x @ turn, stored_centers=data.centers @ turn).take(rows)


@pytest.mark.parametrize("kind", [BinaryNetwork, MulticlassNetwork])
class TestEquivariance:
    rule = GradientDescent(steps=200)

    def run(self, network: Any, data: Dataset) -> Trajectory:
        return train(network, data, self.rule, save_at=[10, 200])

    def test_a_rotation_of_the_space_changes_no_coefficient_and_no_loss(self, data: Dataset, kind: Any) -> None:
        turn = np.linalg.qr(np.random.default_rng(0).standard_normal((300, 300)))[0]
        network = kind.random(data, 2, seed=1)
        straight = self.run(network, data)
        rotated = self.run(network.changed(weights=network.weights @ turn), turned(data, turn=turn))
        close(rotated.coefficients, straight.coefficients)
        close(rotated.log_losses, straight.log_losses)
        close(rotated.final.weights, straight.final.weights @ turn)

    def test_permuted_neurons_give_permuted_coefficients(self, data: Dataset, kind: Any) -> None:
        network = kind.random(data, 2, seed=1)
        order = np.random.default_rng(0).permutation(network.neurons)
        shuffled = network.changed(
            weights=network.weights[order], biases=network.biases[order], second=network.second[:, order]
        )
        close(self.run(shuffled, data).coefficients, self.run(network, data).coefficients[:, :, order])

    def test_permuted_points_give_permuted_coefficients(self, data: Dataset, kind: Any) -> None:
        network = kind.random(data, 2, seed=1)
        order = np.random.default_rng(0).permutation(len(data))
        close(
            self.run(network, turned(data, order)).coefficients,
            self.run(network, data).coefficients[:, order],
        )


# Overlapping clusters: a point on the wrong side is pushed over the other way, farther each time.
OVERLAPPING = sample_clusters(clusters=4, dim=60, samples=50, noise=6.0, coordinates="ambient", seed=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_divergence_is_told_once_and_the_run_up_to_there_is_kept(engine: Any) -> None:
    network = BinaryNetwork.random(OVERLAPPING, 3, seed=4)
    rule = GradientDescent(steps=200, step_size=0.2)
    with pytest.warns(DivergenceWarning, match="diverged at step .*; the trajectory up to there is kept") as caught:
        run = train(network, OVERLAPPING, rule, loss="exponential", save_at=every(1), engine=engine)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert run.status.startswith("diverged at step")
    assert 1 <= len(run) < 201
    assert np.isfinite(run.final.weights).all()
    assert np.isfinite(run.log_losses).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_leaves_the_numbers_between_two_saved_moments_has_diverged(engine: Any) -> None:
    network = BinaryNetwork.random(OVERLAPPING, 3, seed=4)
    rule = GradientDescent(steps=500, step_size=0.2)
    with pytest.warns(DivergenceWarning):
        run = train(network, OVERLAPPING, rule, loss="exponential", save_at=[], engine=engine)
    assert (len(run), run.steps[-1]) == (1, 0)


def test_a_healthy_run_warns_of_nothing(data: Dataset) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert train(BinaryNetwork.random(data, seed=0), data).status == "finished"


def test_progress_is_told_at_every_saved_moment(data: Dataset) -> None:
    seen: list[tuple[float, str]] = []
    rule = GradientDescent(steps=10)
    train(BinaryNetwork.random(data), data, rule, save_at=every(4), progress=lambda *p: seen.append(p))
    assert seen == [(0.25, "step 0"), (0.5, "step 4"), (0.75, "step 8"), (1.0, "step 10")]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"save_at": [11]}, r"save_at must lie in 0 ... 10, got 0.0 ... 11.0"),
        ({"save_at": [-1]}, "save_at must lie in"),
        ({"save_at": [np.nan]}, "save_at must lie in"),
        ({"engine": "dual"}, "engine must be auto, gram or dense, got 'dual'"),
        ({"dtype": np.longdouble}, "dtype must be float64 or float32, got"),
        ({"loss": "cross-entropy"}, "is trained with logistic or exponential loss, got 'cross-entropy'"),
        ({"loss": CrossEntropy()}, "one output is trained with logistic or exponential loss, got CrossEntropy"),
        ({"rule": Adam(), "engine": "gram"}, "Adam needs coordinates, which engine='gram' does not hold"),
        ({"rule": SignDescent(), "engine": "gram"}, "SignDescent needs coordinates, which engine='gram' does not hold"),
        ({"perturb": lambda at, rows: data.x, "engine": "gram"}, "needs inputs, which engine='gram' does not hold"),
        ({"trained": ["third"]}, "trained parameters are biases_1, .*, got 'third'"),
        ({"trained": []}, "trained must name at least one block"),
        ({"batch_size": 0}, "batch_size must be positive, got 0"),
        ({"average": "all"}, "average must be None or 'second half', got 'all'"),
        ({"rule": GradientFlow(time=1.0), "average": "second half"}, "means over steps say nothing of GradientFlow"),
        ({"sample_weight": np.ones(3)}, "sample_weight must be a vector of length 80"),
        ({"sample_weight": -np.ones(80)}, "sample_weight must not be negative"),
    ],
)
def test_an_impossible_request_is_refused(data: Dataset, options: dict[str, Any], complaint: str) -> None:
    rule = options.pop("rule", GradientDescent(steps=10))
    with pytest.raises(InputError, match=complaint):
        train(BinaryNetwork.random(data), data, rule, **options)


def test_what_is_no_data_to_train_on_is_refused(data: Dataset) -> None:
    network = BinaryNetwork.random(data)
    x = data.x.copy()
    x[3, 5] = np.nan
    for engine in ENGINES:
        with pytest.raises(InputError, match="x must be finite, got 1 NaN"):
            train(network, Points(x, data.y, data.cluster), engine=engine)
    with pytest.raises(InputError, match="at least one point, got none"):
        train(network, Points(x[:0], data.y[:0], data.cluster[:0]))
    with pytest.raises(InputError, match="x must have 300 columns, got 7"):
        train(network, Points(data.x[:, :7], data.y, data.cluster))
    with pytest.raises(InputError, match=r"the labels must be labels among \[-1, 1\], got .*0"):
        train(network, Points(data.x, np.zeros(80, dtype=np.int64), data.cluster))
    with pytest.raises(InputError, match="not finite at the start; scale its weights down"):
        train(network.changed(second=network.second * 1e308, weights=network.weights * 1e9), data)


def test_compact_data_refuse_what_has_no_meaning_there(data: Dataset) -> None:
    compact = sample_clusters(clusters=4, dim=3072, samples=50, seed=0)
    network = BinaryNetwork.random(compact)
    with pytest.raises(InputError, match="Adam depends on the coordinates and has no meaning in compact ones"):
        train(network, compact, Adam())
    with pytest.raises(InputError, match="SignDescent depends on the coordinates and has no meaning in compact ones"):
        train(network, compact, SignDescent())
    with pytest.raises(InputError, match="network and data must share coordinates, got compact and ambient"):
        train(network, data)
    with pytest.raises(InputError, match="stored in part and cannot be trained on"):
        train(network, compact.resample(50, seed=1))
    with pytest.raises(InputError, match="has room for 64 neurons, got 66; pass reserve=66"):
        BinaryNetwork.random(compact, neurons_per_class=33)


@pytest.mark.parametrize("interval", [0, -3])
def test_saving_never_is_refused(interval: int) -> None:
    with pytest.raises(InputError, match="the interval between saved steps must be positive"):
        every(interval)


def test_a_run_shows_itself_in_a_line() -> None:
    data = sample_clusters(clusters=4, dim=50, samples=20, seed=0)
    run = train(BinaryNetwork.random(data, 2, seed=0), data, GradientDescent(steps=5))
    assert repr(run.data) == "Dataset(20 points, 50 ambient axes, 2 classes, 4 fine labels)"
    assert repr(run) == "Trajectory(Network(50 → 4 → 1; 2 classes by sign); 6 moments up to step 5, finished)"
