"""One case: a user's points and classifier, the advice, and whether it was right."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from campaign.advice.kinds import KINDS
from campaign.advice.tasks import Draw
from campaign.advice.truth import is_right, truth_of
from featavg.refine import diagnose

TRAIN, TEST, LEARN, JUDGE = 200, 300, 600, 600  # points: the user's two parts, and those of the truth
LARGER = {"imbalance": 4.0, "digits": 1.15, "image tasks": 1.5}  # times as many: a class is small, or groups are ten
UNTOLD = 5  # every so manieth case does not tell `diagnose` what the classifier learned from


def judged(kind: str, seed: int) -> dict[str, Any]:
    """The advice for case number `seed` of a kind, and the truth."""
    began = time.process_time()
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    case = KINDS[kind](rng)
    more = LARGER.get(kind, 1)
    sizes = [int(more * TRAIN), int(more * TEST), LEARN, JUDGE]
    everything = case.task(sum(sizes), rng)
    parts = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    train, test, learn, judge = (Draw(*(column[rows] for column in everything)) for rows in parts)
    model = case.fit(train, rng)
    if case.columns is not None:
        test, learn, judge = (part._replace(x=part.x[:, case.columns]) for part in (test, learn, judge))
    told = seed % UNTOLD != 0 and case.columns is None
    found = diagnose(model, test.x, test.y, train=(train.x, train.y) if told else None, seed=seed)
    spent = time.process_time() - began
    truth = truth_of(model, learn, judge, case.structured)
    right = is_right(found.advice, truth)
    return {
        "advice": found.advice, "right": -1 if right is None else int(right), "train_told": told,
        "accuracy": found.accuracy, **truth._asdict(), "verdict": found.verdict,
        "seconds": spent, "truth_seconds": time.process_time() - began - spent,
    }  # fmt: skip


judged.version = 1  # type: ignore[attr-defined]  # to be raised when the advice changes: kept cases are then run anew
