"""Late networks are KKT points of margin maximisation: still averaging, not always the best, and fragile.

The problem is min ½‖θ‖² subject to q_i(θ) >= 1. Residuals of its KKT conditions are measured along training, with one
layer trained and both, to a loss of 1e-881; so is the turning of the direction θ/‖θ‖. For ideal networks on k
orthogonal clusters, second layer ±1/m and m neurons per class, the normalised margins are

    averaging √(d/(mk)),  decoupled √(2d/(mk²)):

margin maximisation prefers averaging by √(k/2), the very factor by which averaging loses in radius.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from featavg.analysis import averaging_index, gradient_norms, kkt_residuals, normalized_margin
from featavg.arrays import Array
from featavg.data import Dataset
from featavg.experiments import Expect, Quantity
from featavg.experiments.implicit_bias.late import (
    TRAINED,
    decoupled_binary,
    exponent,
    first_below,
    hinted,
    ideal_ratio,
    overlapping_little,
)
from featavg.experiments.paper.setting import NETWORK_SEED, Setting
from featavg.model import BinaryNetwork, Network, filtered_network
from featavg.record import Column, Drawing, Table
from featavg.robustness import UniversalDirection, robust_radius
from featavg.training import Exponential, LossBasedDescent, Trajectory, every, train

COST = ("long", 61)
NEEDS: tuple[str, ...] = ()
COORDS = {
    "layers": tuple(TRAINED),
    "loss": lambda config: config.losses,
    "doubling": (0, 1, 2),
    "dim": lambda config: config.sphere_dims,
}
LAYERS, LOSS = ("layers",), ("layers", "loss")
COLUMNS = {
    "stationarity": Quantity("‖θ − Σ λ_i h_i‖/‖θ‖ with the best λ >= 0 and h_i in Clarke's derivative of q_i", LOSS),
    "fixed_pattern": Quantity("stationarity at the last loss, h_i the one derivative of q_i by z >= 0", LAYERS),
    "complementarity": Quantity("Σ λ_i (q_i − 1)/Σ λ_i at smallest margin 1", LOSS),
    "turn": Quantity("angle between θ when log(1/L) is an eighth, a quarter, a half of its last value and when it is "
                     "twice that", ("layers", "doubling"), unit="rad"),
    "index": Quantity("smallest averaging index of a neuron at the last loss", LAYERS),
    "radius": Quantity("median exact ℓ2 radius at {config.test_points} test points over √(d/k), last loss", LAYERS),
    "kept_radius": Quantity("median exact ℓ2 radius at the last loss over that at the first", LAYERS),
    "ideal_ratio": "normalised margin at the centers of the ideal averaging network over that of the ideal decoupled "
    "one with as many neurons",
    "margin": "normalised margin of the network trained from a tiny start over √(d/(mk)), one layer trained",
    "moved_margin": "normalised margin of a network that starts decoupled, × {config.decoupled_scale:g}, over that of "
    "the one from a tiny start",
    "moved_index": "median averaging index of the network that started decoupled",
    "gradient_ratio": "mean ‖∇f‖/f at test points of the late network over that of the ideal robust (bias-filtered) "
    "one",
    "universal": "length of the step along Σ y_j μ_j that fools 99 % of {config.universal_points} fresh points, over "
    "√(d/k), both layers trained",
    "accuracy": Quantity("accuracy on these points", points=lambda config: config.universal_points),
    "hinted_tiny": "normalised margin on the hinted points, leaky ReLU, start × 1e-8",
    "hinted_residual": "its stationarity residual",
    "hinted_large": "normalised margin on the hinted points, leaky ReLU, start × 0.1",
    "hinted_relu": "normalised margin from start × 1e-8 over that from start × 0.1, plain ReLU",
    "sphere_step": Quantity("length of the shortest step along Σ y_i x_i that fools every margin point", ("dim",)),
    "sphere_near": Quantity("share of points within a tenth of the margin", ("dim",)),
    "sphere_residual": Quantity("stationarity residual of these networks", ("dim",)),
}  # fmt: skip
LYU_LI, JI = "Lyu & Li 2020, Theorem 4.4", "Ji & Telgarsky 2020"
FREI, VARDI = "Frei et al. 2023, Theorem 4.2", "Vardi et al. 2022"


def _gradient_ratio(config: Config, _: Table) -> float:
    k = config.clusters
    return (1 - config.threshold) * (np.sqrt(k / 2) + np.sqrt(k)) / 2


CLAIMS = [
    *(
        expect
        for layers in TRAINED
        for at in [{"layers": layers}]
        for last in [{"layers": layers, "loss": -881.0}]
        for expect in (
            Expect("stationarity", f"With {layers} trained the late network is a KKT point to a hundredth.", LYU_LI,
                   expected=0.0, tolerance=0.01, relation="at most", at=last, because="the residual of the limit is 0; "
                   "a prototype had 0.0003 with one layer trained"),
            Expect("fixed_pattern", f"Without the freedom at kinks no multipliers would show it, {layers} trained.",
                   "why Clarke's derivative", expected=0.02, tolerance=0.0, relation="at least", at=at,
                   because="a prototype stayed between 0.05 and 0.08; a hundredth is claimed above"),
            Expect("complementarity", f"With {layers} trained only points on the margin have multipliers.", LYU_LI,
                   expected=0.0, tolerance=0.01, relation="at most", at=last, because="log n/log(1/L) is 0.003"),
            Expect("turn_ratio", f"With {layers} trained the direction converges: it turns less in every doubling of "
                   "log(1/L).", JI, expected=0.75, tolerance=0.0, relation="at most", at=at,
                   because="a distance c/log(1/L) from the limit would halve; no rate is stated"),
            Expect("index", f"The late network still averages, with {layers} trained.", "our extension of Theorem 1(1)",
                   expected=0.9, tolerance=0.0, relation="at least", at=at, because="as near as after 100 steps"),
            Expect("radius", f"It is as fragile as the averaging network, with {layers} trained.",
                   "our extension of Theorem 1(3)", expected=1.0, tolerance=0.1, at=at,
                   because="noise of the sample adds to the weights; a prototype lost 2 % of √(d/k)"),
        )
    ),
    Expect("ideal_ratio", "Averaging has the larger normalised margin, by √(k/2).", "closed form", check=True,
           expected=lambda config, _: np.sqrt(config.clusters / 2), tolerance=1e-9, because="rounding"),
    Expect("margin", "Training reaches the averaging network's margin √(d/(mk)).", "closed form",
           expected=1.0, tolerance=0.05, because="noise adds and takes about √(k/n) of a point's margin"),
    Expect("moved_margin", "From the decoupled network training goes to the margin of the averaging one.",
           "margin maximisation prefers averaging", expected=1.0, tolerance=0.05, because="as for the margin itself"),
    Expect("moved_index", "There it averages.", "margin maximisation prefers averaging", expected=0.9, tolerance=0.0,
           relation="at least", because="as near as from a tiny start"),
    Expect("gradient_ratio", "At equal margin its gradient is larger than the robust network's.", "talks' intuition",
           expected=_gradient_ratio, tolerance=0.15, relative=True,
           because="(1 − θ)(√(k/2) + √k)/2: the other class's neurons are on at half of the points; noise adds"),
    Expect("universal", "One direction, Σ y_j μ_j, fools nearly all points at O(√(d/k)).", FREI, expected=2.0,
           tolerance=0.0, relation="at most", because="the theorem's constant is larger; noise alone adds 2.3/√(d/k)"),
    Expect("accuracy", "The late network generalises.", "Frei et al. 2023, Theorem 3.1", expected=1.0, tolerance=0.001,
           relation="at least", because="one point in a thousand"),
    Expect("hinted_tiny", "A hint leads a leaky network from a tiny start to the margin 0.025 of a linear rule.",
           "Lyu et al. 2021", expected=0.025, tolerance=0.002, because="closed form 0.1·0.5·0.5; reached slowly"),
    Expect("hinted_residual", "That network is a KKT point.", "Lyu et al. 2021", expected=0.0, tolerance=0.05,
           relation="at most", because="a twentieth of ‖θ‖; there is no kink nearby"),
    Expect("hinted_large", "It is not the best one: larger starts have four times its margin or more.",
           "Lyu et al. 2021", expected=0.1, tolerance=0.0, relation="at least", because="four times 0.025"),
    Expect("hinted_relu", "Plain ReLU escapes: from both starts the same margin.", "our question", expected=1.0,
           tolerance=0.02, because="margins are read at a finite loss"),
    Expect("worst_residual", "Networks on nearly orthogonal points are KKT points to a tenth.", "stated residual",
           expected=0.1, tolerance=0.0, relation="at most", because="neurons that align less fade slowly: in a trial "
           "0.072 at a log-loss of −1000 and 0.067 at −4000"),
    Expect("sphere_exponent", "Their universal perturbation grows as √(d/m) = d^(1/4), not as √d.", VARDI,
           expected=0.25, tolerance=0.1, because="m = √d is small: pairwise products of order √d shift it"),
    Expect("sphere_size", "It fools every margin point within twice √(d/m).", VARDI, expected=2.0, tolerance=0.0,
           relation="at most", because="the theorem has a larger constant"),
]  # fmt: skip
NOTES = [
    "Bearing on averaging: it is not a matter of stopping early. The averaging direction has the larger normalised "
    "margin, by √(k/2), and is where training ends, whether it starts from nothing or from decoupled neurons that "
    "classify every point (averaging index {mean[moved_index]:.2f}, margin {mean[moved_margin]:.2f} of the other).",
]


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting with n = 200 points, trained to 1e-881; spheres of 100 to 800 dimensions."""

    samples: int = 200
    losses: tuple[float, ...] = (-3.0, -10.0, -30.0, -120.0, -881.0)  # log10
    test_points: int = 50
    universal_points: int = 1000
    threshold: float = 0.25  # of the robust network
    decoupled_scale: float = 100.0  # of the decoupled start: margins of 20, a loss of about 1e-6
    hinted_log_loss: float = -200.0
    hinted_steps: int = 20_000  # at most
    sphere_dims: tuple[int, ...] = (100, 200, 400, 800)
    sphere_neurons: int = 20
    sphere_log_loss: float = -1000.0
    seeds: int = 10


