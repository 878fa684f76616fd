"""How averaging and decoupling come about: activations settle, derivatives stay balanced, features grow alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.analysis import activation_stability, averaging_index, decompose, derivative_balance, reconstruct
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.setting import Setting
from featavg.record import Drawing

COST = ("quick", 19)
NEEDS: tuple[str, ...] = ()
CASES = {"network": ("coarse", "fine")}
COORDS = {"step": lambda config: config.moments}
COLUMNS = {
    "own": Quantity("mean λ of features of the own class", ("step",)),
    "other": Quantity("mean λ of features of other classes", ("step",)),
    "on": Quantity("share of (neuron, point of its class) pairs that are on", ("step",)),
    "other_on": Quantity("share of (neuron, point of another class) pairs that are on", ("step",)),
    "index": Quantity("mean averaging index of the neurons", ("step",)),
    "reconstruction": "largest error of the reconstruction relative to the largest weight",
    "settled_on": Quantity("smallest share of (neuron, point of its class) pairs that are on, over the steps",
                           points=lambda config: config.samples),
    "first_on": Quantity("share of (neuron, point of its class) pairs that are on before the first step; by chance, "
                         "one half", points=lambda config: config.samples),
    "balance": "largest max|ℓ'|/min|ℓ'| over the steps",
    "ratio": "largest over smallest λ of own features, over neurons and clusters, at the last step",
    "other_ratio": "|mean other-class λ| over mean own λ at the last step",
    "noise": "largest |σ_ri| over largest |λ_rj| at the last step",
    "early_index": "mean averaging index of the network at step 5",
}  # fmt: skip


def _lemmas(network: str, which: str, proof: str, stable: str, alike: tuple[str, str]) -> list[Expect]:
    """What is claimed of either network; `stable` and `alike` have lemmas of their own, the rest is of the proof."""
    at = {"network": network}
    return [
        Expect(
            "reconstruction", f"The weights are their start plus features plus noises, at every step ({which}).",
            proof, expected=0.0, tolerance=1e-9, relation="at most", because="an identity, in double precision", at=at,
            check=True,
        ),
        Expect(
            "settled_on", f"From step {{config.settled}} on every neuron is on at all points of its class ({which}).",
            stable, expected=1.0, tolerance=0.001, relation="at least", because="one pair in a thousand", at=at,
        ),
        Expect("balance", f"Loss derivatives stay balanced: no point's is many times another's ({which}).", proof,
               expected=3.0, tolerance=0.0, relation="at most", at=at,
               because="three standard deviations of noise and of cluster size, both ways, allow e^0.8 to e^1"),
        Expect("ratio", f"{alike[1]} grow alike ({which}).", alike[0], expected=1.0, tolerance=0.5, at=at,
               because="cluster sizes vary by {config.size_spread:.0%}; the ratio of the extremes is about 1.4"),
        Expect("other_ratio", f"Features of other classes hardly grow ({which}).", proof,
               expected=0.0, tolerance=0.1, relation="at most", at=at,
               because="a tenth of the own feature; the theorem's limit is 0"),
        Expect("noise", f"No point's noise is remembered more than 2k/n times as strongly as a feature ({which}).",
               proof, expected=lambda config, _: 2 / config.per_cluster, tolerance=0.0, relation="at most", at=at,
               because="λ_j/‖μ_j‖² = Σ_i σ_i/‖ξ_i‖² gives k/n in the mean; the largest point may be twice it"),
    ]  # fmt: skip


CLAIMS = [
    Expect("first_on", "Activations are stable from the very start, step 0.", "Lemma 3 as stated",
        expected=1.0, tolerance=0.001, relation="at least", because="one pair in a thousand", at={"network": "coarse"}),
    Expect("early_index", "Averaging is complete after five steps of a hundred.", "Theorem 1, emergence",
           expected=1.0, tolerance=0.1, relation="at least", at={"network": "coarse"},
           because="unequal cluster sizes and cross-class terms cost 0.03"),
    *_lemmas("coarse", "two classes", "proof of Theorem 1", "Lemma 3, from a later step on",
             ("Lemma 5", "Features of a class")),
    *_lemmas("fine", "k classes", "proof of Theorem 4", "Lemma 3, for k classes", ("Lemma 12", "Own features")),
]  # fmt: skip
PAIRS = ["two classes, own", "k classes, own", "two classes, other", "k classes, other"]
DRAWINGS = [
    Drawing("curves", {"x": "step", "y": ("own", "other")},
        caption="Coefficient λ of the features over training, mean over neurons, clusters and seeds. Features of the "
        "own class grow together; those of other classes hardly move.",
        options={"labels": PAIRS, "x_label": "step", "y_label": "λ"}),
    Drawing("curves", {"x": "step", "y": ("on", "other_on")},
            caption="Share of (neuron, point) pairs that are on. Half at the start, by chance; all pairs of one class "
            "within two steps. A few pairs of different classes stay on, by noise.",
            options={"labels": PAIRS, "x_label": "step", "y_label": "share on"}),
    Drawing("curves", {"x": "step", "y": "index"},
        caption="Averaging index over training, mean over neurons and seeds: 1 averages, 0 is decoupled. Coarse and "
        "fine labels part within the first steps.",
        options={"labels": ["two classes", "k classes"], "x_label": "step", "y_label": "averaging index"}),
]  # fmt: skip


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting; `settled` is the step t₀ from which the lemmas are asked to hold."""

    settled: int = 3
    seeds: int = 16

    @property
    def moments(self) -> list[int]:
        """The steps looked at: the first ten, then every fifth."""
        return [*range(min(10, self.steps)), *range(10, self.steps + 1, 5)]


def measure(config: Config, seed: int, case: str) -> dict[str, Any]:
    """Follow a network step by step."""
    data = config.data(seed)
    trajectory = config.trained(case, data, seed, config.moments)
    parts, network, growth = decompose(trajectory, data), trajectory.initial, trajectory.growth
    labels = data.center_labels if case == "coarse" else np.arange(data.clusters)
    same = network.neuron_class[:, None] == labels
    every = parts.feature[:, same].reshape(len(trajectory), network.neurons, -1)
    own, other = every.mean(axis=(1, 2)), parts.feature[:, ~same].mean(axis=1)
    on, other_on = activation_stability(trajectory)
    index = np.array([np.nanmean(averaging_index(trajectory.at(t), data)) for t in range(len(trajectory))])
    return {
        "own": own,
        "other": other,
        "on": on,
        "other_on": other_on,
        "index": index,
        "reconstruction": np.abs(reconstruct(parts, data) - growth).max() / np.abs(growth).max(),
        "settled_on": on[config.settled :].min(),
        "first_on": on[0],
        "balance": derivative_balance(trajectory).max(),
        "ratio": every[-1].max() / every[-1].min(),
        "other_ratio": np.abs(other[-1] / own[-1]),
        # Noise coefficients are σ_ri = ‖ξ_i‖² C_ir: compared with λ they say how much is remembered of single points.
        "noise": np.abs(parts.noise[-1]).max() / np.maximum(np.abs(parts.feature[-1]).max(), 1e-300),
        "early_index": index[5],
    }
