"""All methods on one data set: tuned on the pilot seed, then measured on the test points of every seed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.experiments import Quantity
from featavg.experiments.refinement.benchmark_split import BenchmarkSplit, Draw, reference_split
from featavg.experiments.refinement.methods import Method, Setting
from featavg.experiments.refinement.neighbours import Neighbours
from featavg.experiments.refinement.tuning import Trials, accuracy, walked
from featavg.model import Network
from featavg.progress import Progress
from featavg.refine import SubclassClassifier
from featavg.robustness import Budget, Readout, robust_accuracy, robust_at

BUDGET = Budget(nodes=2000, seconds=0.15)  # of a point
NEIGHBOURS = (1, 3, 5, 9)
SUMMED: Readout = "summed-probabilities"
MAXIMUM: Readout = "maximum"
# What is measured of every method, by its name.
NUMBERS = {
    "clean": "clean test accuracy",
    "lower": "proved robust accuracy at the radius",
    "upper": "robust accuracy at the radius that is not refuted",
    "maximum_lower": "proved robust accuracy under the maximum read-out",
    "maximum_upper": "robust accuracy under the maximum read-out that is not refuted",
    "seconds": "CPU seconds from the points to the chosen moment",
}
NEAREST, AUTO = "k-NN, attack only", "auto"
Numbers = dict[str, float]  # one of each of NUMBERS; NaN where it was not measured
Choice = tuple[Setting, int]
Entry = tuple[str, Method, Choice]


@dataclass(frozen=True)
class Conditions:
    """What all methods are measured at."""

    radius: float
    marks: tuple[int, ...]
    points: int  # test points of the verdict on summed probabilities
    maximum_points: int  # test points of the exact verdict on the maximum read-out


@dataclass(frozen=True)
class Benchmark:
    """Methods with what the pilot seed chose for them, ready to be measured on the test points of other seeds."""

    draw: Draw
    samples: int
    judged: int
    conditions: Conditions
    entries: list[Entry]
    k: int  # of k-NN
    trials: dict[str, Trials]  # all that was tried on the pilot seed

    @property
    def names(self) -> list[str]:
        """The names of the methods in a row."""
        return [*(name for name, _, _ in self.entries), NEAREST, AUTO]

    def measure(
        self, seed: int, progress: Progress, whole: Sequence[str] = (), both: Sequence[str] = ()
    ) -> tuple[dict[str, Any], dict[str, Course]]:
        """Numbers (method,) and courses of one seed: `whole` are followed to the last mark, `both` read out twice."""
        split, rules = reference_split(self.draw, self.samples, self.judged, seed), self.conditions
        courses: dict[str, Course] = {}
        for name, method, choice in self.entries:
            courses[name] = follow(method, choice, split, rules, whole=name in whole, both=name in both)
            progress(len(courses) / (len(self.entries) + 2), name)
        shipped, count = auto(split, rules)
        rows = [*(one.numbers for one in courses.values()), neighbours(self.k, split, rules), shipped]
        return {name: [row[name] for row in rows] for name in NUMBERS} | {"auto_count": count}, courses


def columns(prefix: str = "") -> dict[str, str | Quantity]:
    """What `Benchmark.measure` returns, for COLUMNS."""
    numbers = {f"{prefix}{name}": Quantity(text, (f"{prefix}method",)) for name, text in NUMBERS.items()}
    return {**numbers, f"{prefix}auto_count": "sub-classes that auto chose"}


def numbers_of(
    network: Network,
    clean: float,
    seconds: float,
    split: BenchmarkSplit,
    rules: Conditions,
    readouts: Sequence[Readout],
) -> Numbers:
    """The numbers of one classifier: clean accuracy, and brackets of the robust one under the first of its read-outs.

    The maximum over many outputs is searched exactly, which is slow, at fewer of the same test points.
    """
    few, fewer = slice(0, rules.points), slice(0, rules.maximum_points)
    x, y = split.judge.x, split.judge.y
    found = {
        readout: verdict(network, x[part], y[part], rules.radius, readout)
        for readout, part in ((SUMMED, few), (MAXIMUM, fewer))
        if readout in readouts
    }
    own, top = found[readouts[0]], found.get(MAXIMUM, (np.nan, np.nan))
    return dict(zip(NUMBERS, (clean, *own, *top, seconds), strict=True))


def verdict(network: Network, x: Array, y: Ints, radius: float, readout: Readout) -> tuple[float, float]:
    """The share of points of which it is proved that no perturbation up to the radius fools them, then not refuted."""
    found = robust_accuracy(robust_at(network, x, y, radius, readout=readout, budget=BUDGET, proofs=False), radius)
    return float(found.lower[0]), float(found.upper[0])


def auto(split: BenchmarkSplit, rules: Conditions) -> tuple[Numbers, int]:
    """`SubclassClassifier` as shipped, its own tuning included in its seconds, and the sub-classes it chose."""
    began = time.process_time()
    model = SubclassClassifier(random_state=split.seed).fit(split.train.x, split.train.y)
    seconds = time.process_time() - began
    clean = float(model.score(split.judge.x, split.judge.y))
    return numbers_of(model.network_, clean, seconds, split, rules, (SUMMED,)), model.choice_.count


def tuned_neighbours(pilot: BenchmarkSplit, rules: Conditions, floor: float) -> int:
    """k by the rule of all others, with the attack's upper bounds as radii."""
    x, codes = pilot.judge.x, pilot.judged_codes
    few = slice(0, rules.points)
    models = [Neighbours(pilot.train.x, pilot.codes, k) for k in NEIGHBOURS]
    clean = np.array([np.mean(model.predict(x) == codes) for model in models])
    robust = np.array([np.mean(model.attack(x[few], codes[few]) > rules.radius) for model in models])
    worth = np.where(clean >= floor, robust, -1.0) if (clean >= floor).any() else clean
    return NEIGHBOURS[int(worth.argmax())]