def measure(config: Config, seed: int) -> dict[str, Any]:
    """Train to the end in several ways and places; measure residuals, directions, margins and radii."""
    data = config.data(seed)
    test = config.test(data, seed, config.test_points)
    start = BinaryNetwork.random(data, config.neurons_per_class, seed=NETWORK_SEED + seed)
    runs = {trained: late_run(config, start, data, trained) for trained in TRAINED.values()}
    parts = [along(config, run, trained, test) for trained, run in runs.items()]
    one, both = (run.final for run in runs.values())
    margin = normalized_margin(one, data.x, data.y)
    moved = late_run(config, decoupled_binary(data, config.decoupled_scale), data, TRAINED["one layer"]).final
    goal = config.hinted_log_loss, config.hinted_steps
    tiny, relu = (hinted(leak, 1e-8, seed, *goal) for leak in (0.5, 0.0))
    large, other = (hinted(leak, 0.1, seed, *goal)[0] for leak in (0.5, 0.0))
    sphere = [
        overlapping_little(dim, config.sphere_neurons, seed, config.sphere_log_loss) for dim in config.sphere_dims
    ]
    step, near, residual = np.transpose(sphere)
    robust = filtered_network(data, config.threshold)
    return {
        **{name: np.stack([part[name] for part in parts]) for name in parts[0]},
        "ideal_ratio": ideal_ratio(data),
        "margin": margin / np.sqrt(config.dim / (config.neurons_per_class * config.clusters)),
        "moved_margin": normalized_margin(moved, data.x, data.y) / margin,
        "moved_index": np.median(averaging_index(moved, data)),
        "gradient_ratio": gradient_norms(one, test.x).mean() / gradient_norms(robust, test.x).mean(),
        **universal(config, both, data, seed),
        "hinted_tiny": tiny[0], "hinted_residual": tiny[1], "hinted_large": large, "hinted_relu": relu[0] / other,
        "sphere_step": step, "sphere_near": near, "sphere_residual": residual,
    }  # fmt: skip


