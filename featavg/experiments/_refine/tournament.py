"""All contenders on one data set: tuned on the pilot seed, then measured on the test points of every seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array
from featavg.experiments._refine.arena import Arena
from featavg.experiments._refine.contenders import Rival, Setting
from featavg.experiments._refine.neighbours import Neighbours
from featavg.experiments._refine.tuning import Trials, accuracy, try_all, walked
from featavg.experiments._refine.verdict import Verdict, verdict
from featavg.model import Network
from featavg.refine import SubclassClassifier
from featavg.robustness import Readout

NEIGHBOURS = (1, 3, 5, 9)
SUMMED: Readout = "summed-probabilities"
MAXIMUM: Readout = "maximum"
NUMBERS = ("clean", "lower", "upper", "maximum_lower", "maximum_upper", "seconds")
Numbers = dict[str, float]  # one of each of NUMBERS; NaN where it was not measured
Choice = tuple[Setting, int]
Entry = tuple[str, Rival, Choice]
Told = Callable[[float, str], None]  # the share that is done, and whose turn it was


@dataclass(frozen=True)
class Rules:
    """What a tournament is held at."""

    radius: float
    marks: tuple[int, ...]
    points: int  # test points of the verdict on summed probabilities
    maximum_points: int  # test points of the exact verdict on the maximum read-out


def judged(
    network: Network, clean: float, seconds: float, arena: Arena, rules: Rules, readouts: Sequence[Readout]
) -> Numbers:
    """The numbers of one classifier: clean accuracy, and brackets of the robust one under the first of its read-outs.

    The maximum over many outputs is searched exactly, which is slow, at fewer of the same test points.
    """
    few, fewer = slice(0, rules.points), slice(0, rules.maximum_points)
    x, y = arena.judge.x, arena.judge.y
    found = {
        readout: verdict(network, x[part], y[part], rules.radius, readout)
        for readout, part in ((SUMMED, few), (MAXIMUM, fewer))
        if readout in readouts
    }
    own, top = found[readouts[0]], found.get(MAXIMUM, Verdict(np.nan, np.nan))
    return dict(zip(NUMBERS, (clean, own.lower, own.upper, top.lower, top.upper, seconds), strict=True))


def auto(arena: Arena, rules: Rules) -> tuple[Numbers, int]:
    """`SubclassClassifier` as shipped, its own tuning included in its seconds, and the sub-classes it chose."""
    began = time.process_time()
    model = SubclassClassifier(random_state=arena.seed).fit(arena.train.x, arena.train.y)
    seconds = time.process_time() - began
    clean = float(model.score(arena.judge.x, arena.judge.y))
    return judged(model.network_, clean, seconds, arena, rules, (SUMMED,)), model.choice_.count


def tuned_neighbours(pilot: Arena, rules: Rules, floor: float) -> int:
    """k by the rule of all others, with the attack's upper bounds as radii."""
    x, codes = pilot.judge.x, pilot.judged_codes
    few = slice(0, rules.points)
    models = [Neighbours(pilot.train.x, pilot.codes, k) for k in NEIGHBOURS]
    clean = np.array([np.mean(model.predict(x) == codes) for model in models])
    robust = np.array([np.mean(model.attack(x[few], codes[few]) > rules.radius) for model in models])
    worth = np.where(clean >= floor, robust, -1.0) if (clean >= floor).any() else clean
    return NEIGHBOURS[int(worth.argmax())]


def neighbours(k: int, arena: Arena, rules: Rules) -> Numbers:
    """k nearest neighbours under attack: an upper bound, and nothing from below."""
    model = Neighbours(arena.train.x, arena.codes, k)
    few = slice(0, rules.points)
    clean = float(np.mean(model.predict(arena.judge.x) == arena.judged_codes))
    upper = float(np.mean(model.attack(arena.judge.x[few], arena.judged_codes[few]) > rules.radius))
    return dict(zip(NUMBERS, (clean, 0.0, upper, np.nan, np.nan, 0.0), strict=True))


def tune(rivals: Sequence[Rival], pilot: Arena, rules: Rules) -> dict[str, Trials]:
    """Try everything that every contender may choose, on the held-out points of the pilot."""
    return {rival.name: try_all(rival, pilot, rules.marks, rules.radius) for rival in rivals}


@dataclass(frozen=True)
class Course:
    """One contender of one seed: its numbers at the chosen moment, and its course over the moments (mark,)."""

    numbers: Numbers
    clean: Array
    robust: Array  # estimated by Newton walks
    seconds: Array


def followed(
    rival: Rival, choice: Choice, arena: Arena, rules: Rules, *, whole: bool = False, both: bool = False
) -> Course:
    """Train as chosen; `whole` goes on to the last moment, for the curve over training time, `both` adds a read-out."""
    setting, chosen = choice
    marks = [mark for mark in rules.marks if whole or mark <= chosen]
    run = list(rival.moments(arena, setting, marks, rules.radius))
    robust = np.array([np.mean(walked(moment, arena) > rules.radius) for moment in run])
    course = np.array([accuracy(moment, arena) for moment in run]), robust, np.array([one.seconds for one in run])
    moment = next(one for one in run if one.step == chosen)
    network = moment.state.network(arena.frame, 2 * moment.class_of - 1)
    readouts: tuple[Readout, ...] = (rival.readout, MAXIMUM) if both else (rival.readout,)
    return Course(judged(network, accuracy(moment, arena), moment.seconds, arena, rules, readouts), *course)


@dataclass(frozen=True)
class Round:
    """One seed: the course of every entry, all numbers with k-NN and `auto` last, and the sub-classes auto chose."""

    courses: dict[str, Course]
    numbers: list[Numbers]
    auto_count: int


def played(
    entries: Sequence[Entry], k: int, arena: Arena, rules: Rules, told: Told, whole: Sequence[str] = (),
    both: Sequence[str] = (),
) -> Round:  # fmt: skip
    """Train every entry as chosen; those in `whole` to the last moment, those in `both` under two read-outs."""
    courses: dict[str, Course] = {}
    for name, rival, choice in entries:
        courses[name] = followed(rival, choice, arena, rules, whole=name in whole, both=name in both)
        told(len(courses) / (len(entries) + 2), name)
    nearest, (shipped, count) = neighbours(k, arena, rules), auto(arena, rules)
    told(1.0, "auto")
    return Round(courses, [*(one.numbers for one in courses.values()), nearest, shipped], count)


def names_of(entries: Sequence[Entry], k: int) -> list[str]:
    """The names of a round's numbers."""
    return [*(name for name, _, _ in entries), f"{k}-NN, attack only", "auto"]


def front(trials: Trials, radius: float, accuracies: Array) -> Array:
    """The best robust accuracy among trials of at least each accuracy: (accuracy,), NaN where there is none."""
    clean, robust = trials.clean.ravel(), trials.robust(radius).ravel()
    best = [robust[clean >= least].max(initial=-1.0) for least in accuracies]
    return np.array([value if value >= 0 else np.nan for value in best])


def table(found: Sequence[Sequence[Numbers]]) -> dict[str, Array]:
    """Arrays (contender, seed) of each number, from one list a seed of one entry a contender."""
    return {name: np.array([[one[name] for one in seed] for seed in found]).T for name in NUMBERS}
