"""A linear model becomes a support vector machine, with time (Soudry et al.) or with less penalty (Rosset et al.).

On separable points without an intercept the hard-margin solution ŵ minimises ‖w‖ subject to y_i ⟨w, x_i⟩ >= 1; it is
found exactly, as a least-distance problem with multipliers λ >= 0. Gradient descent on the logistic loss goes

    w(t) = ŵ log t + bounded,

so the angle to ŵ and the shortfall of the margin fall as 1/log t: slow enough that steps of one size never show it.
Loss-based steps reach log t = 3000. The minimiser of Σ_i ℓ_i + λ‖w‖² goes to the same direction as λ → 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.special import expit

from featavg.arrays import Array
from featavg.data import Dataset, Points, sample_clusters
from featavg.experiments import Expect, Quantity
from featavg.experiments.implicit_bias.late import exponent, log_times
from featavg.model import Layer, Network
from featavg.record import Column, Drawing, Table
from featavg.training import GradientDescent, Logistic, LossBasedDescent, every, train

COST = ("long", 46)
NEEDS: tuple[str, ...] = ()
COORDS = {
    "log_time": lambda config: config.log_times,
    "penalty": lambda config: config.penalties,
    "cluster_dim": lambda config: config.cluster_dims,
}
COLUMNS = {
    "gap": "relative difference of ½‖ŵ‖² and the dual value Σ λ − ½‖Σ λ_i y_i x_i‖²",
    "angle": Quantity("angle between w(t) and ŵ, loss-based steps", ("log_time",), unit="rad"),
    "angle_exponent": "exponent p of angle ~ (log t)^p, over log t from {config.fit_from:g} on",
    "margin_exponent": "exponent p of 1 − margin/best margin ~ (log t)^p, over the same times",
    "same_path": "angle to ŵ after {config.plain_steps} steps of one size over that of loss-based steps at the same t",
    "ridge_angle": Quantity("angle between the minimiser with penalty λ‖w‖² and ŵ", ("penalty",), unit="rad"),
    "ridge_rise": "largest ratio of the angle at one λ and at the next larger one, over all λ",
    "ridge_fall": "ratio of the angles at the smallest and at the largest λ",
    "cluster_cosine": Quantity(
        "cosine of ŵ of {config.cluster_points} points of the cluster model with Σ y_j μ_j", ("cluster_dim",)
    ),
}
SOUDRY = "Soudry et al. 2018, Theorem 3"
ROSSET = "Rosset et al. 2004, Theorem 2.1"
CLAIMS = [
    Expect("gap", "The reference is the hard-margin support vector machine: primal and dual agree.", "strong duality",
           expected=0.0, tolerance=1e-8, relation="at most", check=True, because="rounding of the solver"),
    Expect("angle_exponent", "The angle to the support vector machine falls as 1/log t.", SOUDRY,
           expected=-1.0, tolerance=0.1,
           because="c/(log t + c0) bends the line by c0/log t, and points nearly on the margin leave the sum late"),
    Expect("margin_exponent", "So does what the margin falls short of the best one.", SOUDRY.replace("3", "5"),
           expected=-1.0, tolerance=0.1, because="the same terms as for the angle"),
    Expect("same_path", "Loss-based steps travel the path of steps of one size: at the same time they are as far.",
           "our check of the method", expected=1.0, tolerance=0.1, check=True,
           because="both are Euler steps on one flow; a loss-based step moves margins by up to 1, not infinitesimally"),
    Expect("ridge_rise", "With less and less regularisation the angle never rises.", ROSSET,
           expected=1.0, tolerance=0.0, relation="at most",
           because="the theorem is about the limit; that the way there is monotone is our reading, at decades of λ"),
    Expect("ridge_fall", "It falls to less than half over the path.", ROSSET, expected=0.5, tolerance=0.0,
           relation="at most", because="the theorem names no rate; half is visible"),
    Expect("cluster_cosine", "On clusters of high dimension the support vector machine is the rule Σ y_j μ_j, "
           "up to the noise of the sample.", "closed form",
           expected=lambda config, _: (1 + config.clusters / config.cluster_points) ** -0.5, tolerance=0.005,
           at={"cluster_dim": 10**6},
           because="every point is a support point, of equal multipliers up to cluster sizes: 1/√(1 + k/n)"),
    Expect("cluster_cosine", "At the paper's dimension it still is nearly that rule.", "our extension",
           expected=0.9, tolerance=0.0, relation="at least", at={"cluster_dim": 3072},
           because="noise makes the multipliers unequal there, by √(k/d)·n/k of their mean or more; a trial gave 0.95, "
           "against 0.976 of equal multipliers"),
]  # fmt: skip
NOTES = [
    "Bearing on averaging: for a linear model the largest margin is averaging. Every center enters with about the same "
    "weight, and the distance of a center from the boundary is about √(d/k): maximising the margin over training "
    "points is no remedy.",
]


@dataclass(frozen=True)
class Config:
    """Gaussian points in 20 dimensions, moved half a unit to their side of a random hyperplane; and clusters."""

    points: int = 60
    dim: int = 20
    shift: float = 0.5
    log_times: tuple[float, ...] = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
    fit_from: float = 300.0
    plain_steps: int = 20_000
    penalties: tuple[float, ...] = tuple(10.0**-power for power in range(13))
    clusters: int = 10
    cluster_dims: tuple[int, ...] = (3072, 10**6)
    cluster_points: int = 200
    seeds: int = 20
    first_seed: int = 0


def measure(config: Config, seed: int) -> dict[str, Any]:
    """Solve, train with and without loss-based steps, and regularise; compare directions."""
    data = draw(config, seed)
    best, multipliers = hard_margin(data)
    start = Network((Layer(np.zeros((1, config.dim)), np.zeros(1)),))
    rule = LossBasedDescent(log_loss=-config.log_times[-1] - 5)
    run = train(start, data, rule, loss=Logistic("sum"), trained=["weights"], save_at=every(1))
    times, angles = log_times(run), angle(run.weights[:, 0], best)
    sizes = np.linalg.norm(run.weights[:, 0], axis=1)
    late = (times >= config.fit_from) & (times <= config.log_times[-1])
    lacking = 1 - run.margins[late].min(axis=1) / sizes[late] * np.linalg.norm(best)
    plain, time = plain_descent(config, data, start)
    ridge = angle(ridge_path(data, config.penalties), best)
    dual = multipliers.sum() - (best @ best) / 2
    return {
        "gap": abs(dual / (best @ best / 2) - 1),
        "angle": np.interp(config.log_times, times[1:], angles[1:]),
        "angle_exponent": exponent(times[late], angles[late]),
        "margin_exponent": exponent(times[late], lacking),
        "same_path": angle(plain, best)[0] / np.interp(np.log(time), times[1:], angles[1:]),
        "ridge_angle": ridge,
        "ridge_rise": (ridge[1:] / ridge[:-1]).max(),
        "ridge_fall": ridge[-1] / ridge[0],
        "cluster_cosine": [cluster_cosine(config, dim, seed) for dim in config.cluster_dims],
    }


def draw(config: Config, seed: int) -> Dataset:
    """Points that a hyperplane through 0 separates."""
    rng = np.random.default_rng(seed)
    x, way = rng.standard_normal((config.points, config.dim)), rng.standard_normal(config.dim)
    y = np.where(x @ way > 0, 1, -1)
    return Points(x + config.shift * np.outer(y, way / np.linalg.norm(way)), y, (y + 1) // 2)


def hard_margin(data: Dataset) -> tuple[Array, Array]:
    """ŵ = argmin ‖w‖ subject to y_i ⟨w, x_i⟩ >= 1, and its multipliers (sample,).

    Lawson and Hanson's least-distance problem: with u = argmin_{u >= 0} ‖Σ u_i y_i x_i‖² + (Σ u_i − 1)², ŵ is
    proportional to Σ u_i y_i x_i.
    """
    signed = data.x * np.asarray(data.y)[:, None]
    found, _ = nnls(np.vstack([signed.T, np.ones(len(signed))]), np.append(np.zeros(signed.shape[1]), 1.0))
    left = 1 - found.sum()
    return found @ signed / left, found / left


def cluster_cosine(config: Config, dim: int, seed: int) -> float:
    """How near the hard-margin solution on clusters is to Σ y_j μ_j."""
    data = sample_clusters(config.clusters, dim, config.cluster_points, seed=seed)
    return float(np.cos(angle(hard_margin(data)[0][None], data.center_labels @ data.centers)[0]))


def plain_descent(config: Config, data: Dataset, start: Network) -> tuple[Array, float]:
    """w (1, axis) after steps of one size, η = 1/smoothness, and the time Σ η."""
    eta = 4 / float(np.linalg.norm(data.x, 2)) ** 2
    rule = GradientDescent(steps=config.plain_steps, step_size=eta)
    run = train(start, data, rule, loss=Logistic("sum"), trained=["weights"], save_at=[config.plain_steps])
    return run.final.weights, eta * config.plain_steps


def ridge_path(data: Dataset, penalties: tuple[float, ...]) -> Array:
    """argmin_w Σ_i log(1 + exp(−y_i ⟨w, x_i⟩)) + λ‖w‖² for each λ, by Newton: (penalty, axis)."""
    signed = data.x * np.asarray(data.y)[:, None]
    w, path = np.zeros(signed.shape[1]), []
    for penalty in penalties:
        for _ in range(200):
            off = expit(-signed @ w)
            slope = 2 * penalty * w - signed.T @ off
            bend = (signed.T * (off * (1 - off))) @ signed + 2 * penalty * np.eye(len(w))
            step = np.linalg.solve(bend, slope)
            decrement = float(slope @ step)
            # Self-concordance: this damping always descends, and is Newton's full step at the end.
            w = w - step / (1 + np.abs(signed @ step).max())
            if decrement < 1e-20 * (1 + penalty * float(w @ w)) or np.linalg.norm(step) < 1e-11 * np.linalg.norm(w):
                break
        path.append(w)
    return np.array(path)


def angle(vectors: Array, other: Array) -> Array:
    """Angles of vectors (row, axis) with another, exact near 0; π/2 for a vector of zeros: (row,)."""
    unit = other / np.linalg.norm(other)
    along = vectors @ unit
    across = np.linalg.norm(vectors - along[:, None] * unit, axis=1)
    return np.where(vectors.any(axis=1), np.arctan2(across, along), np.pi / 2)


def derive(config: Config, table: Table) -> Table:
    """The line 1/log t through the last point."""
    places, values = np.array(config.log_times), table["angle"].mean(axis=0)
    return table.plus({"inverse": Column(values[-1] * places[-1] / places, ("log_time",), "1/log t, scaled")})


def drawings(config: Config) -> list[Drawing]:
    """Angles over log t and over λ."""
    return [
        Drawing("scaling", {"x": "log_time", "y": "angle", "theory": "inverse"}, band=0.95,
            caption="Angle between gradient descent and the hard-margin support vector machine over log t, mean over "
            "seeds with 95 % intervals; dashed 1/log t through the last point.",
            options={"x_label": "log t", "y_label": "angle in rad", "theory_labels": ["1/log t"]}),
        Drawing("curves", {"x": "penalty", "y": "ridge_angle"}, band=0.95, within=(1e-4, 2.0),
            caption="Angle between the minimiser of the loss with penalty λ‖w‖² and the hard-margin support vector "
            "machine over λ, mean over seeds with 95 % intervals.",
            options={"x_label": "λ", "y_label": "angle in rad", "log_x": True, "log_y": True}),
    ]  # fmt: skip
