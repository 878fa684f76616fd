"""Adversarial training on the coarse labels, as a baseline: a network that sees every batch at its worst in a ball.

Nobody tells a user the radius of that ball, so it is chosen as a user would: shares of the median half distance from a
point to the nearest one of another class, a number of steps for each, and of all of them the largest held-out radius at
an accuracy within one point of the best.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import split
from featavg.model import Network
from featavg.refine.fit import descend
from featavg.refine.frame import Frame, State, at_random
from featavg.refine.select import grouped, newton_distances
from featavg.training import WorstInBall

SHARES = (0.25, 0.5)  # of the median half distance to another class
MARKS = (100, 400)  # steps
RATE = 10.0  # of the stable step, at which such networks were most accurate
ATTACK_STEPS = 7  # Madry et al. 2018
KEEP = 0.01  # of held-out accuracy
MOST = 1000  # points whose nearest one of another class is looked for


def adversarial_network(x: Array, codes: Ints, width: int, seed: int) -> Network:
    """`width` neurons per class from a small random start, adversarially trained at the best radius and step.

    >>> x = np.concatenate([np.random.default_rng(0).normal(c, 1.0, size=(60, 2)) for c in (-3.0, 3.0)])
    >>> network = adversarial_network(x, np.repeat([0, 1], 60), width=4, seed=0)
    >>> float(np.mean(network.predict(x) == np.repeat([0, 1], 60)))
    1.0
    """
    learn, judge = split(codes, (0.8, 0.2), seed)
    weights = np.ones(len(learn))
    frame = Frame.of(x[learn], weights)
    inside, held = (frame.inside(x[rows], len(learn)) for rows in (learn, judge))
    classes = int(codes.max()) + 1
    start, decision = at_random(classes, width, x.shape[1], seed), grouped(np.arange(classes))
    reach = _reach(inside, codes[learn])
    found: list[tuple[float, float, State]] = []

    def judged(_: int, state: State) -> None:
        right = decision.margins(state.outputs(held), codes[judge]) > 0
        found.append((float(right.mean()), float(newton_distances(state, decision, held, codes[judge]).mean()), state))

    for share in SHARES:
        attack = WorstInBall(share * reach, steps=ATTACK_STEPS, still=1)
        descend(start, inside, codes[learn], weights, RATE * frame.rate, MARKS, seed, judged, perturb=attack)
    best = max(accuracy for accuracy, _, _ in found)
    able = (one for one in found if one[0] >= best - KEEP)
    return max(able, key=lambda one: one[1])[2].network(frame)


def _reach(x: Array, codes: Ints) -> float:
    """The median over points of half the distance to the nearest one of another class."""
    some, theirs = x[:MOST].astype(np.float64), codes[:MOST]
    squares = (some**2).sum(axis=1)
    apart = squares[:, None] + squares - 2 * some @ some.T
    apart[theirs[:, None] == theirs] = np.inf
    nearest = np.sqrt(np.maximum(apart.min(axis=1), 0.0))
    known = nearest[np.isfinite(nearest) & (nearest > 0)]
    return float(np.median(known)) / 2 if len(known) else 0.1
