"""The rules of the checker once more, cut by cut, in arb balls: every ball encloses the exact number.

Why a rule holds is written beside its twin: regions.py, intervals.py, halfspace.py, caps.py. Where a rule leaves a
number free (t, τ, q), floats choose it: a bad choice only weakens the bound.
"""

from __future__ import annotations

import math

import numpy as np

from featavg.robustness.proof.audit_curves import Curve, cost_of, curve_of, least_curve
from featavg.robustness.proof.audit_exponentials import Powers, least_exponential, powers_of, shares_of
from featavg.robustness.proof.audit_place import Ball, Balls, Place, in_units, least_line, times
from featavg.robustness.proof.audit_pools import Middle, excess, recentered
from featavg.robustness.proof.format import Decision, Proofs


def row_signs(decision: Decision, label: int, rival: int, count: int) -> list[list[int]]:
    """Signs of the outputs in each row, for probabilities 1 for the own group and −1 for the rival's."""
    outputs, group = range(count), decision.class_of.tolist()
    if decision.kind == "sign":
        return [[label]]
    if decision.kind == "argmax":
        return [[(o == label) - (o == rival) for o in outputs]]
    if decision.kind == "maximum":
        return [[(o == own) - (o == rival) for o in outputs] for own in outputs if group[own] == label]
    return [[(group[o] == label) - (group[o] == rival) for o in outputs]]


