"""The averaging radius is √(d/k) in every dimension and for every number of clusters; fine labels gain √(k/2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.analysis import theory
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.setting import Setting
from featavg.record import Column, Drawing, Table
from featavg.robustness import robust_radius

COST = ("long", 150)
NEEDS: tuple[str, ...] = ()
CASES = {"case": lambda config: config.cases}
COORDS = {"network": ("coarse", "fine")}
COLUMNS = {"radius": Quantity("median exact ℓ2 radius; maximum read-out of the k-class network", ("network",))}
CLAIMS = [
    Expect("coarse_clusters_slope", "The radius of the averaging network falls as k^(−1/2).", "Theorem 1(3)",
           expected=-0.5, tolerance=0.03, because="unequal cluster sizes bend the line by 0.01 to 0.02"),
    Expect("coarse_dim_slope", "The radius of the averaging network grows as d^(1/2), up to d = 10¹².", "Theorem 1(3)",
           expected=0.5, tolerance=0.03, because="noise of size 1 costs a few percent at the smallest d alone"),
    Expect("fine_clusters_slope", "The radius of the decoupled network does not depend on k.", "Theorem 5",
           expected=0.0, tolerance=0.03, because="as above; maximum read-out"),
    Expect("fine_dim_slope", "The radius of the decoupled network grows as d^(1/2), up to d = 10¹².", "Theorem 5",
           expected=0.5, tolerance=0.03, because="as above; maximum read-out"),
    Expect("gain", "Fine labels multiply the radius by √(k/2) for every k.", "Theorems 1(3) and 5",
           expected=1.0, tolerance=0.05, because="imperfect averages cost the binary network one to three percent"),
]  # fmt: skip
DRAWINGS = [
    Drawing("scaling", {"x": axis, "y": f"radius_by_{axis}", "theory": f"theory_by_{axis}"}, band=0.95,
            caption=f"Median exact ℓ2 radius over the {name}, with 95 % intervals over seeds, and the theory's lines.",
            options={"labels": ["two classes", "k classes, maximum read-out"], "theory_labels": ["√(d/k)", "√(d/2)"],
                     "x_label": name, "y_label": "median ℓ2 radius"})
    for axis, name in (("clusters", "number of clusters k"), ("dim", "dimension d"))
]  # fmt: skip


@dataclass(frozen=True)
class Config:
    """Radii over k at d = 10⁶ and over d at k = 10, n/k = 100 points per cluster, both networks."""

    clusters: tuple[int, ...] = (4, 6, 8, 12, 16)
    dims: tuple[int, ...] = (3072, 10**4, 10**6, 10**9, 10**12)
    points_per_cluster: int = 100
    test_points: int = 200
    seeds: int = 16
    first_seed: int = 0

    @property
    def cases(self) -> dict[str, tuple[int, int]]:
        """Clusters and dimension by name: first along k, then along d."""
        by_clusters = {f"k = {k} along k": (k, 10**6) for k in self.clusters}
        return by_clusters | {f"d = {dim:.0e} along d": (10, dim) for dim in self.dims}


def measure(config: Config, seed: int, case: tuple[int, int]) -> dict[str, Any]:
    """Train both networks and compute their median exact radii."""
    clusters, dim = case
    setting = Setting(clusters, dim, config.points_per_cluster * clusters)
    data = setting.data(seed)
    test = setting.test(data, seed, config.test_points)
    coarse, fine = (fit(data, seed, [setting.steps]).final for fit in (setting.coarse, setting.fine))
    exact = robust_radius(coarse, test.x, test.y), robust_radius(fine, test.x, test.y, readout="maximum")
    return {"radius": [np.median(radius.upper) for radius in exact]}


def derive(config: Config, table: Table) -> Table:
    """The radii along each of the two axes, their slopes, and what fine labels gain."""
    radius = table["radius"].transpose(2, 0, 1)  # (network, case, seed)
    parts = np.split(radius, [len(config.clusters)], axis=1)
    columns: dict[str, Column] = {}
    for axis, values, part in (("clusters", config.clusters, parts[0]), ("dim", config.dims, parts[1])):
        settings = [theory.Setting(k, 10**6) if axis == "clusters" else theory.Setting(10, k) for k in values]
        lines = [[of(setting) for setting in settings] for of in (theory.averaging_radius, theory.optimal_radius)]
        columns[f"radius_by_{axis}"] = Column(part, ("network", axis, "seed"), "median exact ℓ2 radius")
        columns[f"theory_by_{axis}"] = Column(np.array(lines), ("network", axis), "√(d/k) and √(d/2)")
        for network, radii in zip(("coarse", "fine"), part, strict=True):
            slopes = np.polyfit(np.log(np.array(values, dtype=np.float64)), np.log(radii), 1)[0]
            how = "slope of log median exact ℓ2 radius, a fit for each seed"
            columns[f"{network}_{axis}_slope"] = Column(slopes, ("seed",), how)
    ratio = parts[0][1] / parts[0][0]  # (clusters, seed)
    gain = (ratio / np.sqrt(np.array(config.clusters) / 2)[:, None]).mean(axis=0)
    how = "mean over k of the ratio of median exact radii over √(k/2), d = 10⁶"
    columns["gain"] = Column(gain, ("seed",), how)
    return table.plus(columns, {"clusters": config.clusters, "dim": np.array(config.dims, dtype=np.float64)})
