"""Trained on the fine labels, every neuron learns one feature by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.analysis import alignment, averaging_index, decompose
from featavg.arrays import Array
from featavg.data import Dataset
from featavg.experiments import Progress, record_of
from featavg.experiments._paper import NETWORK_SEED, Setting
from featavg.model import MulticlassNetwork, Network
from featavg.record import Claim, Drawing, Record
from featavg.training import GradientFlow, Trajectory, train

COST = ("quick", 20)
NEEDS: tuple[str, ...] = ()
SOURCE = "Theorem 4(1-2), Fig. 2(b)"
LATE = "Theorem 4(2); Theorem 5.5 of the talk"


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting, and a gradient flow far beyond it: up to the time ηT = k⁸ of the theorem.

    The flow has h = 3 neurons a class: a single one that is off at all points of its class at the start stays off.
    """

    flow_neurons: int = 3
    flow_moments: int = 49
    flow_accuracy: float = 0.2
    seeds: int = 10

    @property
    def flow_time(self) -> float:
        """k⁸."""
        return float(self.clusters) ** 8


def run(config: Config, progress: Progress) -> Record:
    """Train over seeds, for T steps and as a flow; measure cosines, growth of λ, spreads and accuracy."""
    times = np.geomspace(config.flow_time * 1e-12, config.flow_time, config.flow_moments)
    rows, growth, born_dead = [], [], 0
    for seed in range(config.seeds):
        data = config.data(seed)
        trajectory = config.fine(data, seed, save_at=[config.steps])
        row = _measure(trajectory.final, data, decompose(trajectory, data).feature[-1])
        test = config.test(data, seed)
        row["loss"] = trajectory.losses[-1]
        row["accuracy"] = np.mean(trajectory.final.predict(test.x) == test.cluster)
        flow = _flow(config, data, seed, times)
        growth.append(_own(decompose(flow, data).feature[1:], config.flow_neurons))
        born_dead += _born_dead(trajectory.initial, data)
        row["late_accuracy"] = np.mean(flow.final.predict(test.x) == test.cluster)
        rows.append(row | _late(growth[-1], data, config, times))
        progress((seed + 1) / config.seeds, f"seed {seed}")
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    arrays = columns | {"mean_cosines": columns["cosines"].mean(axis=0), "times": times}
    arrays["growth"] = np.stack([np.mean(growth, axis=(0, 2)), np.log(times) / 4])
    note = (
        f"Of the neurons of networks with one a class, those off at all its points at the start are {born_dead} "
        f"of {config.seeds * config.clusters}. A gradient flow never wakes such a neuron, so its class is not learned; "
        "steps of the paper's size do wake it. With three neurons a class the chance that all are off is negligible."
    )
    return record_of(
        config,
        claims=[*_soon(columns, config), *_later(columns, config)],
        arrays=arrays,
        drawings=_drawings(config),
        notes=[note],
    )


def _flow(config: Config, data: Dataset, seed: int, times: Array) -> Trajectory:
    start = MulticlassNetwork.random(data, config.flow_neurons, seed=NETWORK_SEED + config.first_seed + seed)
    rule = GradientFlow(time=config.flow_time, accuracy=config.flow_accuracy)
    return train(start, data, rule, save_at=list(times))


def _own(feature: Array, neurons_per_class: int) -> Array:
    """λ_j = (1/h) Σ_r λ_jrj, the value of f_j at its center: (time, class)."""
    times, _, classes = feature.shape
    own = feature.reshape(times, classes, neurons_per_class, classes)
    return np.diagonal(own.mean(axis=2), axis1=1, axis2=2)


def _born_dead(start: Network, data: Dataset) -> int:
    """How many neurons are off at every point of their class."""
    active = start.active(data.x)
    return sum(not active[data.cluster == j, r].any() for r, j in enumerate(start.neuron_class))


def _measure(network: Network, data: Dataset, feature: Array) -> dict[str, Array]:
    cosines = alignment(network, data.centers)
    own = np.eye(data.clusters, dtype=bool)[network.neuron_class]
    return {
        "cosines": cosines,
        "diagonal": cosines[own].mean(),
        "off": cosines[~own].mean(),
        "lambda": feature[own].mean(),
        "index": np.abs(averaging_index(network, data)).max(),
    }


def _late(growth: Array, data: Dataset, config: Config, times: Array) -> dict[str, float]:
    """What the theorem says of large times: λ above ln(ηT)/4, equal for all classes, growing as a logarithm."""
    late = times >= 1.0
    cross = np.abs(data.noise @ data.noise.T - np.diag((data.noise**2).sum(axis=1))).max() / data.dim
    last = growth[-1]
    return {
        "excess": float((growth[late] - np.log(times[late])[:, None] / 4).min()),
        "late_lambda": float(last.mean()),
        "slope": float(np.polyfit(np.log(times[late]), growth[late].mean(axis=1), 1)[0]),
        "spread": float(np.abs(last - last.mean()).max() / last.mean()),
        "spread_bound": float(204 * config.clusters**2 * cross),
    }