def late_run(config: Config, start: Network, data: Dataset, trained: tuple[str, ...]) -> Trajectory:
    """Loss-based steps to the last loss."""
    rule = LossBasedDescent(log_loss=config.losses[-1] * np.log(10))
    return train(start, data, rule, loss=Exponential("sum"), trained=trained, save_at=every(5))


def along(config: Config, run: Trajectory, trained: tuple[str, ...], test: Dataset) -> dict[str, Any]:
    """Residuals and turns along a run, and what its last network is like."""
    data, end = run.data, config.losses[-1]
    networks = [run.at(t) for t in first_below(run, [power * np.log(10) for power in config.losses])]
    found = [kkt_residuals(network, data, trained=trained) for network in networks]
    parts = [run.at(t) for t in first_below(run, [end * np.log(10) / part for part in (8, 4, 2, 1)])]
    ways = [_direction(network, trained) for network in parts]
    first, last = (np.median(robust_radius(networks[t], test.x, test.y).upper) for t in (0, -1))
    return {
        "stationarity": [each.stationarity for each in found],
        "fixed_pattern": kkt_residuals(networks[-1], data, trained=trained, kink=0.0).stationarity,
        "complementarity": [each.complementarity for each in found],
        "turn": [2 * np.arcsin(np.linalg.norm(b - a) / 2) for a, b in pairwise(ways)],
        "index": averaging_index(run.final, data).min(),
        "radius": last / np.sqrt(config.dim / config.clusters),
        "kept_radius": last / first,
    }


