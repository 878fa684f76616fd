"""The diagnosis accuses no head that does not average, finds the one that does, and knows when labels do not help.

A trial plants clusters around orthogonal centers, half of them in each class, and asks the p-value of `diagnose` about
three heads on them: random directions (a linear head, or a two-layer network in every other trial), the decoupled
network, and the averaging one; the last two with noise in every weight vector. Sub-labels are given, or found on one
half of the points and tested on the other, which is the path that `diagnose` itself takes; only radii and gains,
which the p-value does not see, are left out. Other trials have one Gaussian per class: there `diagnose`, run whole,
must not say that finer labels help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.data import Dataset, sample_clusters
from featavg.experiments import Expect, Quantity
from featavg.model import averaging_network, decoupled_network
from featavg.record import Column, Drawing, Table
from featavg.refine import LEVEL, averages_of, diagnose, read_decision, subclasses

COST = ("long", 1500)
NEEDS: tuple[str, ...] = ()
HEADS = ("random", "decoupled", "averaging")
SUBLABELS = ("given", "found")
COORDS = {"head": HEADS, "sublabels": SUBLABELS}


def _trials(config: Config) -> int:
    return config.trials


COLUMNS = {
    "p": Quantity("p-value of a head", ("trial", "sublabels", "head")),
    "quiet": Quantity(f"share of trials with p > {LEVEL}", ("sublabels", "head"), points=_trials),
    "accused": Quantity(f"share of trials with p < {LEVEL}", ("sublabels", "head"), points=_trials),
    "no_help": Quantity("share of diagnoses of a logistic regression", points=_trials),
}
SOURCE = "calibration of `diagnose`"
CLAIMS = [
    *(
        Expect("quiet" if head != "averaging" else "accused",
               f"A {head} head is not accused, sub-labels {how}." if head != "averaging"
               else f"Planted averaging is found, sub-labels {how}.",
               SOURCE, expected=0.92 if head != "averaging" else 0.99, tolerance=0.0, relation="at least",
               because="0.95 by construction, less what 200 trials may show by chance" if head != "averaging"
               else "asked of the tool: one miss in a hundred",
               at={"sublabels": sublabels, "head": head})
        for sublabels, how in zip(SUBLABELS, ("given", "found on the other half"), strict=True)
        for head in HEADS
    ),
    Expect("no_help", "On one Gaussian per class the diagnosis says that finer labels will not help.", SOURCE,
           expected=0.95, tolerance=0.0, relation="at least", because="its intervals have level 95 %"),
]  # fmt: skip
DRAWINGS = [
    Drawing("curves", {"x": "share", "y": "sorted"},
        caption="p-values of all trials, sorted: sub-labels given, and found (dashed). On or above the diagonal no "
        "head is accused too often; the averaging one has to lie at the bottom.",
        options={"labels": [f"{head}, {how}" for how in SUBLABELS for head in HEADS],
                 "dashed": [f"{head}, found" for head in HEADS],
                 "x_label": "share of trials", "y_label": "p-value"}),
]  # fmt: skip


@dataclass(frozen=True)
class Config:
    """A seed is a block of trials; 40 blocks of 5 are the 200 trials of the claims."""

    trials: int = 5
    clusters: int = 10
    dim: int = 60
    samples: int = 400
    weight_noise: float = 0.3  # length of the noise of a planted weight vector, as a share of its own
    gaussian_samples: int = 300
    gaussian_dims: tuple[int, ...] = (2, 10, 50)
    separations: tuple[float, ...] = (1.0, 2.0, 4.0)  # of the means of the two Gaussians, in standard deviations
    first_seed: int = 0
    seeds: int = 40


def measure(config: Config, seed: int) -> dict[str, Any]:
    """p-values of all heads with given and with found sub-labels, and the advice for one Gaussian per class."""
    trials = range(seed * config.trials, (seed + 1) * config.trials)
    p = np.array([p_values(config, trial) for trial in trials])
    return {
        "p": p,
        "quiet": (p > LEVEL).mean(axis=0),
        "accused": (p < LEVEL).mean(axis=0),
        "no_help": np.mean([not helps(config, trial) for trial in trials]),
    }


def derive(config: Config, table: Table) -> Table:
    """All p-values, sorted."""
    flat = table["p"].reshape(-1, len(SUBLABELS) * len(HEADS))
    share = (np.arange(len(flat)) + 0.5) / len(flat)
    return table.plus(
        {"sorted": Column(np.sort(flat, axis=0).T, ("line", "share"), "sorted p-values")}, {"share": share}
    )


def p_values(config: Config, seed: int) -> Array:
    """The p-value of each head on one sample: (given or found, head)."""
    data = sample_clusters(
        clusters=config.clusters, dim=config.dim, samples=config.samples, seed=seed, coordinates="ambient"
    )  # fmt: skip
    decisions = [read_decision(head(name, config, data, seed), data.x, data.y) for name in HEADS]
    found = []
    for sublabels in (data.cluster, None):
        # Which sub-classes there are depends on points and labels alone, so one search serves all heads.
        tested = subclasses(decisions[0], sublabels, None, "auto", seed)
        found.append([averages_of(decision, *tested)[0].p_value for decision in decisions])
    # No p-value where no class shows two sub-classes: there nothing is accused, and nothing found.
    return np.nan_to_num(np.array(found), nan=1.0)


def head(name: str, config: Config, data: Dataset, seed: int) -> Any:
    """A head of this kind on these data, with noise of its own."""
    rng = np.random.default_rng([seed, HEADS.index(name)])
    if name == "random" and seed % 2:
        return (rng.standard_normal((2, config.dim)),)
    network = averaging_network(data) if name == "averaging" else decoupled_network(data)
    if name == "random":
        return network.changed(weights=rng.standard_normal(network.weights.shape))
    noise = rng.standard_normal(network.weights.shape)
    noise *= np.linalg.norm(network.weights, axis=1, keepdims=True) / np.linalg.norm(noise, axis=1, keepdims=True)
    return network.changed(weights=network.weights + config.weight_noise * noise)


def helps(config: Config, seed: int) -> bool:
    """Whether `diagnose` says that finer labels help where each class is one Gaussian."""
    from sklearn.linear_model import LogisticRegression  # a second that listing experiments need not pay

    rng = np.random.default_rng([seed, len(HEADS)])
    # Runs of a few trials see all pairs: the second index moves once the first has gone round.
    dim = config.gaussian_dims[seed % len(config.gaussian_dims)]
    separation = config.separations[seed // len(config.gaussian_dims) % len(config.separations)]
    y = np.arange(config.gaussian_samples) % 2
    x = rng.standard_normal((len(y), dim)) + separation * y[:, None] * np.eye(dim)[0]
    model = LogisticRegression().fit(x, y)
    return diagnose(model, x, y, seed=seed).finer_labels_help
