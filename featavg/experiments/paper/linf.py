"""In ℓ∞ averaging hurts too, and by how much depends on how the features lie in the coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import sample_clusters
from featavg.experiments import Expect
from featavg.experiments.paper.setting import NETWORK_SEED, TEST_SEED
from featavg.model import BinaryNetwork, MulticlassNetwork, Network, averaging_network, decoupled_network
from featavg.record import Drawing
from featavg.robustness import Readout, robust_radius
from featavg.training import train

COST = ("long", 60)
NEEDS: tuple[str, ...] = ()
PLACEMENTS = ("axes", "random", "signs")
CASES = {"placement": PLACEMENTS}
COLUMNS = {
    "coarse": "median exact ℓ∞ radius of the trained binary network",
    "fine": "median exact ℓ∞ radius of the trained k-class network (maximum read-out)",
    "gain": "median exact ℓ∞ radius of the k-class network (maximum read-out) over that of the binary network",
    "averaging": "exact ℓ∞ radius of the ideal network at a center",
    "decoupled": "exact ℓ∞ radius of the ideal network at a center",
}
FORMS = {
    "averaging, along the axes": ("averaging", "axes", lambda config, _: np.sqrt(config.dim) / config.clusters),
    "decoupled, along the axes": ("decoupled", "axes", lambda config, _: np.sqrt(config.dim) / 2),
    "decoupled, rows of ±1": ("decoupled", "signs", lambda config, _: 1.0),
}
CLAIMS = [
    *(
        Expect("gain", f"Averaging does not help in ℓ∞, centers placed {placement}.", "reviewer's question",
               expected=1.0, tolerance=0.0, relation="at least", because="a comparison", at={"placement": placement})
        for placement in PLACEMENTS
    ),
    *(
        Expect(column, f"ℓ∞ radius at a center, {name}: 1/‖∇‖₁.", "derived",
               expected=form, tolerance=1e-6, relative=True, at={"placement": placement}, check=True,
               because="a closed form, and the accuracy of the exact search")
        for name, (column, placement, form) in FORMS.items()
    ),
]  # fmt: skip
DRAWINGS = [
    Drawing("dots", {"measured": "gain", "labels": "placement"}, band=0.95,
        caption="Gain in median exact ℓ∞ radius by fine labels, for each placement of the centers, with 95 % intervals "
        "over seeds. Above 1 averaging hurts.",
        options={"x_label": "radius of the k-class over that of the binary network"}),
]  # fmt: skip


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


def measure(config: Config, seed: int, case: Any) -> dict[str, Any]:
    """Compute exact ℓ∞ radii of both trained networks, and of the ideal ones at a center, for a placement."""
    data = sample_clusters(
        config.clusters, config.dim, config.samples, coordinates="ambient", placement=case, seed=seed
    )  # fmt: skip
    test = data.resample(config.test_points, seed=TEST_SEED + seed)
    coarse = train(BinaryNetwork.random(data, config.neurons_per_class, seed=NETWORK_SEED + seed), data).final
    fine = train(MulticlassNetwork.random(data, seed=NETWORK_SEED + seed), data).final
    radii = [_median(network, test.x, test.y) for network in (coarse, fine)]
    center, label = data.centers[:1], np.array([1])
    return {
        "coarse": radii[0],
        "fine": radii[1],
        "gain": radii[1] / radii[0],
        "averaging": _median(averaging_network(data), center, label),
        "decoupled": _median(decoupled_network(data), center, label),
    }


def _median(network: Network, x: Array, y: Ints) -> float:
    readout: Readout = "sign" if network.output_count == 1 else "maximum"
    return float(np.median(robust_radius(network, x, y, norm="linf", readout=readout).upper))
