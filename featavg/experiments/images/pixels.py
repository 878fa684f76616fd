"""Two-layer networks on raw pixels: coarse and fine labels, with exact radii over training time.

Both networks are f = A ReLU(W x + b) with as many neurons, each speaking for one class, from small random weights,
trained by the same batches with the longest stable step (`featavg.refine.frame`). The fine one is read out by its
maximum, for which the radius is exact. No box: the radius without one is at most the radius inside it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import load_images
from featavg.experiments.images.gaps import NETWORKS
from featavg.model import BinaryNetwork, Network
from featavg.refine import Frame, State, at_random, descend
from featavg.robustness import Budget, Readout, robust_radius

if TYPE_CHECKING:
    from featavg.experiments.images.pairs import ImageSetting

BUDGET = Budget(seconds=2.0)


def two_layer(config: ImageSetting, seed: int) -> dict[str, Array]:
    """Clean accuracy (network, mark) and exact radii (network, mark, point) of both networks after each mark.

    `two_layer_verified` is the smallest share, over networks and marks, of points whose radius is exact with a proof
    that verifies.
    """
    train = load_images(config.data, "train", config.task, samples=config.images, seed=seed)
    whole = load_images(config.data, "test", config.task)
    test = load_images(config.data, "test", config.task, samples=config.exact_points, seed=seed)
    weights = np.ones(len(train))
    frame = Frame.of(train.x, weights)
    inside = frame.inside(train.x)
    found: dict[str, list[list[Array | float]]] = {"clean": [], "lower": [], "upper": []}
    verified = []
    for kind in NETWORKS:
        for rows in found.values():
            rows.append([])
        target = np.where(train.y > 0, 0, 1) if kind == "coarse" else train.cluster
        outputs = int(target.max()) + 1
        start = at_random(outputs, config.neurons // outputs, train.x.shape[1], seed)
        states: list[State] = []
        keep = partial(_keep, states)
        descend(start, inside, target, weights, frame.rate, config.marks, seed, keep)
        for state in states:
            network, readout = _asked(state, frame, train.center_labels)
            bracket = robust_radius(network, test.x, test.y, readout=readout, budget=BUDGET)
            found["clean"][-1].append(float(np.mean(network.predict_binary(whole.x, readout) == whole.y)))
            found["lower"][-1].append(bracket.lower)
            found["upper"][-1].append(bracket.upper)
            exact = np.array([status == "exact" for status in bracket.status])
            verified.append(float(np.mean(bracket.verify() & exact)))
    return {f"two_layer_{name}": np.array(rows) for name, rows in found.items()} | {
        "two_layer_verified": np.array(min(verified))
    }


def _keep(states: list[State], step: int, state: State) -> None:
    states.append(state)


def _asked(state: State, frame: Frame, center_labels: Ints) -> tuple[Network, Readout]:
    """The network that decides the coarse task: f_+ − f_- as one output, or the maximum over the fine classes."""
    if len(state.second) == 2:
        network = state.network(frame)
        return BinaryNetwork(
            network.weights, network.biases, network.second[:1] - network.second[1:], np.zeros(1)
        ), "sign"
    return state.network(frame, center_labels), "maximum"