def _drawings(config: Config) -> list[Drawing]:
    half = config.clusters // 2
    return [
        Drawing(
            "heatmap",
            {"values": "mean_cosines"},
            caption="Cosine of each class's neuron with each cluster center, mean over seeds. Every neuron points "
            "along its own feature and no other (paper, Fig. 2b).",
            options={"rows": "class", "row_blocks": [half], "column_blocks": [half]},
        ),
        Drawing(
            "curves",
            {"x": "times", "y": "growth"},
            caption="Coefficient λ of a class's own feature over the time ηT of the gradient flow, mean over classes "
            "and seeds, above the lower bound of the theorem. Both grow like the logarithm of time.",
            options={
                "labels": ["measured λ", "bound ln(ηT)/4"],
                "log_x": True,
                "x_label": "time ηT",
                "y_label": "λ",
                "marks": [[0.1, "T of the paper's experiment"]],
            },
        ),
    ]


def _soon(found: dict[str, Array], config: Config) -> list[Claim]:
    """After the paper's hundred steps."""
    per_cluster = config.samples / config.clusters
    return [
        Claim.over_seeds(
            found["diagonal"],
            "A class's neuron points along the feature of its class.",
            source=SOURCE,
            expected=1 / np.sqrt(1 + 1 / per_cluster),
            tolerance=0.006,
            tolerance_reason="the noise of n/k points predicts the value; the other nine features take 0.018² each",
            published=0.99,
            how="mean cosine of a neuron with the center of its class",
        ),
        Claim.over_seeds(
            found["off"],
            "A class's neuron is nearly orthogonal to all other features.",
            source=SOURCE,
            expected=-0.018,
            tolerance=0.01,
            tolerance_reason="two independent simulations gave -0.018; the figure shows -0.01 to -0.02",
            published=-0.015,
            how="mean cosine of a neuron with the other centers",
        ),
        Claim.over_seeds(
            found["index"],
            "No neuron averages.",
            source=SOURCE,
            expected=0.0,
            tolerance=0.02,
            relation="at most",
            tolerance_reason="one twentieth of the way to averaging would be visible in the heat map",
            how="largest |averaging index| over the ten neurons",
        ),
        Claim.over_seeds(
            found["accuracy"],
            "The k-class network names the cluster of fresh points.",
            source="Theorem 4(1)",
            expected=1.0,
            tolerance=0.001,
            relation="at least",
            tolerance_reason="one point in a thousand",
            published=1.0,
            how="10-way argmax accuracy on 1000 fresh points a seed",
        ),
    ]


def _later(found: dict[str, Array], config: Config) -> list[Claim]:
    """Up to the time of the theorem."""
    return [
        Claim.over_seeds(
            found["excess"],
            "Once ηT >= 1 the coefficient λ of every class stays above ln(ηT)/4.",
            source=LATE,
            expected=0.0,
            tolerance=0.0,
            relation="at least",
            tolerance_reason="a bound",
            how="smallest λ − ln(ηT)/4 over classes and times 1 <= ηT <= k⁸ of the gradient flow",
        ),
        Claim.over_seeds(
            found["late_lambda"],
            "At the theorem's time ηT = k⁸ the coefficient λ exceeds 2 ln k.",
            source=LATE,
            expected=2 * np.log(config.clusters),
            tolerance=0.0,
            relation="at least",
            tolerance_reason="a bound",
            how="mean λ over classes at ηT = k⁸, three neurons a class",
        ),
        Claim.over_seeds(
            found["slope"],
            "λ grows like the logarithm of time.",
            source=LATE,
            expected=1.0,
            tolerance=0.05,
            tolerance_reason="for a loss with an exponential tail the slope is 1 up to terms that vanish with ln t",
            how="slope of λ against ln(ηT) for ηT from 1 to k⁸",
        ),
        Claim.over_seeds(
            found["spread"],
            "All classes learn their feature to the same extent: |λ − λ_j| <= 204 k² ε λ.",
            source=LATE,
            expected=float(found["spread_bound"].min()),
            tolerance=0.0,
            relation="at most",
            tolerance_reason="a bound",
            how="largest |λ_j/λ − 1| at ηT = k⁸; ε is the largest |⟨ξ_i, ξ_j⟩|/d of the sample",
            vacuous="the bound is far above 1, so it allows any λ_j; it needs d so large that 204 k² ε < 1",
        ),
        Claim.over_seeds(
            found["spread"],
            "All classes learn their feature to the same extent, measured.",
            source=LATE,
            expected=0.0,
            tolerance=0.05,
            relation="at most",
            tolerance_reason="unequal cluster sizes shift λ by about ln(1.2) of 26",
            how="largest |λ_j/λ − 1| at ηT = k⁸",
        ),
        Claim.over_seeds(
            found["late_accuracy"],
            "At the theorem's time the k-class network is still perfect on fresh points.",
            source="Theorem 4(1)",
            expected=1.0,
            tolerance=0.001,
            relation="at least",
            tolerance_reason="one point in a thousand",
            how="10-way argmax accuracy on 1000 fresh points a seed at ηT = k⁸",
        ),
    ]
