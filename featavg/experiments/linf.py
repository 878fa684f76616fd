"""In ℓ∞ averaging hurts too, and by how much depends on how the features lie in the coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import sample_clusters
from featavg.data.centers import Placement
from featavg.experiments import Progress, record_of
from featavg.experiments._paper import NETWORK_SEED, TEST_SEED
from featavg.model import BinaryNetwork, MulticlassNetwork, Network, averaging_network, decoupled_network
from featavg.record import Claim, Drawing, Record, interval
from featavg.robustness import Readout, robust_radius
from featavg.training import train

COST = ("long", 60)
NEEDS: tuple[str, ...] = ()
PLACEMENTS: tuple[Placement, ...] = ("axes", "random", "signs")


@dataclass(frozen=True)
class Config:
    """k = 8 clusters in d = 256 ambient coordinates, centers along the axes, rotated at random, and rows of ±1."""

    clusters: int = 8
    dim: int = 256
    samples: int = 800
    neurons_per_class: int = 2
    test_points: int = 10
    seeds: int = 8
    first_seed: int = 0


def run(config: Config, progress: Progress) -> Record:
    """Compute exact ℓ∞ radii of both trained networks, and of the ideal ones at a center, for each placement."""
    trained = np.empty((len(PLACEMENTS), config.seeds, 2))
    ideal = np.empty((len(PLACEMENTS), config.seeds, 2))
    for case, placement in enumerate(PLACEMENTS):
        for seed in range(config.seeds):
            trained[case, seed], ideal[case, seed] = _radii(config, placement, config.first_seed + seed)
            progress((case * config.seeds + seed + 1) / trained[:, :, 0].size, f"{placement}, seed {seed}")
    ratios = trained[:, :, 1] / trained[:, :, 0]
    ends = np.array([interval(row, 0.95) for row in ratios])
    drawing = Drawing(
        "dots",
        {"measured": "mean", "lower": "low", "upper": "high"},
        caption="Gain in median exact ℓ∞ radius by fine labels, for each placement of the centers, with 95 % intervals "
        "over seeds. Above 1 averaging hurts.",
        options={"labels": list(PLACEMENTS), "x_label": "radius of the k-class over that of the binary network"},
    )
    arrays = {"trained": trained, "ideal": ideal, "mean": ratios.mean(axis=1), "low": ends[:, 0], "high": ends[:, 1]}
    return record_of(config, claims=_claims(config, ratios, ideal), arrays=arrays, drawings=[drawing])


def _radii(config: Config, placement: Placement, seed: int) -> tuple[list[float], list[float]]:
    data = sample_clusters(
        config.clusters, config.dim, config.samples, coordinates="ambient", placement=placement, seed=seed
    )
    test = data.resample(config.test_points, seed=TEST_SEED + seed)
    coarse = train(BinaryNetwork.random(data, config.neurons_per_class, seed=NETWORK_SEED + seed), data).final
    fine = train(MulticlassNetwork.random(data, seed=NETWORK_SEED + seed), data).final
    center, label = data.centers[:1], np.array([1])
    return (
        [_median(coarse, test.x, test.y), _median(fine, test.x, test.y)],
        [_median(averaging_network(data), center, label), _median(decoupled_network(data), center, label)],
    )


def _median(network: Network, x: Array, y: Ints) -> float:
    readout: Readout = "sign" if network.output_count == 1 else "maximum"
    return float(np.median(robust_radius(network, x, y, norm="linf", readout=readout).upper))


def _claims(config: Config, ratios: Array, ideal: Array) -> list[Claim]:
    helps = [
        Claim.over_seeds(
            ratios[case],
            f"Averaging does not help in ℓ∞, centers placed {placement}.",
            source="reviewer's question",
            expected=1.0,
            tolerance=0.0,
            relation="at least",
            tolerance_reason="a comparison",
            how="median exact ℓ∞ radius of the k-class network (maximum read-out) over that of the binary network",
        )
        for case, placement in enumerate(PLACEMENTS)
    ]
    root = np.sqrt(config.dim)
    closed = {"averaging, along the axes": (ideal[0, :, 0], root / config.clusters),
              "decoupled, along the axes": (ideal[0, :, 1], root / 2),
              "decoupled, rows of ±1": (ideal[2, :, 1], 1.0)}  # fmt: skip
    forms = [
        Claim.over_seeds(
            values,
            f"ℓ∞ radius at a center, {name}: 1/‖∇‖₁.",
            source="derived",
            expected=expected,
            tolerance=1e-6 * expected,
            tolerance_reason="a closed form, and the accuracy of the exact search",
            how="exact ℓ∞ radius of the ideal network at a center",
        )
        for name, (values, expected) in closed.items()
    ]
    return [*helps, *forms]
