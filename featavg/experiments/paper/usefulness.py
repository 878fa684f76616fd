"""How useful, and how robustly useful, single features and their average are (Ilyas et al. 2019).

A feature f of zero mean and unit variance is ρ-useful if E[y f(x)] >= ρ, and γ-robustly useful at radius r if
E[inf_{‖δ‖<=r} y f(x + δ)] >= γ. A linear feature ⟨w, x⟩ standardised by its deviation s loses exactly r‖w‖/s:

    γ(r) = ρ − r‖w‖/s,    ρ = Cov(y, ⟨w, x⟩)/s,    useless from r₀ = Cov(y, ⟨w, x⟩)/‖w‖ on.

On the cluster model, x = αμ_c + σξ with c uniform among k clusters, half of them of either label, and a = α√d:

    average     w = Σ_j y_j μ_j     ⟨w, x⟩/‖w‖ = y a/√k + σξ,       ρ = (a/√k)/√(σ² + a²/k),        r₀ = a/√k
    single      w = y_j μ_j         ⟨w, x⟩/‖w‖ = ±a 1[c = j] + σξ,  ρ = (a/k)/√(σ² + a²(k−1)/k²),   r₀ = a/k

So in the definition as it stands a single feature is *less* useful and turns useless √k times earlier: it says nothing
of the points of other clusters, where it only loses. It has to be asked about its own cluster:

    detection   own cluster against the rest, both as likely: mean a/2 apart from the middle,       r₀ = a/2
    matched     points of the own cluster alone, feature not centred: mean a,                       r₀ = a

and it is the *decision* that puts single features together which is robust. f = max_{J+} g_j − max_{J-} g_j with
g_j = ⟨μ_j, x⟩/√d loses √2 r (own feature down, best rival up, r/√2 each) as long as the own one leads its class:

    maximum     E[y f] = a − σ m,  m the mean of the largest of k/2 normals,                        r₀ = (a − σm)/√2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import Dataset, sample_clusters
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.setting import TEST_SEED
from featavg.model import decoupled_network
from featavg.record import Column, Drawing, Table
from featavg.robustness import robust_radius

COST = ("quick", 10)
NEEDS: tuple[str, ...] = ()
ILYAS = "Ilyas et al. 2019, Definitions 1 and 2"
TALKS = "our formalisation of the talks, after Ilyas et al. 2019"
# What is measured, where it is said, and what is claimed of the radius at which it turns useless.
KINDS = {
    "average": (TALKS, "The averaged feature is almost perfectly useful, and useless from √(d/k) on."),
    "single": (ILYAS, "A single feature is 1/√(k−1) useful for the binary task, and useless from √d/k on."),
    "detection": (ILYAS, "For the detection of its own cluster a single feature is useless from √d/2 on."),
    "matched": (TALKS, "At points of its own cluster a single feature keeps its sign up to √d."),
    "maximum": (
        ILYAS, "The decision by the largest single feature is useless from √(d/2) on, less the noise of rivals.",
    ),
}  # fmt: skip
COORDS = {"kind": tuple(KINDS)}
COLUMNS = {
    "rho": Quantity("ρ, usefulness for the labels", ("kind",)),
    "useless": Quantity("radius at which γ is 0, ℓ2", ("kind",)),
    "over_average": Quantity("ratio of the radii at which γ is 0", ("kind",)),
    "exact": "mean exact ℓ2 radius of the decoupled network, maximum read-out, against the closed form of r₀",
    "overlap": "γ of the maximum at the radius where γ of the average is 0; without noise 1 − √(2/k)",
    "far": "largest relative distance of a measured r₀ from its closed form, over the five",
}


def _r0(kind: str) -> Callable[[Config, Table], float]:
    """The closed form of r₀."""
    return lambda config, _: closed_forms(config, config.dim)[kind].useless


CLAIMS = [
    *(
        Expect("useless", text, source, expected=_r0(kind), tolerance=0.02, relative=True, check=True,
               at={"kind": kind}, because="2 %: clusters of 20 000 points vary by 2 % in size, means over them less")
        for kind, (source, text) in KINDS.items()
    ),
    *(
        Expect(
            "over_average", text, TALKS, expected=1.0, tolerance=0.0, relation="at least", because="longer is longer",
            at={"kind": kind},
        )
        for kind, text in (
            ("single", "A single feature stays useful for the binary task longer than the average does."),
            ("detection", "A single feature detects its own cluster longer than the average its class."),
        )
    ),
    Expect(
        "overlap", "Where the average has become useless, the decision by the largest single feature is still useful.",
        TALKS, expected=lambda config, _: overlap(closed_forms(config, config.dim)), tolerance=0.02,
        because="2 %, as for the radii", check=True,
    ),
    Expect("exact", "That decision is fooled where it becomes useless.", ILYAS,
           expected=_r0("maximum"), tolerance=0.02, relative=True,
           because="2 %: the network's ReLUs cut rivals below 0, and a few hundred points per seed"),
    Expect("far", "The closed forms hold in dimension {config.far_dim:.0e} as well.", ILYAS,
        expected=0.0, tolerance=0.03, relation="at most", because="the largest of five deviations of up to 2 % each",
        check=True),
]  # fmt: skip


@dataclass(frozen=True)
class Config:
    """The paper's clusters, in its own dimension and in a huge one."""

    clusters: int = 10
    dim: int = 3072
    far_dim: int = 10**9
    points: int = 20_000
    radius_points: int = 200
    seeds: int = 10
    first_seed: int = 0


