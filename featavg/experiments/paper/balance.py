"""Features of one class grow alike, up to the sizes of their clusters: more points help, more dimensions do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from featavg.analysis import decompose
from featavg.arrays import Array, Ints
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.setting import Setting
from featavg.record import Drawing, Table

COST = ("long", 90)
NEEDS: tuple[str, ...] = ()
COORDS = {"points": lambda config: config.counts, "dim": lambda config: config.dims}
COLUMNS = {
    "by_points": Quantity("largest over smallest λ of the features of a neuron's own class, minus 1, mean over "
                          "neurons; d = {config.dim}", ("points",)),
    "by_dim": Quantity("the same; n = {config.samples}", ("dim",)),
    "sizes": Quantity("largest over smallest cluster of a class, minus 1, mean over both classes", ("points",)),
}  # fmt: skip
SOURCE = "Lemma 5: ratio 1 ± o(1)"
CLAIMS = [
    Expect("point_exponent", "The ratio comes nearer to 1 as n^(-1/2).", SOURCE, expected=-0.5, tolerance=0.15,
           because="cluster sizes vary by √(k/n); a slope over a factor of {config.reach:.0f} is known to a tenth"),
    Expect("dim_exponent", "It does not come nearer with the dimension.", SOURCE, expected=0.0, tolerance=0.05,
           because="η·d is held fixed, and the sizes of clusters do not know d"),
    Expect("share", "What is left is what clusters differ in size, or less.", "derived", expected=1.0, tolerance=0.05,
           relation="at most", because="large clusters are fitted first and slow down; 5 % for the noise of their "
           "points"),
]  # fmt: skip
DRAWINGS = [
    Drawing("scaling", {"x": "points", "y": ("by_points", "sizes")}, band=0.95,
        caption="How unlike the features of one class are learned, λ of the best over λ of the worst minus 1, and how "
        "unlike their clusters are in size, over the number of training points.",
        options={"labels": ["features", "cluster sizes"], "x_label": "n", "y_label": "ratio − 1"}),
]  # fmt: skip


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting with fewer and more points, and in higher dimension."""

    counts: tuple[int, ...] = (250, 1000, 4000)
    dims: tuple[int, ...] = (3072, 10**9)
    seeds: int = 32

    @property
    def reach(self) -> float:
        """Most over fewest points."""
        return self.counts[-1] / self.counts[0]


def measure(config: Config, seed: int) -> dict[str, Any]:
    """Train the binary network on samples of every size and in every dimension."""
    by_points, sizes = zip(*(_unlike(replace(config, samples=count), seed) for count in config.counts), strict=True)
    by_dim = [_unlike(replace(config, dim=dim), seed)[0] for dim in config.dims]
    return {"by_points": by_points, "by_dim": by_dim, "sizes": sizes}


def _unlike(config: Config, seed: int) -> tuple[float, float]:
    """By how much own features, and the sizes of their clusters, differ within a class."""
    data = config.data(seed)
    run = config.coarse(data, seed, save_at=[config.steps])
    own = run.initial.neuron_class[:, None] == data.center_labels
    features = decompose(run, data).feature[-1][own].reshape(len(own), -1)  # (neuron, cluster of its class)
    counts = np.bincount(data.cluster, minlength=data.clusters)
    return _ratio(features), _ratio(np.stack([counts[data.center_labels == label] for label in (1, -1)]))


def _ratio(each: Array | Ints) -> float:
    """Largest over smallest of every row, minus 1, mean over rows."""
    return float(np.mean(each.max(axis=1) / each.min(axis=1)) - 1)


def derive(config: Config, table: Table) -> Table:
    """Slopes, and how much of the difference in size is left."""
    by_points, by_dim, sizes = (table[name] for name in ("by_points", "by_dim", "sizes"))

    def slopes(x: Any, y: Any) -> Any:
        return np.polyfit(np.log(np.array(x, dtype=np.float64)), np.log(y).T, 1)[0]

    return table.plus({
        "point_exponent": (slopes(config.counts, by_points), "exponent p of ratio − 1 ~ n^p"),
        "dim_exponent": (slopes(config.dims, by_dim), "exponent p of ratio − 1 ~ d^p"),
        "share": ((by_points / sizes).mean(axis=1), "ratio − 1 of features over that of cluster sizes, mean over n"),
    })  # fmt: skip
