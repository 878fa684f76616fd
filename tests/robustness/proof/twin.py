"""The inference rules once more, in rationals: what the checker proves must not exceed this, nor fall far below it.

Roots, exponentials and logarithms are taken to eighty digits. Free numbers (t, τ) are chosen in floats, as anywhere.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from featavg.robustness.proof.format import Problem, Proofs
from featavg.robustness.proof.regions import rivals, rows
from tests.robustness.proof.twin_pools import Middle, Q, decimal, excess, least_exponential, recentered, root

ENDLESS = Fraction(10) ** 300


def dual_norm(problem: Problem, v: Q) -> Fraction:
    return root(sum(a * a for a in v)) if problem.norm == "l2" else sum(map(abs, v), start=Fraction(0))


def least_value(slope: Fraction, theta: Fraction, q: Fraction, m: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """The least of a ReLU(z) − θz + q(z − m)² over an interval: at its ends, at 0, or where a parabola is lowest."""
    places = [low, high, Fraction(0)]
    if q:
        places += [min(m + theta / (2 * q), Fraction(0)), max(m + (theta - slope) / (2 * q), Fraction(0))]
    return min(slope * max(z, 0) - theta * z + q * (z - m) ** 2 for z in places if low <= z <= high)


def rationals(array: np.ndarray) -> list[Q]:
    return [[Fraction(value) for value in row] for row in np.atleast_2d(array).tolist()]


class Twin:
    def __init__(self, problem: Problem, point: int, rival: int) -> None:
        self.problem = problem
        self.w = rationals(problem.neurons.weights)
        self.x = rationals(problem.x[point])[0]
        self.z0 = [
            Fraction(b) + sum(a * c for a, c in zip(w, self.x, strict=True))
            for w, b in zip(self.w, problem.neurons.biases.tolist(), strict=True)
        ]
        outputs = len(problem.neurons.constants)
        self.signs = rows(problem.decision, int(problem.labels[point]), rival, outputs).tolist()
        self.second = rationals(problem.neurons.outputs)
        self.constants = rationals(problem.neurons.constants)[0]
        self.boxed = problem.low is not None or problem.norm == "linf"
        self.low, self.high = self.seen(problem.low), self.seen(problem.high)

    def seen(self, side: np.ndarray | None) -> list[Fraction | None]:
        """A side of the box from the point, None where it is infinite."""
        values = [np.inf] * len(self.x) if side is None else side.tolist()
        return [Fraction(v) - x if np.isfinite(v) else None for v, x in zip(values, self.x, strict=True)]

    def outputs(self, factors: Q) -> tuple[Q, Fraction]:
        a = [sum(f * row[j] for f, row in zip(factors, self.second, strict=True)) for j in range(len(self.z0))]
        return a, sum(f * c for f, c in zip(factors, self.constants, strict=True))

    def room(self, i: int, sign: int) -> Fraction | None:
        return self.high[i] if sign > 0 else self.low[i]

    def support(self, v: Q, reach: Fraction) -> Fraction:
        if self.problem.norm == "linf":
            total = Fraction(0)
            for i, a in enumerate(v):
                room = self.room(i, 1 if a > 0 else -1)
                total += abs(a) * (reach if room is None else min(reach, abs(room)))
            return total
        if self.problem.low is None:
            return reach * dual_norm(self.problem, v)
        tau, kept, clipped = self.clipping(v, float(reach)), [], Fraction(0)
        for i, a in enumerate(v):
            room = self.room(i, 1 if a > 0 else -1)
            q = Fraction(0)
            if room is not None and (tau is None or abs(room) < tau * abs(a)):
                q = a - (room / tau if tau is not None else 0)
                clipped += q * room
            kept.append(a - q)
        return reach * dual_norm(self.problem, kept) + clipped

    def clipping(self, v: Q, reach: float) -> Fraction | None:
        f = np.array([float(a) for a in v])
        low = np.array([-np.inf if e is None else float(e) for e in self.low])
        high = np.array([np.inf if e is None else float(e) for e in self.high])
        tau = reach / (np.linalg.norm(f) or 1.0)
        for _ in range(8):
            inside = np.clip(tau * f, low, high)
            free = inside == tau * f
            left, square = reach**2 - (inside[~free] ** 2).sum(), (f[free] ** 2).sum()
            if left > 0 and square == 0:
                return None
            tau = max(tau, math.sqrt(left / square)) if left > 0 else tau
        return Fraction(float(tau))

    def function(self, mix: Q, reach: Fraction, low: list, high: list) -> tuple[Q, Fraction]:
        self.powers = {}
        if not mix:
            return [Fraction(0)] * len(self.z0), Fraction(0)
        if self.problem.decision.kind != "probabilities":
            columns = zip(*self.signs, strict=True)
            return self.outputs([sum(m * s for m, s in zip(mix, column, strict=True)) for column in columns])
        signs = self.signs[0]
        last, mix = (mix[-1], mix[:-1]) if len(mix) > len(signs) else (None, mix)
        whole = sum(m for m, s in zip(mix, signs, strict=True) if s > 0)
        p = [m / whole if s > 0 else Fraction(0) for m, s in zip(mix, signs, strict=True)]
        q = [m if s < 0 else Fraction(0) for m, s in zip(mix, signs, strict=True)]
        entropy = -sum(share * decimal(share, "ln") for share in p if share)
        others = [o for o, s in enumerate(signs) if s < 0]
        if last is not None:
            slopes, constant = self.outputs(p)
            for r in others:
                row, level = self.outputs([Fraction(o == r) for o in range(len(signs))])
                (j,) = (j for j, slope in enumerate(row) if slope)
                self.powers[j] = (row[j], level - last)
            return slopes, constant + entropy + 1 - last
        differences = [self.outputs([Fraction(o == r) - share for o, share in enumerate(q)]) for r in others]
        square = reach**2 * (1 if self.problem.norm == "l2" else len(self.x)) - self.middle.lift
        slopes, constant = self.outputs([a - b for a, b in zip(p, q, strict=True)])
        return slopes, constant + entropy - excess(differences, self.middle, square, self.w, low, high)

    def value(self, proofs: Proofs, tree: int) -> Fraction:
        least, path = None, []
        self.curve = proofs.curve[slice(*proofs.curve_start[tree : tree + 2])]
        first, last = proofs.first_node[tree], proofs.first_node[tree + 1]
        for node in range(first, last):
            depth = int(proofs.depth[node])
            if depth == 0:
                low, high = [None] * len(self.z0), [None] * len(self.z0)
                reach, away, proved = None, Fraction(0), Fraction(0)
                self.middle = Middle(self.z0, Fraction(0))
            else:
                low, high, reach, away, proved, self.middle = path[depth - 1]
                low, high, j = list(low), list(high), int(proofs.neuron[node])
                t = Fraction(float(proofs.threshold[node]))
                if proofs.side[node] < 0:
                    high[j] = t if high[j] is None else min(high[j], t)
                else:
                    low[j] = t if low[j] is None else max(low[j], t)
                if low[j] is not None and high[j] is not None and low[j] > high[j]:
                    proved = max(proved, ENDLESS if reach is None else reach)
            for cut in range(proofs.first_cut[node], proofs.first_cut[node + 1]):
                reach, away, empty = self.apply(proofs, cut, low, high, reach, away)
                proved = max(proved, reach if empty else min(reach, away))
            path[depth:] = [(low, high, reach, away, proved, self.middle)]
            if node + 1 == last or proofs.depth[node + 1] <= depth:
                least = proved if least is None else min(least, proved)
        return least

    def apply(self, proofs: Proofs, cut: int, low: list, high: list, reach, away) -> tuple:
        entries = slice(proofs.theta_start[cut], proofs.theta_start[cut + 1])
        theta = [Fraction(0)] * len(self.z0)
        for j, value in zip(proofs.theta_neuron[entries].tolist(), proofs.theta[entries].tolist(), strict=True):
            theta[j] = Fraction(value)
        here = Fraction(float(proofs.reach[cut]))
        reach = here if reach is None else min(reach, here)
        for j, z in enumerate(self.z0):
            most = dual_norm(self.problem, self.w[j]) * reach
            low[j] = z - most if low[j] is None else max(low[j], z - most)
            high[j] = z + most if high[j] is None else min(high[j], z + most)
            if self.boxed and low[j] < 0 < high[j]:
                high[j] = min(high[j], z + self.support(self.w[j], reach))
                low[j] = max(low[j], z - self.support([-a for a in self.w[j]], reach))
        if any(one > other for one, other in zip(low, high, strict=True)):
            return reach, away, True
        mix = [Fraction(v) for v in proofs.mix[proofs.mix_start[cut] : proofs.mix_start[cut + 1]].tolist()]
        a, offset = self.function(mix, reach, low, high)
        bends, cost = self.bends(float(proofs.bend[cut]), reach)
        theta = [t - 2 * q * m for t, q, m in zip(theta, bends, self.middle.z, strict=True)]
        offset += sum(t * z for t, z in zip(theta, self.z0, strict=True)) - cost
        for j, (*line, one, other) in enumerate(zip(a, theta, bends, self.middle.z, low, high, strict=True)):
            if j in self.powers:
                offset += least_exponential(*line, self.powers[j], one, other)
            else:
                offset += least_value(*line, one, other)
        h = [sum(t * w[i] for t, w in zip(theta, self.w, strict=True)) for i in range(len(self.x))]
        self.middle = recentered(self.middle, self.w, self.z0, h, offset)
        kept, in_box = self.taken(h, offset, float(proofs.box_step[cut]))
        length = dual_norm(self.problem, kept)
        if length > 0 or in_box > 0:
            away = max(away, in_box / length if length else ENDLESS)
        if away < reach and any(theta):
            if self.problem.norm == "l2":
                h, offset = kept, in_box
            self.cap(h, offset, float(in_box / length) if length else -math.inf, reach, low, high)
        return reach, away, any(one > other for one, other in zip(low, high, strict=True))

    def bends(self, rho: float, reach: Fraction) -> tuple[Q, Fraction]:
        if not len(self.curve):
            return [Fraction(0)] * len(self.z0), Fraction(0)
        scaled = self.curve[:, None] * self.problem.neurons.weights
        most = Fraction(float(np.linalg.norm(scaled, 2))) ** 2
        square = reach**2 * (1 if self.problem.norm == "l2" else len(self.x)) - self.middle.lift
        return [Fraction(rho) * Fraction(s) ** 2 for s in self.curve.tolist()], Fraction(rho) * most * max(square, 0)

    def taken(self, h: Q, offset: Fraction, step: float) -> tuple[Q, Fraction]:
        kept = list(h)
        if not self.boxed or not 0 < step < math.inf:
            return kept, offset
        t = Fraction(step)
        for i, value in enumerate(h):
            room = self.room(i, -1 if value > 0 else 1)
            if value and room is not None and abs(room) < (t * abs(value) if self.problem.norm == "l2" else t):
                q = value + room / t if self.problem.norm == "l2" else value
                kept[i], offset = value - q, offset + q * room
        return kept, offset

    def cap(self, h: Q, offset: Fraction, ratio: float, reach: Fraction, low: list, high: list) -> None:
        for j, w in enumerate(self.w):
            if low[j] < 0 < high[j] or (high[j] > 0 and self.problem.decision.kind == "probabilities"):
                bounds = []
                for sign in (1, -1):
                    slid = [
                        (t, [sign * a - t * b for a, b in zip(w, h, strict=True)])
                        for t in self.multipliers(w, sign, h, ratio, float(reach))
                    ]
                    bounds.append(min(self.rise(v, reach) - t * offset for t, v in slid))
                high[j], low[j] = min(high[j], self.z0[j] + bounds[0]), max(low[j], self.z0[j] - bounds[1])

    def rise(self, v: Q, reach: Fraction) -> Fraction:
        return self.support(v, reach) if self.problem.norm == "linf" else reach * dual_norm(self.problem, v)

    def multipliers(self, w: Q, sign: int, h: Q, ratio: float, reach: float) -> Q:
        if self.problem.norm == "linf":
            kinks = [sign * a / b for a, b in zip(w, h, strict=True) if b and sign * a / b > 0]
            return [Fraction(0), *kinks, 1000 * (max(kinks, default=Fraction(0)) + 1)]
        length = float(dual_norm(self.problem, h))
        if length == 0 or not -reach < ratio < reach:
            return [Fraction(0)]
        part = sign * float(sum(a * b for a, b in zip(w, h, strict=True))) / length
        along = sum(a * b for a, b in zip(w, h, strict=True))
        # Floats would cancel where w and h are parallel.
        across = math.sqrt(max(Fraction(0), sum(a * a for a in w) - along**2 / sum(b * b for b in h)))
        t = (part + across * ratio / math.sqrt((reach - ratio) * (reach + ratio))) / length
        return [Fraction(max(0.0, t))]


def twin_lower(problem: Problem, proofs: Proofs) -> np.ndarray:
    """The least over the rivals of what their trees prove: (point,)."""
    best = {}
    for tree, (point, rival) in enumerate(zip(proofs.point.tolist(), proofs.rival.tolist(), strict=True)):
        best[point, rival] = float(Twin(problem, point, rival).value(proofs, tree))
    return np.array([
        min(best[i, r] for r in rivals(problem.decision, label, len(problem.neurons.constants)).tolist())
        for i, label in enumerate(problem.labels.tolist())
    ])  # fmt: skip
