"""How averaging and decoupling come about: activations settle, derivatives stay balanced, features grow alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.analysis import averaging_index, decompose, reconstruct
from featavg.analysis.dynamics import activation_stability, derivative_balance
from featavg.arrays import Array
from featavg.data import Dataset
from featavg.experiments import Progress, record_of
from featavg.experiments._paper import Setting
from featavg.record import Claim, Drawing, Record
from featavg.training import Trajectory

COST = ("quick", 12)
NEEDS: tuple[str, ...] = ()
BINARY = "Lemmas 1-5 (two classes)"
MULTI = "Lemmas 6-12 (k classes)"


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting; `settled` is the step t₀ from which the lemmas are asked to hold."""

    settled: int = 3
    seeds: int = 10

    @property
    def moments(self) -> list[int]:
        """The steps looked at: the first ten, then every fifth."""
        return [*range(min(10, self.steps)), *range(10, self.steps + 1, 5)]


def run(config: Config, progress: Progress) -> Record:
    """Follow both networks step by step over seeds."""
    histories: dict[str, list[dict[str, Array]]] = {"coarse": [], "fine": []}
    for seed in range(config.seeds):
        data = config.data(seed)
        histories["coarse"].append(_follow(config.coarse(data, seed, config.moments), data))
        histories["fine"].append(_follow(config.fine(data, seed, config.moments), data))
        progress((seed + 1) / config.seeds, f"seed {seed}")
    coarse, fine = ({name: np.array([run[name] for run in runs]) for name in runs[0]} for runs in histories.values())
    arrays = {f"coarse_{name}": values.mean(axis=0) for name, values in coarse.items()}
    arrays |= {f"fine_{name}": values.mean(axis=0) for name, values in fine.items()}
    arrays |= {
        "steps": config.moments,
        "features": np.stack([arrays[f"{net}_{name}"] for net in ("coarse", "fine") for name in ("own", "other")]),
        "activity": np.stack([arrays[f"{net}_{name}"] for net in ("coarse", "fine") for name in ("on", "other_on")]),
        "indices": np.stack([arrays["coarse_index"], arrays["fine_index"]]),
    }
    claims = [*_claims(coarse, config, BINARY, "two classes"), *_claims(fine, config, MULTI, "k classes")]
    return record_of(config, claims=[*_shared(coarse, config), *claims], arrays=arrays, drawings=_drawings(config))


def _follow(trajectory: Trajectory, data: Dataset) -> dict[str, Array]:
    parts = decompose(trajectory, data)
    network = trajectory.initial
    labels = data.center_labels if network.output_count == 1 else np.arange(data.clusters)
    same = network.neuron_class[:, None] == labels
    own = parts.feature[:, same].reshape(len(trajectory), network.neurons, -1)
    on, other_on = activation_stability(trajectory)
    growth = trajectory.growth
    error = np.abs(reconstruct(parts, data) - growth).max() / np.abs(growth).max()
    # Noise coefficients are σ_ri = ‖ξ_i‖² C_ir: compared with λ they say how much is remembered of single points.
    noise = np.abs(parts.noise).max(axis=(1, 2)) / np.maximum(np.abs(parts.feature).max(axis=(1, 2)), 1e-300)
    return {
        "own": own.mean(axis=(1, 2)),
        "other": parts.feature[:, ~same].mean(axis=1),
        "ratio": own[-1].max() / own[-1].min(),
        "noise": noise[1:],
        "on": on,
        "other_on": other_on,
        "balance": derivative_balance(trajectory),
        "reconstruction": np.array(error),
        "index": np.array([np.nanmean(averaging_index(trajectory.at(t), data)) for t in range(len(trajectory))]),
    }