def neighbours(k: int, split: BenchmarkSplit, rules: Conditions) -> Numbers:
    """k nearest neighbours under attack: an upper bound, and nothing from below."""
    model = Neighbours(split.train.x, split.codes, k)
    few = slice(0, rules.points)
    clean = float(np.mean(model.predict(split.judge.x) == split.judged_codes))
    upper = float(np.mean(model.attack(split.judge.x[few], split.judged_codes[few]) > rules.radius))
    return dict(zip(NUMBERS, (clean, 0.0, upper, np.nan, np.nan, 0.0), strict=True))


@dataclass(frozen=True)
class Course:
    """One method of one seed: its numbers at the chosen moment, and its course over the moments (mark,)."""

    numbers: Numbers
    clean: Array
    robust: Array  # estimated by Newton walks
    seconds: Array


def follow(
    method: Method, choice: Choice, split: BenchmarkSplit, rules: Conditions, *, whole: bool = False, both: bool = False
) -> Course:
    """Train as chosen; `whole` goes on to the last moment, for the curve over training time, `both` adds a read-out."""
    setting, chosen = choice
    marks = [mark for mark in rules.marks if whole or mark <= chosen]
    run = list(method.moments(split, setting, marks, rules.radius))
    robust = np.array([np.mean(walked(moment, split) > rules.radius) for moment in run])
    course = np.array([accuracy(moment, split) for moment in run]), robust, np.array([one.seconds for one in run])
    moment = next(one for one in run if one.step == chosen)
    network = moment.state.network(split.frame, 2 * moment.class_of - 1)
    readouts: tuple[Readout, ...] = (method.readout, MAXIMUM) if both else (method.readout,)
    return Course(numbers_of(network, accuracy(moment, split), moment.seconds, split, rules, readouts), *course)


def front(trials: Trials, radius: float, accuracies: Array) -> Array:
    """The best robust accuracy among trials of at least each accuracy: (accuracy,), NaN where there is none."""
    clean, robust = trials.clean.ravel(), trials.robust(radius).ravel()
    best = [robust[clean >= least].max(initial=-1.0) for least in accuracies]
    return np.array([value if value >= 0 else np.nan for value in best])
