"""How methods are tuned: all by one rule, on held-out points of a pilot seed that no reference run uses.

The rule: of all settings and moments whose held-out accuracy is at most one point below the best of the coarse
network, the one with the highest held-out robust accuracy at the target radius; if none is accurate enough, the most
accurate one. Robustness is estimated by Newton walks, which are cheap; the verdict on test points is not theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array
from featavg.experiments.refinement.benchmark_split import BenchmarkSplit
from featavg.experiments.refinement.methods import Method, Moment, Setting
from featavg.refine import grouped, newton_distances

SLACK = 0.01  # of accuracy that may be paid for robustness
ROBUST_POINTS = 500


@dataclass(frozen=True)
class Trials:
    """Held-out accuracy and Newton distances of all settings and moments of one method."""

    settings: tuple[Setting, ...]
    marks: tuple[int, ...]  # (mark,)
    clean: Array  # (setting, mark)
    distances: Array  # (setting, mark, point)
    seconds: float  # of all trials together

    def robust(self, radius: float) -> Array:
        """Estimated robust accuracy: (setting, mark)."""
        return (self.distances > radius).mean(axis=2)

    def best(self, radius: float, floor: float) -> tuple[Setting, int]:
        """The setting and the moment that the rule takes; of equal ones the earliest."""
        able = self.clean >= floor - 1e-12
        worth = np.where(able, self.robust(radius), -1.0) if able.any() else self.clean
        setting, mark = np.unravel_index(int(np.argmax(worth)), worth.shape)
        return self.settings[setting], self.marks[mark]

    def most_accurate(self) -> tuple[Setting, int]:
        """The setting and the moment of highest held-out accuracy; of equal ones the earliest."""
        setting, mark = np.unravel_index(int(np.argmax(self.clean)), self.clean.shape)
        return self.settings[setting], self.marks[mark]

    def distances_of(self, choice: tuple[Setting, int]) -> Array:
        """The Newton distances (point,) of one choice."""
        found: Array = self.distances[self.settings.index(choice[0]), self.marks.index(choice[1])]
        return found


def try_all(method: Method, pilot: BenchmarkSplit, marks: Sequence[int], radius: float) -> Trials:
    """Train with every setting and judge at every moment, on the held-out points of the pilot."""
    clean, distances, steps, seconds = [], [], [0], 0.0
    for setting in method.settings:
        run = list(method.moments(pilot, setting, marks, radius))
        steps = [moment.step for moment in run]
        clean.append([accuracy(moment, pilot) for moment in run])
        distances.append([walked(moment, pilot) for moment in run])
        seconds += run[-1].seconds
    return Trials(method.settings, tuple(steps), np.array(clean), np.array(distances), seconds)


def accuracy(moment: Moment, split: BenchmarkSplit) -> float:
    """The share of the points to judge by that summed probabilities put right."""
    outputs = moment.state.outputs(split.judged)
    return float(np.mean(grouped(moment.class_of).margins(outputs, split.judged_codes) > 0))


def walked(moment: Moment, split: BenchmarkSplit) -> Array:
    """Newton distances of the first points to judge by, in the units of the data: (point,)."""
    few, decision = slice(0, ROBUST_POINTS), grouped(moment.class_of)
    return newton_distances(moment.state, decision, split.judged[few], split.judged_codes[few]) * split.frame.size


def quantile_radius(distances: Array, share: float) -> float:
    """The radius that a share of the points survives, to two digits."""
    return float(f"{np.quantile(distances, 1.0 - share):.2g}")
