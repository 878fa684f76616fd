"""What chapters on late training share: time where it overflows, exponents, laws read off a run, and two small places.

These places, to test late training in, are a KKT point that is not the best, and points that hardly overlap.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from scipy.optimize import nnls

from featavg.analysis import kkt_residuals, normalized_margin, parameter_norm
from featavg.arrays import Array
from featavg.data import Dataset, Points
from featavg.errors import InputError
from featavg.model import Activation, BinaryNetwork, Network, averaging_network, filtered_network
from featavg.robustness import UniversalDirection
from featavg.training import Exponential, LossBasedDescent, Trajectory, train

ONE = ("weights", "biases")  # the paper's: the second layer stays
BOTH = ("weights", "biases", "second")
TRAINED = {"one layer": ONE, "both layers": BOTH}
WEIGHTS = ("weights", "second")
# Two points far apart, and a hint that points along the first axis (after Lyu, Li, Wang & Arora 2021).
HINTED = Points([[0.1, 1.0], [0.1, -1.0], [-20.0, 0.0]], [1, 1, -1], [0, 1, 2])


def log_times(run: Trajectory) -> Array:
    """log t = log Σ α/L after every step of loss-based descent, all of them saved: (time,), −∞ at the start.

    The run counts Σ α; with η = α/L the time of gradient descent is soon far beyond the largest float.
    """
    lengths = np.diff(run.times)
    # A step that was taken back has length 0 and adds nothing.
    steps = np.log(lengths, out=np.full(len(lengths), -np.inf), where=lengths > 0)
    return np.concatenate([[-np.inf], np.logaddexp.accumulate(steps - run.log_losses[:-1])])


def exponent(x: Array, y: Array) -> float:
    """p of y ~ x^p: the slope of log y over log x, at about equal distances of log x whatever the spacing of x."""
    places = np.linspace(np.log(x[0]), np.log(x[-1]), 50)
    return float(np.polyfit(places, np.interp(places, np.log(x), np.log(y)), 1)[0])


def first_below(run: Trajectory, log_losses: Sequence[float]) -> list[int]:
    """The first saved moments at which the logarithm of the loss is at or below each of these."""
    if run.log_losses.min() > min(log_losses):
        raise InputError(f"the run {run.status} above a log-loss of {min(log_losses):.4g}; start it elsewhere")
    return [int(np.argmax(run.log_losses <= goal)) for goal in log_losses]


def norms(run: Trajectory, trained: Collection[str]) -> Array:
    """ρ = ‖θ‖ at every saved moment: (time,)."""
    return np.array([parameter_norm(run.at(t), trained) for t in range(len(run))])


def decoupled_binary(data: Dataset, scale: float = 1.0) -> Network:
    """One neuron for each center and one output, f = (2c/k) Σ_j y_j ReLU(⟨μ_j, x⟩/‖μ_j‖²)."""
    network = filtered_network(data, 0.0)
    return network.changed(weights=scale * network.weights, second=data.center_labels[None] * (2 / data.clusters))


def ideal_ratio(data: Dataset) -> float:
    """Normalised margins at the centers, averaging over decoupled, with k neurons and second layer ±2/k each."""
    one, times = averaging_network(data), data.clusters // 2
    averaging = one.changed(
        weights=np.repeat(one.weights, times, axis=0), biases=np.zeros(2 * times),
        second=np.repeat(one.second, times, axis=1) / times,
    )  # fmt: skip
    margins = [
        normalized_margin(network, data.centers, data.center_labels, trained=["weights"])
        for network in (averaging, decoupled_binary(data))
    ]
    return margins[0] / margins[1]


def hinted(leak: float, scale: float, seed: int, log_loss: float, most_steps: int) -> tuple[float, float]:
    """Normalised margin and stationarity residual after training both layers on the hinted points."""
    rng = np.random.default_rng(seed)
    start = BinaryNetwork(
        scale * rng.standard_normal((20, 2)), np.zeros(20), scale * rng.standard_normal((1, 20)), [0.0],
        activation=Activation(leak=leak),
    )  # fmt: skip
    rule = LossBasedDescent(log_loss=log_loss, most_steps=most_steps)
    network = train(start, HINTED, rule, loss=Exponential("sum"), trained=WEIGHTS, save_at=[]).final
    return normalized_margin(network, HINTED.x, HINTED.y, trained=WEIGHTS), _residual(network)


def _residual(network: Network) -> float:
    """min_{λ >= 0} ‖θ − Σ λ_i ∇q_i‖/‖θ‖, where no point is at a kink."""
    z, y = network.preactivations(HINTED.x), np.asarray(HINTED.y, dtype=np.float64)
    pulls = y[:, None] * network.activation.slope(z) * network.second  # (sample, neuron)
    below = (pulls[:, :, None] * HINTED.x[:, None, :]).reshape(len(y), -1)
    columns = np.hstack([below, y[:, None] * network.activation.value(z)])
    theta = np.concatenate([network.weights.ravel(), network.second.ravel()])
    return float(nnls(columns.T, theta)[1] / np.linalg.norm(theta))


def overlapping_little(dim: int, neurons: int, seed: int, log_loss: float) -> tuple[float, float, float]:
    """√d points on the sphere of radius √d with labels by chance, both layers trained.

    Returns the length of the shortest step along Σ_i y_i x_i that fools all points on the margin, the share of points
    that are on it (within a tenth), and the stationarity residual.
    """
    rng = np.random.default_rng([seed, dim])
    count = round(dim**0.5)
    x: Array = rng.standard_normal((count, dim))
    x *= np.sqrt(dim) / np.linalg.norm(x, axis=1, keepdims=True)
    y = np.where(rng.permutation(count) < count // 2, -1, 1)
    data = Points(x, y, np.arange(count))
    signs = np.repeat([1.0, -1.0], neurons // 2)
    # Tiny and balanced: what of the start is never trained must not be seen in the residual.
    start = BinaryNetwork(
        1e-6 * rng.standard_normal((neurons, dim)), np.zeros(neurons), 1e-6 * np.sqrt(dim) * signs[None], [0.0]
    )
    rule = LossBasedDescent(log_loss=log_loss)
    run = train(start, data, rule, loss=Exponential("sum"), trained=WEIGHTS, save_at=[])
    network = run.at(first_below(run, [log_loss])[0])
    margins = network.margins(x, y)
    near = margins <= 1.1 * margins.min()
    step = UniversalDirection(direction=_unit(y[near] @ x[near]))(network, x[near], y[near]).upper.max()
    return float(step), float(near.mean()), kkt_residuals(network, data, trained=WEIGHTS).stationarity


def _unit(vector: Array) -> Array:
    return vector / np.linalg.norm(vector)
