"""Witnesses are never trusted: the network itself says whether it is fooled, and by a point of how many digits."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Bools
from featavg.robustness.geometry import Euclidean
from featavg.robustness.question import TIE, Question, part

# A boundary point that rounding leaves on the wrong side is moved by one of these shares of its size.
PUSHES = (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7)
# The tolerance of a tie, less what the order of a sum can change.
SURE = TIE * (1.0 - 1e-6)
# A pre-activation below this share of its terms may be 0.
AT_KINK = 1e-11


def confirmed(question: Question, delta: Array, known: Bools) -> tuple[Array, Array]:
    """Points x + δ that the network confirms to be fooled, and their distances; NaN and ∞ where it does not."""
    witness = _inside(question, question.x + delta)
    doubtful = _unconfirmed(question, witness, known)
    for push in PUSHES:
        for move in (_outward, _deadward, _snapped):
            if not doubtful.any():
                break
            witness[doubtful] = _inside(question, move(part(question, doubtful), delta[doubtful], push))
            doubtful = _unconfirmed(question, witness, doubtful)
    shown = known & ~doubtful
    if shown.all():
        return witness, question.distances(witness)
    witness[~shown] = np.nan
    return witness, np.where(shown, question.distances(witness), np.inf)


def _inside(question: Question, points: Array) -> Array:
    return points if question.box is None else np.clip(points, *question.box)


def _unconfirmed(question: Question, witness: Array, among: Bools) -> Bools:
    if among.all():
        return ~question.fooled(witness, SURE)
    left = among.copy()
    left[among] = ~part(question, among).fooled(witness[among], SURE)
    return left


def _outward(question: Question, delta: Array, push: float) -> Array:
    """Beyond the boundary: (1 + push) δ."""
    return question.x + (1.0 + push) * delta


def _snapped(question: Question, delta: Array, push: float) -> Array:
    """With coordinates that rounding alone keeps from 0 set to 0: a fooled set may be that one point."""
    moved = question.x + delta
    return np.where(np.abs(moved) <= push * np.abs(question.x).max(axis=1, keepdims=True), 0.0, moved)


def _deadward(question: Question, delta: Array, push: float) -> Array:
    """Into the dead zone, where all outputs tie: the nearest point at which neurons at their kink are off."""
    network = question.network
    moved = question.x + delta
    norms = np.linalg.norm(network.weights, axis=1)
    for point, z in zip(moved, network.preactivations(moved), strict=True):
        size = norms * np.linalg.norm(point) + np.abs(network.biases)
        kinks = (np.abs(z) <= AT_KINK * size) & (norms > 0)
        if kinks.any():
            span = Euclidean.spanned_by(network.weights[kinks])
            step, _ = span.nearest(span.weights, z[kinks] + push * size[kinks])
            point += 0.0 if step is None else span.lift(step)
    return moved