@dataclass(frozen=True)
class Usefulness:
    """γ(r) = ρ − loss · r of a standardised feature."""

    rho: float
    loss: float

    @property
    def useless(self) -> float:
        """r₀, from which on γ <= 0."""
        return self.rho / self.loss

    def robust(self, radii: Array) -> Array:
        """γ at each radius."""
        return self.rho - self.loss * radii


def measure(config: Config, seed: int) -> dict[str, Any]:
    """Measure all five on fresh points."""
    test = sample(config, config.dim, seed)
    found, far = measured(test), measured(sample(config, config.far_dim, seed))
    far_theory = closed_forms(config, config.far_dim)
    few = test.x[: config.radius_points], test.y[: config.radius_points]
    useless = np.array([found[kind].useless for kind in KINDS])
    return {
        "rho": [found[kind].rho for kind in KINDS],
        "useless": useless,
        "over_average": useless / found["average"].useless,
        "exact": robust_radius(decoupled_network(test), *few, readout="maximum", proofs=False).upper.mean(),
        "overlap": overlap(found),
        "far": max(abs(far[kind].useless / far_theory[kind].useless - 1) for kind in KINDS),
    }


def derive(config: Config, table: Table) -> Table:
    """The closed forms over the radius."""
    theory = closed_forms(config, config.dim)
    radii = np.linspace(0, 1.05 * theory["matched"].useless, 60)
    gamma = np.stack([theory[kind].robust(radii) for kind in KINDS])
    return table.plus({"gamma": Column(gamma, ("kind", "radius"), "γ in closed form")}, {"radius": radii})


def overlap(found: dict[str, Usefulness]) -> float:
    """γ of the maximum at the radius where γ of the average is 0."""
    return float(found["maximum"].robust(np.array(found["average"].useless)))


def sample(config: Config, dim: int, seed: int) -> Dataset:
    """Fresh points around centers; compact coordinates, so that the dimension costs nothing."""
    return sample_clusters(config.clusters, dim, 1, seed=seed).resample(config.points, seed=TEST_SEED + seed)


def linear(values: Array, y: Ints, weight: Array | None = None) -> Usefulness:
    """Usefulness of a feature with ⟨w, x⟩/‖w‖ = `values` (point,) for labels y, points weighted by `weight` if given.

    >>> linear(np.array([1.0, -1.0, 3.0, -3.0]), np.array([1, -1, 1, -1])).rho
    0.894...
    """
    away = values - np.average(values, weights=weight)
    deviation = float(np.sqrt(np.average(away**2, weights=weight)))
    return Usefulness(float(np.average(y * away, weights=weight)) / deviation, 1 / deviation)


