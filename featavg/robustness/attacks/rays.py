"""Where a decision first falls along a ray: exact, because votes are piecewise linear in the time t.

Between two times at which a neuron switches, every vote is a line. There the search takes the longest step that
surely skips no fooled point, again and again: until a rival meets the line of the own leader (maximum), or until a
line above the rivals meets one below the own side (logsumexp). The first needs as many steps as there are own
parties; the second converges to the first fooled time from below.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.attacks.contest import Contest, soft_maximum

SOFT_STEPS = 200
# A lead below this share of the votes seen so far is a tie: their sums round at 1e-16, and a network that dies out
# leaves such a rest instead of 0.
TIE_SHARE = 1e-12
# Numbers held at once, so that wide networks are searched in blocks of samples.
BLOCK = 2_000_000


def first_fooled(contest: Contest, start: Array, speed: Array) -> Array:
    """The first time t >= 0 at which the decision with pre-activations start + t·speed falls: (sample,), inf if never.

    start and speed are (sample, neuron).

    >>> own = np.array([[True, False]])
    >>> one = Contest(np.array([[1.0], [0.0]]), np.array([-1.0, 0.0]), own, ~own, soft=False)
    >>> first_fooled(one, np.array([[3.0]]), np.array([[-0.5]]))
    array([4.])
    """
    samples, neurons = start.shape
    rows = max(1, BLOCK // ((neurons + 1) * len(contest.shares)))
    blocks = [np.arange(at, min(at + rows, samples)) for at in range(0, samples, rows)]
    return np.concatenate([np.zeros(0), *(_first(contest.take(i), start[i], speed[i]) for i in blocks)])


def _first(contest: Contest, start: Array, speed: Array) -> Array:
    times, levels, slopes = _segments(contest, start, speed)
    lengths = np.diff(times, axis=1, append=np.inf)
    ties = TIE_SHARE * np.maximum.accumulate(np.abs(levels).max(axis=2), axis=1)
    search = _soft if contest.soft else _hard
    passed = search(levels, slopes, lengths, ties, contest.own[:, None], contest.other[:, None])
    fallen = np.where(passed <= lengths, times + passed, np.inf)
    return fallen.min(axis=1)


def _segments(contest: Contest, start: Array, speed: Array) -> tuple[Array, Array, Array]:
    """Start times (sample, segment), votes there and their slopes (sample, segment, party)."""
    turns = start * speed < 0
    turn = np.where(turns, -start / np.where(turns, speed, 1.0), np.inf)
    order: Ints = np.argsort(turn, axis=1)
    sorted_turn = np.take_along_axis(turn, order, axis=1)
    last = np.where(turns, turn, 0.0).max(axis=1, initial=0.0)
    times = np.column_stack([np.zeros(len(start)), np.minimum(sorted_turn, last[:, None])])
    # A neuron that switches on adds its speed, one that switches off takes away a negative one: |speed| both times.
    change = np.take_along_axis(np.abs(speed) * turns, order, axis=1)
    active = (start > 0) | ((start == 0) & (speed > 0))
    first = (active * speed) @ contest.shares.T
    slopes = np.concatenate([first[:, None], change[:, :, None] * contest.shares.T[order]], axis=1).cumsum(axis=1)
    votes = contest.votes(np.maximum(start, 0.0))
    gains = slopes[:, :-1] * np.diff(times, axis=1)[:, :, None]
    levels = np.concatenate([votes[:, None], gains], axis=1).cumsum(axis=1)
    return times, levels, slopes


def _hard(levels: Array, slopes: Array, lengths: Array, ties: Array, own: Bools, other: Bools) -> Array:
    """Time (sample, segment) into each segment at which some rival first meets the greatest own vote."""
    passed = np.zeros(lengths.shape)
    for _ in range(int(own.sum(axis=-1).max(initial=1))):
        now = levels + slopes * _within(passed, lengths)
        leader = np.where(own, now, -np.inf).argmax(axis=-1)[..., None]
        lead = np.take_along_axis(now, leader, axis=-1) - now
        closing = slopes - np.take_along_axis(slopes, leader, axis=-1)
        wait = np.where(closing > 0, lead / np.where(closing > 0, closing, 1.0), np.inf)
        wait = np.where(lead <= ties[..., None], 0.0, wait)
        passed = passed + np.where(other, wait, np.inf).min(axis=-1)
    return passed


def _soft(levels: Array, slopes: Array, lengths: Array, ties: Array, own: Bools, other: Bools) -> Array:
    """Time (sample, segment) into each segment at which logsumexp of the rivals first meets that of the own votes."""
    passed = np.zeros(lengths.size)
    ends, near = lengths.ravel(), ties.ravel()
    sides = [np.broadcast_to(side, levels.shape).reshape(len(ends), -1) for side in (own, other)]
    # A party that is not on a side has vote −∞ there.
    mine, theirs = (np.where(side, levels.reshape(side.shape), -np.inf) for side in sides)
    speeds = slopes.reshape(sides[0].shape)
    fastest = np.where(sides[1], speeds, -np.inf).max(axis=1)
    rows = np.arange(len(ends))
    for _ in range(SOFT_STEPS):
        step = _safe_step(mine[rows], theirs[rows], speeds[rows], fastest[rows], passed[rows], near[rows])
        passed[rows] += step
        rows = rows[(step > 0) & (passed[rows] <= ends[rows]) & np.isfinite(step)]
        if not len(rows):
            break
    return passed.reshape(lengths.shape)


def _safe_step(mine: Array, theirs: Array, speeds: Array, fastest: Array, passed: Array, near: Array) -> Array:
    """How far (row,) the margin surely stays positive, 0 where it is a tie.

    logsumexp is convex: the own side lies above its tangent, and over the next h the others lie below their chord; h
    is twice Newton's step, so that the steps become his near the end. Beyond any h the others grow as their fastest.
    """
    mine, theirs = mine + speeds * passed[:, None], theirs + speeds * passed[:, None]
    (own, own_rate), (other, other_rate) = _pooled(mine, speeds), _pooled(theirs, speeds)
    margin = own - other
    surely = _quotient(margin, fastest - own_rate)
    window = 2 * _quotient(margin, other_rate - own_rate)
    window = np.where(np.isfinite(window), window, np.where(np.isfinite(surely), 4 * surely, 0.0))
    chord = _pooled(theirs + speeds * window[:, None], speeds)[0] - other
    rate = np.divide(chord, window, out=fastest.copy(), where=window > 0)
    step = np.maximum(surely, np.minimum(window, _quotient(margin, rate - own_rate)))
    return np.where(margin <= near, 0.0, step)


def _pooled(votes: Array, speeds: Array) -> tuple[Array, Array]:
    """Logsumexp of the votes (row, party) and how fast it grows: (row,) both."""
    level, shares = soft_maximum(votes)
    return level, (shares * speeds).sum(axis=1)


def _quotient(margin: Array, rate: Array) -> Array:
    """margin/rate, inf where the rate does not close the margin."""
    return np.divide(margin, rate, out=np.full(margin.shape, np.inf), where=rate > 0)


def _within(passed: Array, lengths: Array) -> Array:
    """The time passed (sample, segment, 1), or 0 where the segment is already left."""
    return np.where((passed <= lengths) & np.isfinite(passed), passed, 0.0)[..., None]
