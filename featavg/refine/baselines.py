"""What a user would try otherwise: scikit-learn's network with and without weight decay, logistic regression, and
adversarial training (`adversarial.py`).

All see points in the frame of refinement times √axes, one number for all columns, so that radii keep their geometry.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import Labels
from featavg.intervals import bootstrap_ratio, normal
from featavg.model import Layer, as_network
from featavg.record import number
from featavg.refine.adversarial import adversarial_network
from featavg.refine.decision import Decision, linear_decision, two_layer_decision
from featavg.refine.frame import Frame
from featavg.refine.measured import Interval, Measured, widened

DECAY = 1.0  # scikit-learn's alpha, where it is not its default
EPOCHS = 1000  # at most
LEAST_NEURONS = 100  # a hidden layer of so many is what scikit-learn has by default


def baselines(
    x: Array, labels: Labels, learn: Ints, at: tuple[Array, Labels], neurons: int, seed: int
) -> list[Decision]:
    """Decisions at the points `at` of classifiers that learned from the rows `learn`, in the order above."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    frame = Frame.of(x[learn], np.ones(len(learn)))
    size = frame.size / np.sqrt(x.shape[1])
    inside, codes = (x[learn] - frame.mean) / size, labels.codes[learn]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so many epochs are what a baseline gets
        for name, decay in (("MLP", 1e-4), ("MLP with decay", DECAY)):
            mlp = MLPClassifier((max(neurons, LEAST_NEURONS),), alpha=decay, max_iter=EPOCHS, random_state=seed).fit(
                inside, codes
            )
            network = as_network(mlp)
            first = Layer(network.weights / size, network.biases - network.weights @ frame.mean / size)
            raw = replace(network, layers=(first, *network.layers[1:]))
            found.append(replace(two_layer_decision(raw, at[0], at[1].values, labels.names), kind=name))
        line = LogisticRegression(max_iter=EPOCHS).fit(inside, codes)
    weights, bias = line.coef_ / size, line.intercept_ - line.coef_ @ frame.mean / size
    found.append(linear_decision(*(at[0], at[1].values, weights, bias), "logistic regression", classes=labels.names))
    width = -(-max(neurons, LEAST_NEURONS) // len(labels.names))
    hard = two_layer_decision(adversarial_network(x[learn], codes, width, seed), at[0], at[1].values, labels.names)
    found.append(replace(hard, kind="adversarial training"))
    return found


@dataclass(frozen=True)
class Standing:
    """One classifier of a comparison: accuracy and median radius, each with its 95 % interval."""

    name: str
    accuracy: float
    accuracy_interval: Interval
    radius: float
    radius_interval: Interval

    @classmethod
    def of(cls, name: str, measured: Measured, radii: Array, seed: int) -> Standing:
        """From what was measured; `radii` are the bounds that count."""
        right, splits = measured.right, np.unique(measured.right_split)
        shares = [float(right[measured.right_split == s].mean()) for s in splits]
        middle, points = bootstrap_ratio(radii, np.ones(len(radii)), np.median, np.random.default_rng(seed))
        medians = [float(np.median(radii[measured.split == s])) for s in np.unique(measured.split)]
        finite = bool(np.isfinite([middle, *points, *medians]).all())
        clean = widened(measured.accuracy, normal(right), shares)
        around = widened(middle, points, medians) if finite else (0.0, np.inf)
        return cls(name, measured.accuracy, _clipped(clean, 1.0), middle, _clipped(around, np.inf))

    def cells(self) -> tuple[str, str, str]:
        """As a row of text: name, accuracy, median radius."""
        values = ((self.accuracy, self.accuracy_interval), (self.radius, self.radius_interval))
        told = [f"{number(value)} ({number(low)} to {number(high)})" for value, (low, high) in values]
        return self.name, told[0], told[1]


def standings_table(found: Sequence[Standing]) -> list[tuple[str, str, str]]:
    """All classifiers of a comparison in one table, with its head; empty without any."""
    return [("classifier", "accuracy", "median ℓ2 radius"), *(one.cells() for one in found)] if found else []


def _clipped(interval: Interval, most: float) -> Interval:
    return max(interval[0], 0.0), min(interval[1], most)
