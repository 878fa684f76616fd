"""The diagnosis accuses no head that does not average, finds the one that does, and knows when labels do not help.

A trial plants clusters around orthogonal centers, half of them in each class, and asks the p-value of `diagnose` about
three heads on them: random directions (a linear head, or a two-layer network in every other trial), the decoupled
network, and the averaging one; the last two with noise in every weight vector. Sub-labels are given, or found on one
half of the points and tested on the other, which is the path that `diagnose` itself takes; only radii and gains,
which the p-value does not see, are left out. Other trials have one Gaussian a class: there `diagnose` must say that
finer labels will not help, and is run whole wherever it finds sub-classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.data import Dataset, sample_clusters
from featavg.experiments._registry import Progress, record_of
from featavg.model import averaging_network, decoupled_network
from featavg.record import Claim, Drawing, Record
from featavg.refine.diagnose import averages_of, diagnose, subclasses
from featavg.refine.diagnosis import LEVEL
from featavg.refine.gain import halves
from featavg.refine.subject import read_subject

COST = ("long", 320)
NEEDS: tuple[str, ...] = ()

HEADS = ("random", "decoupled", "averaging")


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


def run(config: Config, progress: Progress) -> Record:
    """p-values of all heads with given and with found sub-labels, and the advice for one Gaussian a class."""
    p = np.empty((config.seeds, config.trials, 2, len(HEADS)))
    no_help = np.empty((config.seeds, config.trials))
    for block in range(config.seeds):
        for trial in range(config.trials):
            seed = (config.first_seed + block) * config.trials + trial
            p[block, trial] = p_values(config, seed)
            no_help[block, trial] = not helps(config, seed)
        progress((block + 1) / config.seeds, f"block {block}")
    flat = p.reshape(-1, 2, len(HEADS))
    drawing = Drawing(
        "curves", {"x": "share", "y": "sorted"},
        caption="p-values of all trials, sorted: given sub-labels, then found ones. On or above the diagonal no head "
        "is accused too often; the averaging one has to lie at the bottom.",
        options={"labels": [f"{head}, {how}" for how in ("given", "found") for head in HEADS],
                 "x_label": "share of trials", "y_label": "p-value"},
    )  # fmt: skip
    arrays = {
        "p": p, "no_help": no_help, "share": (np.arange(len(flat)) + 0.5) / len(flat),
        "sorted": np.sort(flat, axis=0).reshape(len(flat), -1).T,
    }  # fmt: skip
    return record_of(config, claims=_claims(p, no_help), arrays=arrays, drawings=[drawing])


def p_values(config: Config, seed: int) -> Array:
    """The p-value of each head on one sample: (given or found, head)."""
    data = sample_clusters(
        clusters=config.clusters, dim=config.dim, samples=config.samples, seed=seed, coordinates="ambient"
    )  # fmt: skip
    subjects = [read_subject(head(name, config, data, seed), data.x, data.y, None) for name in HEADS]
    first, second = halves(subjects[0].codes, seed)
    found = []
    for sublabels in (data.cluster, None):
        # Which sub-classes there are depends on points and labels alone, so one search serves all heads.
        labels, class_of = subclasses(subjects[0], first, second, sublabels, "auto", seed)
        found.append([averages_of(subject, second, labels, class_of)[0].p_value for subject in subjects])
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
    subject = read_subject(model, x, y, None)
    _, class_of = subclasses(subject, *halves(subject.codes, seed), None, "auto", seed)
    # Without sub-classes the advice is settled before any gain is measured.
    return bool(np.bincount(class_of).max() > 1) and diagnose(model, x, y, seed=seed).finer_labels_help


def _claims(p: Array, no_help: Array) -> list[Claim]:
    quiet, found = (p > LEVEL).mean(axis=1), (p < LEVEL).mean(axis=1)  # (seed, given or found, head)
    claims = []
    for i, how in enumerate(("given", "found on the other half")):
        for j, name in enumerate(HEADS[:2]):
            text = f"A {name} head is not accused, sub-labels {how}."
            reason = "0.95 by construction, less what 200 trials may show by chance"
            claims.append(_at_least(0.92, quiet[:, i, j], text, reason, f"share of trials with p > {LEVEL}"))
        text, reason = f"Planted averaging is found, sub-labels {how}.", "asked of the tool: one miss in a hundred"
        claims.append(_at_least(0.99, found[:, i, 2], text, reason, f"share of trials with p < {LEVEL}"))
    text = "On one Gaussian a class the diagnosis says that finer labels will not help."
    how = "share of diagnoses of a logistic regression"
    return [*claims, _at_least(0.95, no_help.mean(axis=1), text, "its intervals have level 95 %", how)]


def _at_least(expected: float, shares: Array, text: str, reason: str, how: str) -> Claim:
    return Claim.over_seeds(
        shares, text, source="calibration of `diagnose`", expected=expected, tolerance=0.0, tolerance_reason=reason,
        relation="at least", how=f"{how}; the interval has the spread of blocks of trials",
    )  # fmt: skip