def measured(test: Dataset) -> dict[str, Usefulness]:
    """All five on a sample; the single ones are means over the clusters."""
    units = test.centers / np.linalg.norm(test.centers, axis=1, keepdims=True)
    scores = test.x @ units.T  # (point, cluster)  g_j
    average = scores @ test.center_labels / np.sqrt(test.clusters)
    single, detection, matched = [], [], []
    for j, label in enumerate(test.center_labels):
        own = test.cluster == j
        single.append(linear(label * scores[:, j], test.y))
        balanced = np.where(own, 0.5 / own.mean(), 0.5 / (1 - own.mean()))
        detection.append(linear(scores[:, j], np.where(own, 1, -1), balanced))
        size = np.sqrt((scores[own, j] ** 2).mean())
        matched.append(Usefulness(scores[own, j].mean() / size, 1 / size))
    largest = (np.where(test.center_labels == sign, scores, -np.inf).max(axis=1) for sign in (1, -1))
    decision = linear(np.subtract(*largest), test.y)
    return {
        "average": linear(average, test.y),
        "single": mean_usefulness(single),
        "detection": mean_usefulness(detection),
        "matched": mean_usefulness(matched),
        "maximum": Usefulness(decision.rho, np.sqrt(2) * decision.loss),
    }


def closed_forms(config: Config, dim: int) -> dict[str, Usefulness]:
    """The formulas at the head of this file for α = σ = 1, k even.

    The maximum has variance (a − m)² + 1 + v, v the variance of the largest of k/2 normals.
    """
    k, a = config.clusters, np.sqrt(dim)
    mean, variance = largest_normal(k // 2)
    forms = {
        "average": (a / np.sqrt(k), np.sqrt(1 + a**2 / k)),
        "single": (a / k, np.sqrt(1 + a**2 * (k - 1) / k**2)),
        "detection": (a / 2, np.sqrt(1 + a**2 / 4)),
        "matched": (a, np.sqrt(1 + a**2)),
    }
    found = {kind: Usefulness(r0 / s, 1 / s) for kind, (r0, s) in forms.items()}
    size = np.sqrt((a - mean) ** 2 + 1 + variance)
    return found | {"maximum": Usefulness((a - mean) / size, np.sqrt(2) / size)}


def largest_normal(count: int) -> tuple[float, float]:
    """Mean and variance of the largest of `count` standard normals: its density is count φ(z) Φ(z)^(count − 1).

    >>> [round(moment, 4) for moment in largest_normal(2)]  # 1/√π and 1 − 1/π
    [0.5642, 0.6817]
    """
    from scipy.special import ndtr

    z = np.linspace(-12, 12, 20_001)
    density = count * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * ndtr(z) ** (count - 1) * (z[1] - z[0])
    mean = float(z @ density)
    return mean, float((z - mean) ** 2 @ density)


def mean_usefulness(found: list[Usefulness]) -> Usefulness:
    """Of several features: mean ρ and mean loss."""
    return Usefulness(float(np.mean([f.rho for f in found])), float(np.mean([f.loss for f in found])))


def drawings(config: Config) -> list[Drawing]:
    """γ over the radius."""
    average, decision = np.sqrt(config.dim / config.clusters), np.sqrt(config.dim / 2)
    return [
        Drawing("curves", {"x": "radius", "y": "gamma"},
            caption="Robust usefulness γ over the ℓ2 radius, closed forms. Standardised for the binary task a single "
            "feature is weak and falls below 0 first; asked about its own cluster, or put together with others by a "
            "maximum, it outlasts the average.",
            options={
                "labels": ["average", "single, binary task", "single, detection", "single, own cluster",
                           "maximum of singles"],
                "x_label": "ℓ2 radius", "y_label": "γ", "levels": [[0.0, "useless"]],
                "marks": [[average, "√(d/k)"], [decision, "√(d/2)"]],
            }),
    ]  # fmt: skip


def notes(config: Config, table: Table) -> list[str]:
    """What the closed forms say of the talks, and both numbers of every kind."""
    theory = closed_forms(config, config.dim)
    rho = zip(KINDS, table.mean("rho"), strict=True)
    return [
        "In closed form: what the talks say of the average holds, it is useful and turns useless at √(d/k). What they "
        "say of single features holds for the detection of their own cluster (k > 4) and for the decision by the "
        "largest of them, but not in the definition of Ilyas et al. as it stands: there a single feature turns useless "
        "at √d/k, before the average.",
        "ρ, measured and in closed form: "
        + ", ".join(f"{kind} {value:.3f} and {theory[kind].rho:.3f}" for kind, value in rho) + ".",
        "Ratio of the radii at which γ is 0 to that of the average, in closed form: "
        + ", ".join(f"{k} {theory[k].useless / theory['average'].useless:.3f}" for k in ("single", "detection")) + ".",
    ]  # fmt: skip
