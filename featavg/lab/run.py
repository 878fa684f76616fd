"""The run of a setting: data, network and training path, kept for the next drag."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import lru_cache

import numpy as np

from featavg.arrays import Ints
from featavg.data import Dataset, Labels, sample_clusters
from featavg.lab.setting import Setting
from featavg.model import Activation, BinaryNetwork, MulticlassNetwork, Network
from featavg.training import DivergenceWarning, GradientDescent, Trajectory, train

TEST_POINTS = 200
KEPT = 4  # samples and runs: of 1000 points each holds about 10 MB


def groups(center_labels: Ints, labels: int) -> Ints:
    """The label that each cluster is trained under: (cluster,), each label inside one class.

    >>> groups(np.array([1, 1, 1, -1, -1]), 3)
    array([0, 0, 1, 2, 2])
    """
    sizes = [int((center_labels == sign).sum()) for sign in (1, -1)]
    share = round(labels * sizes[0] / sum(sizes))
    first = min(max(share, 1, labels - sizes[1]), sizes[0], labels - 1)
    found = np.zeros(len(center_labels), dtype=np.int64)
    for sign, begin, count in ((1, 0, first), (-1, first, labels - first)):
        for number, members in enumerate(np.array_split(np.flatnonzero(center_labels == sign), count)):
            found[members] = begin + number
    return found


def coarsened(data: Dataset, labels: int) -> Dataset:
    """The same points under fewer fine labels, each shared by clusters of one class."""
    group = groups(data.center_labels, labels)
    classes = np.array([int(data.center_labels[group == label][0] > 0) for label in range(labels)])
    centers = np.stack([data.centers[group == label].mean(axis=0) for label in range(labels)])
    return replace(
        data,
        fine=Labels(group[data.cluster], np.arange(labels)),
        classes_of_fine=classes,
        stored_centers=centers,
        stored_membership=None,
    )


def powered(network: Network, power: int) -> Network:
    """The same weights under ReLU(z)^p/‖w‖^(p−1), which grows with the weights as ReLU does."""
    return replace(network, activation=Activation(power=power, normalized=power > 1))


@lru_cache(maxsize=KEPT)
def sample(clusters: int, dim: int, samples: int, noise: float, correlation: float, neurons: int, seed: int) -> Dataset:
    """The training points."""
    reserve = max(64, neurons)
    return sample_clusters(clusters, dim, samples, noise=noise, correlation=correlation, reserve=reserve, seed=seed)


def data_of(setting: Setting) -> Dataset:
    """The training points of a setting, with a fine label per cluster."""
    s = setting
    return sample(s.clusters, s.dim, s.samples, s.noise, s.correlation, s.neurons, s.seed)


def run_of(setting: Setting) -> Trajectory:
    """The trained path of a setting; what is only looked at does not train anew."""
    return _trained(replace(setting, neuron=0))


@lru_cache(maxsize=KEPT)
def _trained(setting: Setting) -> Trajectory:
    data = data_of(setting)
    if 2 < setting.labels < setting.clusters:
        data = coarsened(data, setting.labels)
    build = BinaryNetwork.random if setting.labels == 2 else MulticlassNetwork.random
    start = powered(build(data, setting.per_label, seed=setting.seed + 2, scale=setting.scale), setting.power)
    rule = GradientDescent(steps=setting.steps, step_size=setting.eta)
    moments = np.unique(np.linspace(0, setting.steps, 41).round())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)  # the status of the run says it
        return train(start, data, rule, engine="gram", save_at=moments.tolist())
