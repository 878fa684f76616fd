"""Of a simple and many complex features that decide alike, descent learns the simple one alone (Shah et al. 2020).

LMS-5: one coordinate decides by its sign, 49 others by which of five slabs they lie in. MS-(5,7): one of five slabs, 49
of seven. Any of them would do. What a network uses is seen by shuffling: values of the simple coordinate, or of all
complex ones, exchanged among the test points. In a third set, noisy LMS-5, the simple coordinate is wrong at a tenth
of the points, so that the best linear classifier and the best network can be told apart over time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from featavg.arrays import Array, Bools
from featavg.data import Dataset, Labels
from featavg.experiments import Expect, Quantity
from featavg.model import BinaryNetwork, Network
from featavg.record import Drawing
from featavg.robustness import MinimalNorm, NewtonWalk, best_of
from featavg.training import GradientDescent, train

COST = ("long", 150)
NEEDS: tuple[str, ...] = ()
# Slab data (Shah et al. 2020): a simple coordinate that decides by itself, among complex ones that do so too.
BOUND, GAP = 1.0, 0.1  # |coordinate| <= B, and slabs of different labels are 2g apart
WRONG = 0.1  # share of points whose linear coordinate is wrong in the noisy variant
# How likely a point of each label is in which slab, counted from the center: those of the public code. With equal
# chances the complex coordinates would have a mean |x| that tells the labels apart much sooner.
CHANCES = {
    5: {-1: {0: 3 / 4, 2: 1 / 4}, 1: {1: 1.0}},
    7: {-1: {0: 1 / 2, 2: 1 / 2}, 1: {1: 7 / 8, 3: 1 / 8}},
}
SOURCE = "Shah et al. 2020"
SETS = ("LMS-5", "MS-(5,7)", "noisy LMS-5")
CASES = {"set": SETS}
COORDS = {"step": lambda config: config.moments}
TEST = "on {config.test_points} fresh points"
COLUMNS = {
    "standard": Quantity(f"area under the ROC curve {TEST}, a share of pairs", points=lambda config: config.pairs),
    "simple_shuffled": Quantity(f"the same with the simple coordinate shuffled {TEST}",
                                points=lambda config: config.pairs),
    "complex_shuffled": Quantity(f"the same with all complex coordinates shuffled together {TEST}",
                                 points=lambda config: config.pairs),
    "share": "median over {config.attacked} points of |δ_simple|/‖δ‖ for the nearest perturbation that two attacks "
    "find",
    "radius": "median ‖δ‖ of these, an upper bound of the median radius",
    "accuracy": Quantity(f"accuracy over training {TEST}", ("step",), points=lambda config: config.test_points),
    "agreement": Quantity(f"share of points where network and logistic regression on the training points decide alike, "
                          f"{TEST}", ("step",), points=lambda config: config.test_points),
    "linear_accuracy": Quantity(f"accuracy of the logistic regression {TEST}",
                                points=lambda config: config.test_points),
}  # fmt: skip
CLAIMS = [
    *(
        expect
        for name, simple in (("LMS-5", 0.507), ("MS-(5,7)", 0.502))
        for expect in (
            Expect("standard", f"{name}: the network is perfect.", SOURCE, expected=1.0, tolerance=0.005,
                   relation="at least", published=1.0, at={"set": name}, because="published to three digits"),
            Expect("simple_shuffled", f"{name}: without the simple feature it knows nothing.", SOURCE, expected=0.5,
                   tolerance=0.03, published=simple, at={"set": name},
                   because="an area over 10,000 points has a standard deviation of 0.006"),
            Expect("complex_shuffled", f"{name}: without all of the complex ones it loses nothing.", SOURCE,
                   expected=1.0, tolerance=0.005, relation="at least", published=1.0, at={"set": name},
                   because="published to three digits"),
            Expect("share", f"{name}: the nearest perturbation lies in the simple coordinate.", SOURCE, expected=0.99,
                   tolerance=0.02, relation="at least", at={"set": name},
                   published={"LMS-5": 0.997, "MS-(5,7)": 0.991}[name],
                   because="published are 0.997 and 0.991, of PGD on deeper networks; a prototype gave 0.92 for the "
                   "second"),
        )
    ),
    Expect("agreement", "Early descent is linear: it decides as the best linear classifier does.", SOURCE,
           expected=1.0, tolerance=0.02, relation="at least",
           at={"set": "noisy LMS-5", "step": lambda config: config.early},
           because="one point in fifty, and pilot runs gave 0.999 from step 100 on"),
    Expect("accuracy", "Later it leaves the linear classifier behind.", SOURCE,
           expected=1.0, tolerance=0.02, relation="at least",
           at={"set": "noisy LMS-5", "step": lambda config: config.moments[-1]},
           because="the complex features make perfection possible; the linear classifier ends at 0.9"),
]  # fmt: skip
NOTES = [
    "Bearing on averaging: the average of a class is the simplest feature that decides, a linear one, and it is what "
    "early descent finds. Simplicity bias and averaging look like one preference on different data: here too the "
    "perturbation that fools lies in the feature that was preferred.",
    "Reduced against the published setting: one hidden layer of {config.neurons} neurons instead of two, "
    "{config.samples} training points instead of 100,000, steps of {config.step_size:g} instead of 0.1. Dimension, "
    "probabilities of the slabs, batches and weight decay are those of the public code.",
]


@dataclass(frozen=True)
class Config:
    """50 coordinates in random rotation, logistic loss, batches of 256, weight decay 5e-5, all parameters trained."""

    dim: int = 50
    samples: int = 50_000
    neurons: int = 100
    step_size: float = 0.3
    weight_decay: float = 5e-5
    batch: int = 256
    moments: tuple[int, ...] = (25, 50, 100, 200, 500, 1000, 2000, 4000, 6000, 8000, 10_000, 12_000)
    early: int = 500  # the moment at which decisions are compared with those of a linear classifier
    test_points: int = 10_000
    attacked: int = 50
    seeds: int = 8
    first_seed: int = 0

    @property
    def pairs(self) -> int:
        """How many pairs of a positive and a negative test point are independent."""
        return self.test_points // 2


def measure(config: Config, seed: int, case: str) -> dict[str, Any]:
    """Train on rotated points; shuffle, attack, and compare with a linear classifier over time."""
    rng = np.random.default_rng([seed, SETS.index(case)])
    x, positive = slab_points(case, config.dim, config.samples, rng)
    test, truth = slab_points(case, config.dim, config.test_points, rng)
    turn = np.linalg.qr(rng.standard_normal((config.dim, config.dim)))[0]
    data = labelled(x @ turn, positive)
    rule = GradientDescent(
        steps=config.moments[-1], step_size=config.step_size, weight_decay=config.weight_decay
    )  # fmt: skip
    run = train(
        start(config, rng), data, rule, trained=("weights", "biases", "second", "output_bias"),
        batch_size=config.batch, seed=seed, save_at=list(config.moments),
    )  # fmt: skip
    linear = LogisticRegression().fit(data.x, positive).predict(test @ turn)
    decisions = np.array(
        [run.at(t).outputs(test @ turn)[:, 0] > 0 for t in range(len(run) - len(config.moments), len(run))]
    )
    order = rng.permutation(len(test))
    without_simple, without_complex = test.copy(), test.copy()
    without_simple[:, 0], without_complex[:, 1:] = test[order, 0], test[order, 1:]
    return {
        "standard": area(run.final, test @ turn, truth),
        "simple_shuffled": area(run.final, without_simple @ turn, truth),
        "complex_shuffled": area(run.final, without_complex @ turn, truth),
        **nearest(run.final, test[: config.attacked] @ turn, truth[: config.attacked], turn[0]),
        "accuracy": (decisions == truth).mean(axis=1),
        "agreement": (decisions == linear).mean(axis=1),
        "linear_accuracy": np.mean(linear == truth),
    }


def start(config: Config, rng: np.random.Generator) -> Network:
    """Uniform in ±1/√(inputs of the layer), as the public code has it."""

    def uniform(rows: int, inputs: int) -> Array:
        return rng.uniform(-1, 1, (rows, inputs)) / np.sqrt(inputs)

    hidden = uniform(config.neurons, config.dim), uniform(config.neurons, config.dim)[:, 0]
    return BinaryNetwork(*hidden, uniform(1, config.neurons), uniform(1, config.neurons)[:, 0])


def area(network: Network, x: Array, positive: Bools) -> float:
    """Area under the ROC curve of the output."""
    return float(roc_auc_score(positive, network.outputs(x)[:, 0]))


def nearest(network: Network, x: Array, positive: Bools, simple: Array) -> dict[str, float]:
    """How much of the nearest perturbation found lies along the simple coordinate."""
    y = np.where(positive, 1, -1)
    found = best_of(MinimalNorm(restarts=1)(network, x, y), NewtonWalk()(network, x, y))
    right = (found.upper > 0) & np.isfinite(found.upper)
    along = np.abs((found.witness - x)[right] @ simple)
    return {"share": float(np.median(along / found.upper[right])), "radius": float(np.median(found.upper))}


def drawings(config: Config) -> list[Drawing]:
    """What is used, and when the network leaves the linear classifier."""
    return [
        Drawing("heatmap", {"values": ("standard", "simple_shuffled", "complex_shuffled"), "column_labels": "set"},
            caption="Area under the ROC curve after shuffling values among test points: 1 is perfect, ½ is chance. On "
            "LMS-5 and MS-(5,7) the network uses the simple feature alone; on the noisy set, where that is wrong at "
            "some points, it uses the others in the end.",
            options={"rows": "shuffled", "columns": "data", "scale_label": "area", "limit": 1.0,
                     "row_labels": ["nothing", "the simple one", "all complex ones"]}),
        Drawing("curves", {"x": "step", "y": ("agreement", "accuracy")}, at={"set": "noisy LMS-5"}, band=0.95,
            within=(0.0, 1.0),
            caption="Noisy LMS-5, whose simple coordinate is wrong at a tenth of the points: share of test points "
            "decided as the best linear classifier decides them, and share decided rightly.",
            options={"labels": ["as the linear classifier", "rightly"], "log_x": True, "x_label": "step",
                     "y_label": "share of test points", "levels": [[1 - WRONG, "linear classifier"]]}),
    ]  # fmt: skip


def slab_coordinate(positive: Bools, slabs: int, rng: np.random.Generator) -> Array:
    """A coordinate of 5 or 7 slabs of equal width, by turns negative and positive: (sample,).

    >>> x = slab_coordinate(np.array([True, False]), 5, np.random.default_rng(0))
    >>> bool(0.3 < abs(x[0]) < 0.6), bool(abs(x[1]) < 0.13 or abs(x[1]) > 0.7)
    (True, True)
    """
    width = (2 * BOUND - 2 * GAP * (slabs - 1)) / slabs
    place = np.zeros(len(positive), dtype=np.int64)
    for label, own in ((1, positive), (-1, ~positive)):
        chances = CHANCES[slabs][label]
        place[own] = rng.choice(list(chances), size=int(own.sum()), p=list(chances.values()))
    within = width * rng.random(len(positive))
    size = np.where(place == 0, within / 2, (place - 0.5) * width + 2 * GAP * place + within)
    return size * rng.choice([-1.0, 1.0], size=len(positive))


def slab_points(kind: str, dim: int, samples: int, rng: np.random.Generator) -> tuple[Array, Bools]:
    """Points (sample, dim) whose first coordinate is the simple one, and which are positive.

    `LMS-5` is a linear coordinate among five-slab ones, `MS-(5,7)` a five-slab coordinate among seven-slab ones, and
    `noisy LMS-5` is LMS-5 with the sign of the linear coordinate wrong at a tenth of the points.
    """
    positive = rng.random(samples) < 0.5
    linear = kind != "MS-(5,7)"
    if linear:  # y (g + (B − g) U)
        size = GAP + (BOUND - GAP) * rng.random(samples)
        first = np.where(positive, size, -size)
    else:
        first = slab_coordinate(positive, 5, rng)
    if kind == "noisy LMS-5":
        first *= np.where(rng.random(samples) < WRONG, -1, 1)
    others = [slab_coordinate(positive, 5 if linear else 7, rng) for _ in range(dim - 1)]
    return np.column_stack([first, *others]), positive


def labelled(x: Array, positive: Bools) -> Dataset:
    """Points with labels −1 and +1."""
    return Dataset(x, Labels.of(np.where(positive, 1, -1)))