def _direction(network: Network, trained: tuple[str, ...]) -> Array:
    blocks = [network.weights.ravel(), network.biases] + [network.second.ravel()] * ("second" in trained)
    theta = np.concatenate(blocks)
    return theta / np.linalg.norm(theta)


def universal(config: Config, network: Network, data: Dataset, seed: int) -> dict[str, float]:
    """How long a step along Σ y_j μ_j must be to fool 99 % of fresh points."""
    fresh = config.test(data, seed, config.universal_points)
    way = np.asarray(data.center_labels @ data.centers)
    steps = UniversalDirection(direction=way / np.linalg.norm(way))(network, fresh.x, fresh.y).upper
    size = float(np.quantile(steps, 0.99)) / np.sqrt(config.dim / config.clusters)
    return {"universal": size, "accuracy": float(np.mean(network.predict(fresh.x) == fresh.y))}


def derive(config: Config, table: Table) -> Table:
    """How much less the direction turns, and Vardi's perturbation against dimension."""
    turn, steps, dims = table["turn"], table["sphere_step"], np.array(config.sphere_dims)
    counts = np.round(dims**0.5)
    return table.plus({
        "turn_ratio": Column((turn[:, :, 1:] / turn[:, :, :-1]).max(axis=2), ("seed", "layers"),
                             "largest ratio of the turns over a doubling of log(1/L) and over the doubling before"),
        "sphere_exponent": ([exponent(dims, each) for each in steps], "exponent p of step ~ d^p"),
        "sphere_size": ((steps / np.sqrt(dims / counts)).max(axis=1), "largest step over √(d/m), over d"),
        "worst_residual": (table["sphere_residual"].max(axis=1), "largest stationarity residual, over d"),
        "sphere_theory": Column(np.sqrt(dims / counts), ("dim",), "√(d/m)"),
        "orders": Column(-np.array(config.losses), ("loss",), "−log10 of the loss"),
    })  # fmt: skip


DRAWINGS = [
    *(
        Drawing("scaling", {"x": "orders", "y": ("stationarity", "complementarity")}, at={"layers": layers}, band=0.95,
            caption=f"Residuals of the KKT conditions over the decimal orders of the loss, {layers} trained.",
            options={"labels": ["stationarity", "complementarity"], "x_label": "−log10 loss", "y_label": "residual"})
        for layers in TRAINED
    ),
    Drawing("scaling", {"x": "dim", "y": "sphere_step", "theory": "sphere_theory"}, band=0.95,
        caption="Length of the step along Σ y_i x_i that fools every margin point of √d nearly orthogonal points of "
        "norm √d, over the dimension; dashed √(d/m).",
        options={"x_label": "d", "y_label": "step", "theory_labels": ["√(d/m)"]}),
]  # fmt: skip