def _claims(found: dict[str, Array], config: Config, source: str, which: str) -> list[Claim]:
    settled, per_cluster = config.settled, config.samples / config.clusters
    return [
        Claim.over_seeds(
            found["reconstruction"],
            f"The weights are their start plus features plus noises, at every step ({which}).",
            source=source,
            expected=0.0,
            tolerance=1e-9,
            relation="at most",
            tolerance_reason="an identity, in double precision",
            how="largest error of the reconstruction relative to the largest weight",
        ),
        Claim.over_seeds(
            found["on"][:, settled:].min(axis=1),
            f"From step {settled} on every neuron is on at all points of its class ({which}).",
            source=source,
            expected=1.0,
            tolerance=0.001,
            relation="at least",
            tolerance_reason="one pair in a thousand",
            how="smallest share of (neuron, point of its class) pairs that are on, over the steps",
        ),
        Claim.over_seeds(
            found["balance"].max(axis=1),
            f"Loss derivatives stay balanced: no point's is many times another's ({which}).",
            source=source,
            expected=3.0,
            tolerance=0.0,
            relation="at most",
            tolerance_reason="three standard deviations of noise and of cluster size, both ways, allow e^0.8 to e^1",
            how="largest max|ℓ'|/min|ℓ'| over the steps",
        ),
        Claim.over_seeds(
            found["ratio"],
            f"Features of a class grow alike ({which}).",
            source=source,
            expected=1.0,
            tolerance=0.5,
            tolerance_reason=f"cluster sizes vary by {per_cluster**-0.5:.0%}; the ratio of the extremes is about 1.4",
            how="largest over smallest λ of own features, over neurons and clusters, at the last step",
        ),
        Claim.over_seeds(
            np.abs(found["other"][:, -1] / found["own"][:, -1]),
            f"Features of other classes hardly grow ({which}).",
            source=source,
            expected=0.0,
            tolerance=0.1,
            relation="at most",
            tolerance_reason="a tenth of the own feature; the theorem's limit is 0",
            how="|mean other-class λ| over mean own λ at the last step",
        ),
        Claim.over_seeds(
            found["noise"][:, -1],
            f"A single point's noise is remembered k/n times as strongly as a feature ({which}).",
            source=source,
            expected=1 / per_cluster,
            tolerance=1 / per_cluster,
            tolerance_reason="λ_j/‖μ_j‖² = Σ_i σ_i/‖ξ_i‖² gives the mean; the largest point may be twice it",
            how="largest |σ_ri| over largest |λ_rj| at the last step",
        ),
    ]


def _shared(coarse: dict[str, Array], config: Config) -> list[Claim]:
    return [
        Claim.over_seeds(
            coarse["on"][:, 0],
            "Activations are stable from the very start, step 0.",
            source="Lemma 3 as stated",
            expected=1.0,
            tolerance=0.001,
            relation="at least",
            tolerance_reason="one pair in a thousand",
            how="share of (neuron, point of its class) pairs that are on before the first step; by chance, one half",
        ),
        Claim.over_seeds(
            coarse["index"][:, 5],
            "Averaging is complete after five steps of a hundred.",
            source="Theorem 1, emergence",
            expected=1.0,
            tolerance=0.1,
            relation="at least",
            tolerance_reason="unequal cluster sizes and cross-class terms cost 0.03",
            how="mean averaging index of the binary network at step 5",
        ),
    ]


def _drawings(config: Config) -> list[Drawing]:
    pairs = ["two classes, own", "two classes, other", "k classes, own", "k classes, other"]
    return [
        Drawing(
            "curves",
            {"x": "steps", "y": "features"},
            caption="Coefficient λ of the features over training, mean over neurons, clusters and seeds. Features of "
            "the own class grow together; those of other classes hardly move.",
            options={"labels": pairs, "x_label": "step", "y_label": "λ"},
        ),
        Drawing(
            "curves",
            {"x": "steps", "y": "activity"},
            caption="Share of (neuron, point) pairs that are on. Half at the start, by chance; all pairs of one class "
            "within two steps. A few pairs of different classes stay on, by noise.",
            options={"labels": pairs, "x_label": "step", "y_label": "share on"},
        ),
        Drawing(
            "curves",
            {"x": "steps", "y": "indices"},
            caption="Averaging index over training, mean over neurons and seeds: 1 averages, 0 is decoupled. Coarse "
            "and fine labels part within the first steps.",
            options={"labels": ["two classes", "k classes"], "x_label": "step", "y_label": "averaging index"},
        ),
    ]
