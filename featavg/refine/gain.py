"""What finer labels would bring a model: the decision trained again on coarse and on finer labels, three times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.data import Dataset, split
from featavg.progress import Progress, part, silent
from featavg.refine.classifier import SubclassClassifier
from featavg.refine.comparison import Comparison
from featavg.refine.decision import Decision, measure, two_layer_decision
from featavg.refine.select import WORTH, Selection

GAINED = 300  # held-out points of all splits at which three classifiers are attacked
SPLITS = 3
ENOUGH = 32  # points of the smallest class: five sub-classes of it can be tried, five points each, a fifth held out

Learned = tuple[Dataset, Any]  # points that a model was trained on, and their sub-labels or None


@dataclass(frozen=True)
class Gain:
    """The decision trained again on finer labels, against the model and against the same training on coarse ones.

    Both count: a stronger recipe alone is no gain from labels, and labels alone none for this model.
    """

    over_model: Comparison
    over_coarse: Comparison
    trained_on: int  # points of each training
    rarest: int  # points among them of the smallest class
    train_given: bool  # whether these were the user's training points, not some of those that are judged

    @property
    def raised(self) -> bool:
        """Whether the radius is surely more than 5 % above that of both.

        Coarse labels that pay accuracy for their radius need not be surpassed in it.
        """
        model, coarse = self.over_model.factor, self.over_coarse.factor
        if model is None or coarse is None or not model[1][0] > WORTH:
            return False
        return coarse[1][0] > WORTH or (self.over_coarse.gains_accuracy and coarse[0] >= 1.0)

    @property
    def refuted(self) -> bool:
        """Whether the radius is surely not more than 5 % above that of coarse labels, or that of the model.

        Coarse labels that pay accuracy for their radius refute nothing, nor does the model if it may have learned from
        more points. A class of a few points limits how many sub-classes can be tried: there nothing is refuted.
        """
        fair = [] if self.over_coarse.gains_accuracy else [self.over_coarse]
        against = fair + ([self.over_model] if self.train_given else [])
        small = any(one.factor is not None and one.factor[1][1] < WORTH for one in against)
        return small and self.rarest >= ENOUGH


def measure_gain(
    decision: Decision, sublabels: ArrayLike | None, learned: Learned | None, keep_accuracy: float, seed: int,
    tell: Progress = silent,
) -> Gain:  # fmt: skip
    """Train again on coarse and on finer labels, three times, each time judged at another third of the points.

    The number of sub-classes, the rate and the steps are chosen once, at the first time.
    """
    data = decision.data
    sides: tuple[list[Decision], ...] = ([], [], [])
    given = None if sublabels is None else np.asarray(sublabels, dtype=object)
    models = [SubclassClassifier(1, random_state=seed), SubclassClassifier(random_state=seed)]
    most = np.ones(len(data.labels.names), dtype=np.int64)
    for turn, judge in enumerate(split(decision.codes, (1,) * SPLITS, seed)):
        rest = np.setdiff1d(np.arange(len(data)), judge)
        points, told = (data.take(rest), None if given is None else given[rest]) if learned is None else learned
        judged = data.take(judge)
        sides[0].append(decision.take(judge))
        for side, (model, kind) in enumerate(zip(models, ("coarse", "finer"), strict=True)):
            done = (2 * turn + side) / (2 * SPLITS)
            trying = part(tell, done, done + 1 / (2 * SPLITS), f"{kind} labels, split {turn + 1} of {SPLITS}")
            model.fit(points.x, points.y, sublabels=told if side else None, verbose=trying)
            sides[side + 1].append(
                two_layer_decision(model.network_, judged.x, judged.y, data.labels.names, model.class_of_)
            )
        most = np.maximum(most, np.bincount(models[1].class_of_))
        models = [_as_chosen(model.choice_, seed + turn + 1) for model in models]
    before, coarse, finer = (measure(side, GAINED) for side in sides)
    per_class = tuple(most.tolist())
    how = f"an attack on the decision that predict makes, in {decision.space}"
    names = (decision.kind, "coarse labels", "finer labels")
    over_model, over_coarse = (
        Comparison((name, names[2]), how, per_class, side, finer, keep_accuracy, seed=seed)
        for name, side in zip(names[:2], (before, coarse), strict=True)
    )
    rarest = int(np.bincount(points.labels.codes).min())
    return Gain(over_model, over_coarse, len(points), rarest, learned is not None)


def _as_chosen(choice: Selection, seed: int) -> SubclassClassifier:
    return SubclassClassifier(choice.count, learning_rate=choice.rate, steps=choice.steps, random_state=seed)
