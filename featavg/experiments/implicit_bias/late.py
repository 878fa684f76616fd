"""What chapters on late training share: time where it overflows, exponents, and scaling laws read off a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from featavg.analysis import normalized_margin, parameter_norm
from featavg.arrays import Array
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import Network, averaging_network, filtered_network
from featavg.training import Trajectory

ONE = ("weights", "biases")  # the paper's: the second layer stays
BOTH = ("weights", "biases", "second")
TRAINED = {"one layer": ONE, "both layers": BOTH}


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
