"""Two small places where late training is tested: a KKT point that is not the best, and points that hardly overlap."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from featavg.analysis import kkt_residuals, normalized_margin
from featavg.arrays import Array
from featavg.data import Points
from featavg.experiments.implicit_bias.late import first_below
from featavg.model import Activation, BinaryNetwork, Network
from featavg.robustness import UniversalDirection
from featavg.training import Exponential, LossBasedDescent, train

WEIGHTS = ("weights", "second")
# Two points far apart, and a hint that points along the first axis (after Lyu, Li, Wang & Arora 2021).
HINTED = Points([[0.1, 1.0], [0.1, -1.0], [-20.0, 0.0]], [1, 1, -1], [0, 1, 2])


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
