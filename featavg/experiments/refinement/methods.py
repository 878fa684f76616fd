"""What is compared: two-layer networks on coarse and finer labels, rules without training, and how each is tuned.

Equal effort: every network is trained with four settings, each judged at the same moments; the rules without training
have as many settings or fewer. A setting is a learning rate, as a multiple of 1/L, and a strength, which means what the
method makes of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from featavg.arrays import Ints
from featavg.experiments.refinement.benchmark_split import BenchmarkSplit, Kind
from featavg.refine import State, at_centers, at_random, descend, means
from featavg.robustness import Readout
from featavg.training import CrossEntropy, GroupedCrossEntropy, Loss, SmoothedCrossEntropy, WorstInBall

LossName = Literal["labels", "smoothed", "summed"]
ATTACK_STEPS = 7  # Madry et al. 2018


@dataclass(frozen=True)
class Setting:
    """One training, or one rule, that may be chosen."""

    rate: float = 1.0  # multiple of 1/L
    strength: float = 0.0  # share of smoothing, or radius of the attack over the target radius, or sharpness
    count: int = 0  # prototypes per class


RATES = tuple(Setting(rate) for rate in (1.0, 3.0, 10.0, 30.0))
SMOOTHED = tuple(Setting(rate, share) for rate in (10.0, 30.0) for share in (0.1, 0.3))
ATTACKED = tuple(Setting(rate, times) for rate in (10.0, 30.0) for times in (1.0, 1.5))
COUNTS = (10, 50, 100, 200)
HARD_PROTOTYPES = tuple(Setting(strength=1e4, count=count) for count in COUNTS)
SOFT_PROTOTYPES = tuple(Setting(strength=sharp, count=count) for count in COUNTS for sharp in (5.0, 10.0, 20.0, 40.0))
PENALTIES = tuple(Setting(strength=10.0**power) for power in range(-3, 2))


@dataclass(frozen=True)
class Moment:
    """A classifier in the frame of its split, and the CPU seconds that it took from the points to it."""

    step: int
    state: State
    class_of: Ints  # (output,)  the coarse class 0 or 1 that each output speaks for
    seconds: float


@dataclass(frozen=True)
class TrainedMethod:
    """A network of about `neurons` neurons: which labels it is trained on, by which loss, on which points."""

    name: str
    kind: Kind = "coarse"
    count: int = 1  # labels per class
    start: Literal["random", "centers"] = "centers"  # small random weights, or the centers of the labels
    loss: LossName = "labels"
    attacked: bool = False
    neurons: int = 200
    settings: tuple[Setting, ...] = RATES
    readout: Readout = "summed-probabilities"

    def moments(self, split: BenchmarkSplit, setting: Setting, marks: Sequence[int], radius: float) -> Iterator[Moment]:
        """Train on the points of a split; `radius` is the target, in the units of the data."""
        found = split.labels(self.kind, self.count)
        spent = found.seconds + split.frame_seconds  # first, since it may find the frame
        began = time.process_time() - spent
        outputs, rate = len(found.class_of), setting.rate * split.frame.rate
        width = max(1, self.neurons // outputs)
        if self.start == "random":
            start = at_random(outputs, width, split.inside.shape[1], split.seed)
        else:
            start = at_centers(means(split.inside, found.labels), width, split.seed)
        reach = setting.strength * radius / split.frame.size
        attack = WorstInBall(reach, steps=ATTACK_STEPS, still=1) if self.attacked else None
        moments: list[Moment] = []
        descend(
            start, split.inside, split.codes if self.loss == "summed" else found.labels, np.ones(len(split.train)),
            rate, marks, split.seed,
            lambda mark, state: moments.append(Moment(mark, state, found.class_of, time.process_time() - began)),
            loss=self._loss(found.class_of, setting), perturb=attack,
        )  # fmt: skip
        yield from moments

    def _loss(self, class_of: Ints, setting: Setting) -> Loss:
        if self.loss == "smoothed":
            return SmoothedCrossEntropy(share=setting.strength)
        return GroupedCrossEntropy(class_of=class_of) if self.loss == "summed" else CrossEntropy()


@dataclass(frozen=True)
class Prototypes:
    """The class of the nearest k-means center; softly: f_j = sharpness·(⟨c_j,x'⟩ − ‖c_j‖²/2), summed probabilities.

    A mixture of equal spheres for each class, without training. Sharpness 10⁴ makes Newton walks see the maximum.
    """

    name: str
    settings: tuple[Setting, ...]
    readout: Readout = "summed-probabilities"

    def moments(self, split: BenchmarkSplit, setting: Setting, marks: Sequence[int], radius: float) -> Iterator[Moment]:
        """The one moment there is."""
        count = min(setting.count, int(np.bincount(split.codes).min()) // 2)
        found = split.labels("discovered", count)
        spent = found.seconds + split.frame_seconds  # first, since it may find the frame
        began = time.process_time() - spent
        state = at_centers(means(split.inside, found.labels), 1, split.seed, setting.strength)
        yield Moment(0, state, found.class_of, time.process_time() - began)


@dataclass(frozen=True)
class LinearSVM:
    """scikit-learn's linear support vector machine as two outputs ±f whose neurons are all on."""

    name: str = "linear SVM"
    settings: tuple[Setting, ...] = PENALTIES
    readout: Readout = "summed-probabilities"

    def moments(self, split: BenchmarkSplit, setting: Setting, marks: Sequence[int], radius: float) -> Iterator[Moment]:
        """The one moment there is; the strength is C on points of mean square length 1."""
        from sklearn.svm import LinearSVC

        spent = split.frame_seconds
        began = time.process_time() - spent
        model = LinearSVC(C=setting.strength, dual=False, tol=1e-3).fit(split.inside, split.codes)
        w, b = model.coef_[0], float(model.intercept_[0])
        level = 10 * np.abs(split.inside @ w + b).max()
        state = State(np.stack([-w, w]), np.array([level - b, level + b]), np.eye(2))
        yield Moment(0, state, np.array([0, 1]), time.process_time() - began)


Method = TrainedMethod | Prototypes | LinearSVM


def discovered(count: int, neurons: int = 200) -> TrainedMethod:
    """Sub-labels found by k-means inside each class."""
    return TrainedMethod(f"discovered {count}", "discovered", count, neurons=neurons)


COARSE = TrainedMethod("coarse", start="random")
TRUE = TrainedMethod("true fine labels", "true", start="random")
CONTROLS = (
    TrainedMethod("coarse, smoothed labels", start="random", loss="smoothed", settings=SMOOTHED),
    TrainedMethod("coarse loss, start at centers", "discovered", 100, loss="summed"),
    TrainedMethod("true fine labels, start at centers", "true"),
    TrainedMethod("random sub-labels 10", "random", 10),
    TrainedMethod("random sub-labels 100", "random", 100),
)
RULES = (
    Prototypes("nearest prototype", HARD_PROTOTYPES, readout="maximum"),
    Prototypes("soft prototypes", SOFT_PROTOTYPES),
    LinearSVM(),
)


def trained_against(count: int) -> tuple[TrainedMethod, TrainedMethod]:
    """PGD adversarial training on coarse labels, and on `count` discovered ones per class."""
    return (
        TrainedMethod("adversarial, coarse", start="random", attacked=True, settings=ATTACKED),
        TrainedMethod(f"adversarial, discovered {count}", "discovered", count, attacked=True, settings=ATTACKED),
    )
