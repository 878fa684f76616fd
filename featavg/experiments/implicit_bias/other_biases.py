"""Four more biases that the talks name: low rank, low frequency, sharpness at 2/η, and grokking, one measurement each.

Low rank: the stable rank of the first layer, coarse and fine labels. Low frequency: a square wave on the circle, whose
Fourier modes are fitted one after the other. Sharpness: the largest eigenvalue of the Hessian under full-batch descent
(Cohen et al. 2021). Grokking: the product of two coordinates, a large start and weight decay (Lyu et al. 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from featavg.analysis import stable_rank
from featavg.arrays import Array
from featavg.data import Dataset, Labels
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.setting import Setting
from featavg.model import BinaryNetwork, Network
from featavg.record import Column, Drawing, Table
from featavg.training import GradientDescent, Squared, train

COST = ("long", 80)
NEEDS: tuple[str, ...] = ()
ALL = ("weights", "biases", "second", "output_bias")
COORDS = {
    "early_step": lambda config: (0, *config.rank_steps),
    "mode": lambda config: config.modes,
    "wave_step": lambda config: config.wave_steps,
    "rate": lambda config: config.rates,
    "sharp_step": lambda config: (0, *config.sharp_steps),
    "grok_step": lambda config: config.grok_steps,
}
COLUMNS = {
    "coarse_rank": Quantity("stable rank ‖W‖_F²/‖W‖² of ten neurons trained on coarse labels", ("early_step",)),
    "fine_rank": Quantity("the same of ten neurons trained on fine labels", ("early_step",)),
    "fitted": Quantity("Fourier coefficient of the network over that of the square wave", ("mode", "wave_step")),
    "sharpness": Quantity("η/2 times the largest eigenvalue of the Hessian", ("rate", "sharp_step")),
    "train_accuracy": Quantity("accuracy on the training points", ("grok_step",)),
    "test_accuracy": Quantity("accuracy on {config.grok_test} fresh points", ("grok_step",),
                              points=lambda config: config.grok_test),
}  # fmt: skip
CLAIMS = [
    Expect("coarse_rank", "Low rank: coarse labels leave one direction per class.", "Theorem 1(1)",
           at={"early_step": lambda config: config.steps}, expected=1.77, tolerance=0.12,
           because="two averages of equal length at cosine c have 2/(1 + |c|); their neurons' cosine of −0.03 with "
           "each feature of the other class makes c = −10 · 0.03 · 0.44 = −0.13, and unequal classes vary it"),
    Expect("fine_rank", "Fine labels leave one direction per cluster.", "Theorem 4(1)",
           at={"early_step": lambda config: config.steps}, expected=lambda config, _: 0.9 * config.clusters,
           tolerance=0.15, relative=True, because="k directions; their lengths differ by a tenth as cluster sizes do"),
    Expect("coarse_rank", "At the start the stable rank is that of random rows.", "Johnstone 2001", check=True,
           at={"early_step": 0}, expected=lambda config, _: config.random_rank, tolerance=0.5,
           because="the rank varies by 0.12 from seed to seed, and the mean by 0.03 from this limit for ten rows"),
    Expect("delay", "Low frequency first: each mode takes longer than the one before.", "Rahaman et al. 2019",
           expected=1.0, tolerance=0.0, relation="at least",
           because="an order; pilot runs gave 1.8 for the closest pair"),
    *(
        Expect("edge", f"Sharpness rises to 2/η and stays there, η = {rate:g}.", "Cohen et al. 2021", at={"rate": rate},
               expected=1.0, tolerance=0.1, because="it hovers just above; descent crosses kinks of ReLU, which "
               "moves single moments, so the median of the second half is taken")
        for rate in (0.2, 0.4)
    ),
    Expect("sharpness", "At the start it is below, η = 0.2.", "Cohen et al. 2021", at={"rate": 0.2, "sharp_step": 0},
           expected=1.0, tolerance=0.0, relation="at most", because="it has to rise to get there"),
    Expect("lag", "Grokking: fresh points are right ten times later than training points.", "Lyu et al. 2024",
           expected=10.0, tolerance=0.0, relation="at least", because="pilot runs gave 25 and 70 times"),
    Expect("test_accuracy", "In the end they are right.", "Lyu et al. 2024", expected=1.0, tolerance=0.03,
           at={"grok_step": lambda config: config.grok_last}, relation="at least", because="three points in a hundred"),
]  # fmt: skip
NOTES = [
    "Bearing on averaging. Low rank: averaging is the lowest rank that fits coarse labels, and fine labels forbid it. "
    "Low frequency: an average is a smooth decision between two classes, in line with smooth functions being fitted "
    "first. Sharpness: nothing here says that the edge chooses between averages and single features. Grokking: from a "
    "large start features come late, as the average does from the talks' start; here weight decay brings them.",
    "The networks on the circle are two-layer ones of 200 and 50 neurons under squared loss, that of the product has "
    "100; none is meant to reproduce a published size.",
]


def spread(last: int, count: int) -> tuple[int, ...]:
    """About `count` steps from 1 to `last`, evenly spread in their logarithm."""
    return tuple(np.unique(np.geomspace(1, last, count).round().astype(int)).tolist())


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting for ranks; 128 points on a circle; 32 of them for sharpness; 300 points for grokking."""

    wave_points: int = 128
    wave_neurons: int = 200
    wave_last: int = 20_000
    modes: tuple[int, ...] = (1, 3, 5, 7)
    sharp_points: int = 32
    sharp_neurons: int = 50
    sharp_last: int = 4000
    rates: tuple[float, ...] = (0.2, 0.4)
    grok_points: int = 300
    grok_dim: int = 30
    grok_neurons: int = 100
    grok_last: int = 14_000
    grok_test: int = 1000
    seeds: int = 8

    @property
    def random_rank(self) -> float:
        """m d/E‖W‖² of m = 2 · neurons_per_class Gaussian rows in d dimensions.

        ‖W‖² is μ + σ T with μ = (√(d−1) + √m)², σ = √μ (1/√(d−1) + 1/√m)^⅓ and T of Tracy and Widom, whose mean is
        −1.2065. The edge of Marchenko and Pastur, T = 0, is off by 0.16 for ten rows.
        """
        rows, root = 2 * self.neurons_per_class, np.sqrt(self.dim - 1)
        edge = root + np.sqrt(rows)
        spread = edge * (1 / root + rows**-0.5) ** (1 / 3)
        return float(rows * self.dim / (edge**2 - 1.2065 * spread))

    @property
    def rank_steps(self) -> tuple[int, ...]:
        """When ranks are looked at."""
        return spread(self.steps, 12)

    @property
    def wave_steps(self) -> tuple[int, ...]:
        """When Fourier modes are looked at."""
        return spread(self.wave_last, 60)

    @property
    def sharp_steps(self) -> tuple[int, ...]:
        """When sharpness is looked at."""
        return tuple(range(self.sharp_last // 20, self.sharp_last + 1, self.sharp_last // 20))

    @property
    def grok_steps(self) -> tuple[int, ...]:
        """When accuracies are looked at."""
        return spread(self.grok_last, 40)


def measure(config: Config, seed: int) -> dict[str, Any]:
    """One small measurement for each bias."""
    data = config.data(seed)
    rng = np.random.default_rng(seed)
    coarse, fine = config.coarse(data, seed, config.rank_steps), config.fine(data, seed, config.rank_steps)
    return {
        "coarse_rank": [stable_rank(weights) for weights in coarse.weights],
        "fine_rank": [stable_rank(weights) for weights in fine.weights],
        "fitted": wave(config, rng),
        "sharpness": [sharpness_over_time(config, rate, rng) for rate in config.rates],
        **grokking(config, rng),
    }


def circle(points: int) -> tuple[Dataset, Array]:
    """Points on the circle with the sign of the sine as label, and their angles."""
    angles = 2 * np.pi * (np.arange(points) + 0.5) / points
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    return Dataset(x, Labels.of(np.where(np.sin(angles) > 0, 1, -1))), angles


def random_network(neurons: int, rng: np.random.Generator) -> Network:
    """w, b ~ N(0, 0.09), v = ±0.3/√neurons."""
    second = 0.3 * rng.choice([-1.0, 1.0], (1, neurons)) / np.sqrt(neurons)
    return BinaryNetwork(0.3 * rng.standard_normal((neurons, 2)), 0.3 * rng.standard_normal(neurons), second, [0.0])


def wave(config: Config, rng: np.random.Generator) -> Array:
    """Sine coefficients of the network over those of the wave: (mode, step)."""
    data, angles = circle(config.wave_points)
    rule = GradientDescent(steps=config.wave_last, step_size=0.05)
    start = random_network(config.wave_neurons, rng)
    run = train(start, data, rule, loss=Squared(), trained=ALL, save_at=config.wave_steps, engine="dense")
    waves = np.sin(np.outer(config.modes, angles))
    found = np.stack([run.at(t).outputs(data.x)[:, 0] for t in range(1, len(run))], axis=1)
    return np.asarray(waves @ found / (waves @ data.y)[:, None])


def sharpness_over_time(config: Config, rate: float, rng: np.random.Generator) -> list[float]:
    """η/2 times the sharpness at the saved moments."""
    data = circle(config.sharp_points)[0]
    rule, start = GradientDescent(steps=config.sharp_last, step_size=rate), random_network(config.sharp_neurons, rng)
    run = train(start, data, rule, loss=Squared(), trained=ALL, save_at=config.sharp_steps, engine="dense")
    return [rate / 2 * sharpness(run.at(t), data) for t in range(len(run))]


def grokking(config: Config, rng: np.random.Generator) -> dict[str, list[float]]:
    """Accuracies over time on y = x₁x₂ from four times the usual start, f(0) = 0, with weight decay."""
    x = rng.choice([-1.0, 1.0], (config.grok_points + config.grok_test, config.grok_dim))
    y = (x[:, 0] * x[:, 1]).astype(np.int64)
    half = config.grok_neurons // 2
    weights = 4 * rng.standard_normal((half, config.grok_dim)) / np.sqrt(config.grok_dim)
    second = 4 * rng.choice([-1.0, 1.0], half) / np.sqrt(2 * half)
    both = np.concatenate([weights, weights]), np.zeros(2 * half), np.concatenate([second, -second])[None]
    known = slice(0, config.grok_points)
    rule = GradientDescent(steps=config.grok_last, step_size=0.05, weight_decay=3e-3)
    run = train(BinaryNetwork(*both, [0.0]), Dataset(x[known], Labels.of(y[known])), rule,
                trained=("weights", "second"), save_at=config.grok_steps, engine="dense")  # fmt: skip
    right = np.array([run.at(t).predict(x) == y for t in range(1, len(run))])
    return {
        "train_accuracy": right[:, known].mean(axis=1).tolist(),
        "test_accuracy": right[:, config.grok_points :].mean(axis=1).tolist(),
    }


def first_time(values: Array, level: float, steps: Sequence[int]) -> Array:
    """The first step at which values (..., step) reach a level, the last one where they never do: (...,)."""
    reached = values >= level
    place = np.where(reached.any(axis=-1), reached.argmax(axis=-1), len(steps) - 1)
    return np.asarray(np.maximum(np.array(steps)[place], 1))


def derive(config: Config, table: Table) -> Table:
    """Times, and the sharpness of the second half."""
    waves, sharp = first_time(table["fitted"], 0.8, config.wave_steps), table["sharpness"]  # (seed, mode), (..., step)
    late, early = (first_time(table[f"{name}_accuracy"], 0.95, config.grok_steps) for name in ("test", "train"))
    return table.plus({
        "times": Column(waves, ("seed", "mode"), "first step at which 0.8 of a mode is fitted"),
        "delay": ((waves[:, 1:] / waves[:, :-1]).min(axis=1), "smallest ratio of the times of two modes in turn"),
        "edge": Column(np.median(sharp[..., sharp.shape[-1] // 2 :], axis=-1), ("seed", "rate"),
                       "median of η/2 times the sharpness over the second half of training"),
        "lag": (late / early, "first step at which 0.95 of fresh points are right, over that of training points"),
    })  # fmt: skip


def drawings(config: Config) -> list[Drawing]:
    """One figure for each bias."""
    return [
        Drawing("curves", {"x": "early_step", "y": ("coarse_rank", "fine_rank")}, band=0.95,
            caption="Stable rank of ten neurons over training: two on coarse labels, one per class, and about as many "
            "as clusters on fine ones.",
            options={"labels": ["coarse labels", "fine labels"], "x_label": "step", "y_label": "stable rank"}),
        Drawing("curves", {"x": "wave_step", "y": "fitted"},
            caption="Fourier coefficients of the network over those of the square wave that it is trained on, mean "
            "over seeds: low modes first.",
            options={"labels": [f"mode {mode}" for mode in config.modes], "log_x": True, "x_label": "step",
                     "y_label": "fitted share"}),
        Drawing("curves", {"x": "sharp_step", "y": "sharpness"},
            caption="Largest eigenvalue of the Hessian in units of 2/η over training by full-batch descent, mean over "
            "seeds. It rises to 1 and stays there.",
            options={"labels": [f"η = {rate:g}" for rate in config.rates], "x_label": "step",
                     "y_label": "sharpness · η/2", "levels": [[1.0, "edge of stability"]]}),
        Drawing("curves", {"x": "grok_step", "y": ("train_accuracy", "test_accuracy")}, band=0.95, within=(0.0, 1.0),
            caption="Grokking: from a large start with weight decay training points are right long before fresh ones.",
            options={"labels": ["training points", "fresh points"], "log_x": True, "x_label": "step",
                     "y_label": "accuracy"}),
    ]  # fmt: skip


def sharpness(network: Network, data: Dataset) -> float:
    """The largest eigenvalue of ∇²L, L = 1/(2n) Σ_i (f(x_i) − y_i)², in all parameters of a network with one output.

    >>> import featavg as fa
    >>> from featavg.data import Labels
    >>> data = Dataset(np.array([[3.0]]), Labels.of([1]))
    >>> network = fa.BinaryNetwork([[1.0]], [0.0], [[1.0]], [-2.0])  # f = 1: ∇f = (3, 1, 3, 1), and nothing else
    >>> round(sharpness(network, data), 9)
    20.0
    """
    return float(np.linalg.eigvalsh(hessian(network, data))[-1])


def hessian(network: Network, data: Dataset) -> Array:
    """∇²L = 1/n Σ_i (∇f ∇fᵀ + (f − y) ∇²f) on the linear piece that the weights lie on: (parameter, parameter).

    Parameters are w_r and b_r neuron by neuron, then the second layer, then the output bias. ReLU is straight on
    either side of its kink, so ∇²f joins a neuron's own second weight with its first ones and is 0 elsewhere. No
    difference is taken, so no kink can come between two gradients.
    """
    count, neurons = len(data.x), network.neurons
    x = np.column_stack([data.x, np.ones(count)])
    z = network.preactivations(data.x)
    on = (z > 0).astype(np.float64)
    first = (on * network.second[0])[:, :, None] * x[:, None]  # (sample, neuron, axis + 1)
    slopes = np.column_stack([first.reshape(count, -1), np.maximum(z, 0.0), np.ones(count)])
    off = network.outputs(data.x)[:, 0] - data.y
    mixed = block_diag(*np.einsum("i,ir,ia->ra", off, on, x)[:, :, None])  # (neuron · (axis + 1), neuron)
    whole, inner = slopes.T @ slopes, neurons * x.shape[1]
    whole[:inner, inner:-1] += mixed
    whole[inner:-1, :inner] += mixed.T
    return np.asarray(whole / count)