class AuditedTree:
    """One point, one rival: the rules, cut by cut."""

    def __init__(self, desk: Place, proofs: Proofs, label: int, rival: int) -> None:
        self.desk, self.proofs, self.zero = desk, proofs, desk.flint.arb(0)
        self.pooled = desk.problem.decision.kind == "probabilities"
        self.rows = row_signs(desk.problem.decision, label, rival, len(desk.constants))
        self.middle = Middle(desk.z0, self.zero)
        self.curve: Curve | None = None

    def value(self, tree: int) -> float:
        """The least, over the leaves, of what is proved there; a number that may not be proves 0."""
        proofs, arb = self.proofs, self.desk.flint.arb
        count, least = len(self.desk.z0), math.inf
        self.curve = curve_of(self.desk, proofs, tree)
        first, last = int(proofs.first_node[tree]), int(proofs.first_node[tree + 1])
        path: list[tuple[Balls, Balls, Ball, Ball, Ball, Middle]] = []  # intervals, reach, best distance, proved
        for node in range(first, last):
            depth = int(proofs.depth[node])
            if depth == 0:
                low, high = [arb.neg_inf()] * count, [arb.pos_inf()] * count
                reach, away, proved = arb.pos_inf(), self.zero, self.zero
                self.middle = Middle(self.desk.z0, self.zero)
            else:
                low, high, reach, away, proved, self.middle = path[depth - 1]
                low, high, j = list(low), list(high), int(proofs.neuron[node])
                threshold = arb(float(proofs.threshold[node]))
                if proofs.side[node] < 0:
                    high[j] = high[j].min(threshold)
                else:
                    low[j] = low[j].max(threshold)
                proved = proved.max(reach) if low[j] > high[j] else proved
            for cut in range(int(proofs.first_cut[node]), int(proofs.first_cut[node + 1])):
                if not proved < reach:
                    break
                step = self.apply(cut, low, high, reach, away)
                if step is None:
                    return 0.0
                reach, away, empty = step
                proved = proved.max(reach if empty else reach.min(away))
            path[depth:] = [(low, high, reach, away, proved, self.middle)]
            if node + 1 == last or proofs.depth[node + 1] <= depth:
                least = min(least, _float_below(proved))
        return least

    def apply(self, cut: int, low: Balls, high: Balls, reach: Ball, away: Ball) -> tuple[Ball, Ball, bool] | None:
        """One cut: tightens the intervals in place; the least reach, the best distance, and whether nothing is left."""
        proofs, desk = self.proofs, self.desk
        numbers = (float(proofs.reach[cut]), slice(*proofs.theta_start[cut : cut + 2].tolist()))
        theta = self.theta(proofs.theta_neuron[numbers[1]].tolist(), proofs.theta[numbers[1]].tolist())
        if theta is None or not numbers[0] >= 0:
            return None
        reach = reach.min(desk.ball(numbers[0]))
        if reach.is_finite():
            for j, z0 in enumerate(desk.z0):
                low[j], high[j] = low[j].max(z0 - desk.norms[j] * reach), high[j].min(z0 + desk.norms[j] * reach)
                if (desk.boxed or not desk.euclidean) and desk.may_switch(j, low, high):
                    high[j] = high[j].min(z0 + desk.support(desk.w[j], reach))
                    low[j] = low[j].max(z0 - desk.support([-w for w in desk.w[j]], reach))
        if any(one > other for one, other in zip(low, high, strict=True)):
            return reach, away, True
        mix = proofs.mix[proofs.mix_start[cut] : proofs.mix_start[cut + 1]].tolist()
        g, rho = self.function(mix, reach, low, high), float(proofs.bend[cut])
        if g is None or not 0 <= rho < math.inf:
            return None
        slopes, constant, powers = g
        theta, bends, cost = self.bent(theta, rho, reach)
        offset = constant - cost + sum((t * z for t, z in zip(theta, desk.z0, strict=True)), start=self.zero)
        for j, (a, t, one, other, q, m) in enumerate(zip(slopes, theta, low, high, bends, self.middle.z, strict=True)):
            line = (a, t, one, other)
            if j in powers:
                offset += least_exponential(*line, powers[j], q, m, self.zero)
            else:
                offset += least_line(*line, self.zero) if q.is_zero() else least_curve(*line, q, m, self.zero)
        h = desk.combine(theta)
        kept, in_box = self.boxed(h, offset, float(proofs.box_step[cut]))
        if not offset.is_finite() or not in_box.is_finite():
            return reach, away, False
        length = desk.norm(kept).upper()
        if length.is_zero() and in_box > 0:
            return reach, desk.ball(math.inf), False
        away = away.max(in_box / length) if length > 0 else away
        if self.pooled or self.curve:
            self.middle = recentered(desk, self.middle, theta, offset)
        if reach.is_finite() and away < reach:
            self.cap(h, kept, offset, in_box, length, reach, low, high)
        return reach, away, any(one > other for one, other in zip(low, high, strict=True))

    def bent(self, theta: Balls, rho: float, reach: Ball) -> tuple[Balls, Balls, Ball]:
        """θ around the center of the ball, q, and what the curve costs."""
        if self.curve is None or rho == 0:
            return theta, [self.zero] * len(theta), self.zero
        factor = self.desk.ball(rho)
        bends = [factor * square for square in self.curve.squares]
        moved = [t - 2 * q * m for t, q, m in zip(theta, bends, self.middle.z, strict=True)]
        return moved, bends, cost_of(self.desk, self.curve, factor, self.middle, reach)

    def theta(self, neurons: list[int], values: list[float]) -> Balls | None:
        """θ by neuron, or None if it may not be."""
        theta = [self.zero] * len(self.desk.z0)
        for j, value in zip(neurons, values, strict=True):
            if not 0 <= j < len(theta) or not math.isfinite(value):
                return None
            theta[j] = self.desk.flint.arb(value)
        return theta

    def function(self, mix: list[float], reach: Ball, low: Balls, high: Balls) -> tuple[Balls, Ball, Powers] | None:
        """Slopes, constant and exponentials of G <= 0 (regions.py), or None if `mix` may not be."""
        arb, desk = self.desk.flint.arb, self.desk
        if not mix:
            return [self.zero] * len(low), self.zero, {}
        count = len(self.rows[0]) if self.pooled else len(self.rows)
        if not all(map(math.isfinite, mix)) or len(mix) not in (count, count + int(self.pooled)):
            return None
        if self.pooled:
            return self.pooled_function([arb(value) for value in mix], reach, low, high)
        if min(mix) < 0:
            return None
        factors = [
            sum((arb(m) * s[o] for m, s in zip(mix, self.rows, strict=True)), start=self.zero)
            for o in range(len(desk.constants))
        ]
        return *self.outputs(factors), {}

    def outputs(self, factors: Balls) -> tuple[Balls, Ball]:
        """Σ_o factor_o f_o as slopes and constant."""
        used = [(f, o) for o, f in enumerate(factors) if not f.is_zero()]
        slopes = [
            sum((f * self.desk.outputs[o][j] for f, o in used), start=self.zero) for j in range(len(self.desk.z0))
        ]
        return slopes, sum((f * self.desk.constants[o] for f, o in used), start=self.zero)

    def pooled_function(self, mix: Balls, reach: Ball, low: Balls, high: Balls) -> tuple[Balls, Ball, Powers] | None:
        """G = p·f + H(p) − q·f − Ψ, or with the rival's exponentials."""
        roles = self.rows[0]
        own, others = ([o for o, role in enumerate(roles) if role == side] for side in (1, -1))
        shares = shares_of(mix, own)
        if shares is None:
            return None
        p, entropy = shares
        if len(mix) > len(roles):
            found = powers_of(self.desk, others, mix[-1])
            slopes, constant = self.outputs([p.get(o, self.zero) for o in range(len(roles))])
            return None if found is None else (slopes, constant + entropy + 1 - mix[-1] - found[1], found[0])
        rest = [-mix[o] if o in others else self.zero for o in range(len(mix))]
        rival_slopes, rival_constant = self.outputs(rest)
        differences = [
            ([a + b for a, b in zip(self.desk.outputs[r], rival_slopes, strict=True)],
             self.desk.constants[r] + rival_constant)
            for r in others
        ]  # fmt: skip
        beyond = excess(self.desk, differences, self.middle, reach, low, high)
        slopes, constant = self.outputs([p.get(o, rest[o]) for o in range(len(mix))])
        return slopes, constant + entropy - beyond, {}

    def boxed(self, h: Balls, offset: Ball, step: float) -> tuple[Balls, Ball]:
        """h − q and β + Σ min(q low, q high) for the q of `box_step`; any q is valid, so floats may choose it."""
        desk = self.desk
        if not (desk.boxed or not desk.euclidean) or not 0 < step < math.inf:
            return h, offset
        kept = list(h)
        for i, value in enumerate(h):
            room = desk.low[i] if value.mid() > 0 else desk.high[i]
            if room.is_finite() and abs(room.mid()) < (step * abs(value.mid()) if desk.euclidean else step):
                q = value + room / step if desk.euclidean else value
                kept[i] = value - q
                offset += times(q, desk.low[i]).min(times(q, desk.high[i]))
        return kept, offset

    def cap(
        self, h: Balls, kept: Balls, offset: Ball, in_box: Ball, length: Ball, reach: Ball, low: Balls, high: Balls
    ) -> None:
        """⟨±w,δ⟩ <= S(±w − t h) − tβ for undecided neurons, in summed probabilities also for those that are on.

        In ℓ2 with what the box left of h and β, and S = R‖·‖.
        """
        for j, w in enumerate(self.desk.w):
            if self.desk.may_switch(j, low, high) or (self.pooled and self.desk.may_be_on(j, high)):
                for sign in (1, -1):
                    if self.desk.euclidean:
                        t = self.l2_multiplier(w, sign, kept, in_box / length, reach)
                        slid = [sign * a - t * b for a, b in zip(w, kept, strict=True)]
                        bound = reach * self.desk.norm(slid) - t * in_box
                    else:
                        t = self.linf_multiplier(w, sign, h, offset, reach)
                        slid = [sign * a - t * b for a, b in zip(w, h, strict=True)]
                        bound = self.desk.support(slid, reach) - t * offset
                    if sign > 0:
                        high[j] = high[j].min(self.desk.z0[j] + bound)
                    else:
                        low[j] = low[j].max(self.desk.z0[j] - bound)

    def l2_multiplier(self, w: Balls, sign: int, kept: Balls, away: Ball, reach: Ball) -> Ball:
        """(A + C·d/√(R² − d²))/‖h‖."""
        length = self.desk.norm(kept).mid()
        if length.is_zero() or not away.is_finite():
            return self.zero
        part = sign * sum((a * b for a, b in zip(w, kept, strict=True)), start=self.zero).mid() / length
        across = (self.desk.norm(w) ** 2 - part**2).mid().max(self.zero).sqrt()
        left = ((reach - away) * (reach + away)).mid()
        t = (part + across * away / left.sqrt()) / length if left > 0 else self.zero
        return t.mid().max(self.zero)

    def linf_multiplier(self, w: Balls, sign: int, h: Balls, offset: Ball, reach: Ball) -> Ball:
        """The ratio w_i/h_i, or 0, at which the rise, convex and piecewise linear in t, turns upward."""
        (v, unit), (g, size) = in_units(w), in_units(h)
        if size.is_zero() or not reach > 0:
            return self.zero
        low, high = (np.array([float((end / reach).mid()) for end in ends]) for ends in (self.desk.low, self.desk.high))
        low, high, beta = np.maximum(low, -1.0), np.minimum(high, 1.0), float((offset / reach / size).mid())
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            ratios = sign * v / g
        kinks = np.flatnonzero((ratios > 0) & np.isfinite(ratios))
        kinks = kinks[np.argsort(ratios[kinks])]
        # Just beyond t = 0 every entry is at the end of its range that ±w − t h points to; at its kink it changes ends.
        rising = np.where(v == 0, -g, sign * v) > 0
        slope = -(g * np.where(rising, high, low)).sum() - beta
        slopes = slope + np.append(0.0, np.cumsum((np.abs(g) * (high - low))[kinks]))
        # Beyond the last kink the rise may fall without end: then nothing is left of the cap.
        far = 1e3 * (np.abs(v).sum() / np.abs(g).sum() + ratios[kinks].max(initial=0.0))
        t = np.concatenate([[0.0], ratios[kinks], [far]])[np.argmax(np.append(slopes, np.inf) >= 0)]
        return (float(t) * unit / size).mid()


def _float_below(value: Ball) -> float:
    """A float no larger than every element of the ball, at least 0."""
    if not value.is_finite():
        return math.inf if value == value.pos_inf() else 0.0
    return max(0.0, math.nextafter(float(value.lower()), -math.inf))
