"""The averaging radius is √(d/k) in every dimension and for every number of clusters; fine labels gain √(k/2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.analysis import theory
from featavg.arrays import Array
from featavg.experiments import Progress, record_of
from featavg.experiments._paper import Setting
from featavg.record import Claim, Drawing, Record, interval
from featavg.robustness import robust_radius

COST = ("long", 150)
NEEDS: tuple[str, ...] = ()


@dataclass(frozen=True)
class Config:
    """Radii over k at d = 10⁶ and over d at k = 10, n/k = 100 points a cluster, both networks."""

    clusters: tuple[int, ...] = (4, 6, 8, 12, 16)
    dims: tuple[int, ...] = (3072, 10**4, 10**6, 10**9, 10**12)
    points_per_cluster: int = 100
    test_points: int = 200
    seeds: int = 16
    first_seed: int = 0


def run(config: Config, progress: Progress) -> Record:
    """Train both networks and compute median exact radii along both axes."""
    cases = [(k, 10**6) for k in config.clusters] + [(10, dim) for dim in config.dims]
    radii = np.empty((len(cases), config.seeds, 2))
    for case, (clusters, dim) in enumerate(cases):
        for seed in range(config.seeds):
            radii[case, seed] = _medians(config, clusters, dim, seed)
            progress((case * config.seeds + seed + 1) / radii[:, :, 0].size, f"k = {clusters}, d = {dim:.0e}")
    over_clusters, over_dims = np.split(radii, [len(config.clusters)])
    arrays = {"clusters": config.clusters, "dims": np.array(config.dims, dtype=np.float64), "radii": radii}
    arrays |= _axis("clusters", over_clusters, [theory.Setting(k, 10**6) for k in config.clusters])
    arrays |= _axis("dims", over_dims, [theory.Setting(10, dim) for dim in config.dims])
    return record_of(
        config,
        claims=_claims(config, over_clusters, over_dims),
        arrays=arrays,
        drawings=[_drawing("clusters", "number of clusters k"), _drawing("dims", "dimension d")],
    )


def _medians(config: Config, clusters: int, dim: int, seed: int) -> list[float]:
    setting = Setting(clusters, dim, config.points_per_cluster * clusters, first_seed=config.first_seed)
    data = setting.data(seed)
    test = setting.test(data, seed, config.test_points)
    coarse, fine = (fit(data, seed, [setting.steps]).final for fit in (setting.coarse, setting.fine))
    exact = robust_radius(coarse, test.x, test.y), robust_radius(fine, test.x, test.y, readout="maximum")
    return [float(np.median(radius.upper)) for radius in exact]


def _axis(name: str, radii: Array, settings: list[theory.Setting]) -> dict[str, Array]:
    """Means, 95 % intervals and theory of both networks along one axis, each (network, case)."""
    ends = np.array([[interval(radii[case, :, net], 0.95) for case in range(len(radii))] for net in (0, 1)])
    predicted = [[theory.averaging_radius(s) for s in settings], [theory.optimal_radius(s) for s in settings]]
    return {
        f"{name}_mean": radii.mean(axis=1).T,
        f"{name}_low": ends[:, :, 0],
        f"{name}_high": ends[:, :, 1],
        f"{name}_theory": np.array(predicted),
    }


def _claims(config: Config, over_clusters: Array, over_dims: Array) -> list[Claim]:
    clusters, dims = np.log(np.array(config.clusters)), np.log(np.array(config.dims, dtype=np.float64))
    ratio = over_clusters[:, :, 1] / over_clusters[:, :, 0]  # (case, seed)
    slope = {"tolerance": 0.03, "how": "slope of log median exact ℓ2 radius, a fit for each seed"}
    return [
        Claim.over_seeds(
            np.polyfit(clusters, np.log(over_clusters[:, :, 0]), 1)[0],
            "The radius of the averaging network falls as k^(−1/2).",
            source="Theorem 1(3)",
            expected=-0.5,
            tolerance_reason="unequal cluster sizes bend the line by 0.01 to 0.02",
            **slope,
        ),
        Claim.over_seeds(
            np.polyfit(dims, np.log(over_dims[:, :, 0]), 1)[0],
            "The radius of the averaging network grows as d^(1/2), up to d = 10¹².",
            source="Theorem 1(3)",
            expected=0.5,
            tolerance_reason="noise of size 1 costs a few percent at the smallest d alone",
            **slope,
        ),
        Claim.over_seeds(
            np.polyfit(clusters, np.log(over_clusters[:, :, 1]), 1)[0],
            "The radius of the decoupled network does not depend on k.",
            source="Theorem 5",
            expected=0.0,
            tolerance_reason="as above; maximum read-out",
            **slope,
        ),
        Claim.over_seeds(
            np.polyfit(dims, np.log(over_dims[:, :, 1]), 1)[0],
            "The radius of the decoupled network grows as d^(1/2), up to d = 10¹².",
            source="Theorem 5",
            expected=0.5,
            tolerance_reason="as above; maximum read-out",
            **slope,
        ),
        Claim.over_seeds(
            (ratio / np.sqrt(np.array(config.clusters) / 2)[:, None]).mean(axis=0),
            "Fine labels multiply the radius by √(k/2) for every k.",
            source="Theorems 1(3) and 5",
            expected=1.0,
            tolerance=0.05,
            tolerance_reason="imperfect averages cost the binary network one to three percent",
            how="mean over k of the ratio of median exact radii over √(k/2), d = 10⁶",
        ),
    ]


def _drawing(name: str, x_label: str) -> Drawing:
    return Drawing(
        "scaling",
        {
            "x": name,
            "y": f"{name}_mean",
            "lower": f"{name}_low",
            "upper": f"{name}_high",
            "theory": f"{name}_theory",
        },
        caption=f"Median exact ℓ2 radius over the {x_label}, with 95 % intervals over seeds, and the theory's lines.",
        options={
            "labels": ["two classes", "k classes, maximum read-out"],
            "theory_labels": ["√(d/k)", "√(d/2)"],
            "x_label": x_label,
            "y_label": "median ℓ2 radius",
        },
    )
