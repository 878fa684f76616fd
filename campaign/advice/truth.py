"""What is true of a case: refined on several times as many points, judged at other ones, none of them ever advised on.

Finer labels truly help if the best refinement on fresh points that keeps the accuracy of the classifier has a median
radius above its, and above that of the best such training on coarse labels. Tried are the planted groups and groups
found anew, for two numbers of steps. Radii are those of an attack, upper bounds within 1 % of the exact ones on such
networks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from campaign.advice.tasks import Draw
from featavg.refine import Decision, SubclassClassifier, read_decision

KEEP = 0.01  # of accuracy, what `diagnose` allows by default
SLACK = 0.01  # of accuracy: a standard error at the points of the truth
MEASURED = 400  # radii of each classifier
RATE, STEPS, COARSE_STEPS = 3.0, (50, 400), (10, 50, 400)
FOUND = (3, 5, 10)  # sub-classes per class, where the planted ones may not be the best
WORTH = 1.05  # what `diagnose` calls a gain
BLUR = 1.05  # factors so near to WORTH are neither
CHANCE = (0.03, 0.10)  # mean recall less above 1/classes is chance; more than the second is not


class Truth(NamedTuple):
    """Facts about a case that no advice has seen."""

    recall: float  # mean over classes, of the classifier, minus 1/classes
    gain: float  # the largest factor over classifier and coarse labels of a refinement that keeps accuracy; 0: none


def truth_of(model: Any, learn: Draw, judge: Draw, structured: bool) -> Truth:
    """Refine on `learn` and judge at `judge`, both fresh."""
    decision = read_decision(model, judge.x, judge.y)
    right = decision.right()
    classes = np.unique(judge.y)
    recall = float(np.mean([right[judge.y == c].mean() for c in classes]) - 1 / len(classes))
    if not structured or recall < CHANCE[0]:
        return Truth(recall, 0.0)
    trained = _finer(learn, judge), [_trained(1, None, steps, learn, judge) for steps in COARSE_STEPS]
    able = ([one for one in side if one.right().mean() - right.mean() >= -KEEP - SLACK] for side in trained)
    finer, coarse = ([_median(one) for one in side] for side in able)
    return Truth(recall, max(finer, default=0.0) / max(_median(decision), *coarse, 1e-300))


def _finer(learn: Draw, judge: Draw) -> list[Decision]:
    """Trained on the planted groups, one of each class that has them, and on found ones."""
    _, planted = np.unique(np.stack([learn.y, learn.group], axis=1), axis=0, return_inverse=True)
    tried = [(1, planted.ravel()), *((count, None) for count in FOUND)]
    return [_trained(count, given, steps, learn, judge) for count, given in tried for steps in STEPS]


def _trained(count: int, given: Any, steps: int, learn: Draw, judge: Draw) -> Decision:
    model = SubclassClassifier(count, learning_rate=RATE, steps=steps, random_state=0)
    return read_decision(model.fit(learn.x, learn.y, sublabels=given), judge.x, judge.y)


def _median(decision: Decision) -> float:
    return float(np.median(decision.attack(np.arange(min(MEASURED, len(decision.data))))))


def is_right(advice: str, truth: Truth) -> bool | None:
    """Whether advice follows from the truth; None if it is none.

    >>> is_right("will not help", Truth(0.4, 2.0)), is_right("unsure", Truth(0.4, 2.0))
    (False, None)
    """
    if advice in ("unsure", "too few points"):
        return None
    if advice == "at chance":
        return truth.recall < CHANCE[1]
    if truth.recall < CHANCE[0]:
        return False
    if advice == "train on finer labels":
        return truth.gain > WORTH / BLUR
    return truth.gain < WORTH * BLUR
