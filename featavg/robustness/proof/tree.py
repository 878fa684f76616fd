"""What a tree proves: no point of the rival lies closer than the least, over all leaves, of what the cuts prove there.

After the cuts 1 ... c of a path, no point of the rival in the node is closer than min(R_1, ..., R_c, best distance),
since the cuts speak of all points within their reaches; nor closer than that minimum if an interval is empty. Every
prefix of the cuts counts, so a later cut never costs anything. Cut by cut:

1. intervals ← inherited ∩ branch ∩ what ball and box allow (`within_reach`, `on_side`, `within_box`);
2. G from `mix` (`mixed`), and what its curve costs (`price`), 3. β from θ (`halfspace_offset`), 4. h and the box
(`halfspace_of`), 5. the distance, 6. the cap (`cap`), 7. for summed probabilities and curves the ball of ℓ2 that holds
the cap (`lifted`).

R = ∞ is allowed, and proves something only where every a_j is known exactly (λ = 1 and no difference was rounded).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from featavg.arrays import Ints
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import TINY, U, clear, copy, difference_down, down, up
from featavg.robustness.proof.caps import cap, within_box
from featavg.robustness.proof.cases import Cases
from featavg.robustness.proof.compiled import borrowing, entry
from featavg.robustness.proof.curves import Curves, price
from featavg.robustness.proof.desk import Desk, Halfspace, new_desk
from featavg.robustness.proof.format import Floats, Proofs
from featavg.robustness.proof.frames import Centers, Frame
from featavg.robustness.proof.halfspace import distance, gram_length, gram_share, halfspace_of, look
from featavg.robustness.proof.intervals import (
    halfspace_offset,
    load_theta,
    nowhere,
    on_side,
    weighted,
    within_reach,
)
from featavg.robustness.proof.mixes import mixed
from featavg.robustness.proof.pools import Ball, Products, lifted
from featavg.robustness.proof.references import by_reference

by_reference(Proofs)
DROPPED = -1


@by_reference
class Points(NamedTuple):
    """The points of the trees: pre-activations, and coordinates, which are read only if there is a box."""

    centers: Centers
    x: Floats  # (row, axis)
    low: Floats  # (axis,) or empty; infinite for ℓ∞ without a box
    high: Floats


@by_reference
class Tasks(NamedTuple):
    """What each tree is about."""

    chosen: Ints  # trees to be checked
    case: Ints  # (tree,)  its pair of label and rival
    row: Ints  # (tree,)  of its point
    enough: Floats  # (tree,)  a node that proves this much is not looked into further
    needed: Ints  # (node,)  is written: how many of its cuts were, DROPPED below such a node


@by_reference
class Stack(NamedTuple):
    """What holds at the nodes above, by depth."""

    low: Floats  # (depth, neuron)
    high: Floats  # (depth, neuron)
    reach: Floats  # (depth,)  least R so far
    away: Floats  # (depth,)  best distance so far
    proved: Floats  # (depth,)  what is proved so far
    middle: Floats  # (depth, neuron)  pre-activations at the center of a ball of ℓ2, within `doubt`
    doubt: Floats  # (depth, neuron)
    lift: Floats  # (depth,)  its squared radius is that of the reach less this


def tree_values(
    frame: Frame,
    products: Products,
    points: Points,
    cases: Cases,
    curves: Curves,
    tasks: Tasks,
    exponent: Ints,
    proofs: Proofs,
    deepest: int,
) -> Floats:
    """What each of the chosen, well-shaped trees proves, 0 for the others: (tree,); `exponent` scales thresholds."""
    desk = new_desk(len(exponent), frame.vectors.shape[1], len(points.low))
    values = np.zeros(len(tasks.case))
    stack = new_stack(deepest + 1, len(exponent))
    _fill_values(frame, products, points, cases, curves, tasks, exponent, proofs, deepest, desk, stack, values)
    return values


def new_stack(levels: int, neurons: int) -> Stack:
    """Room for what holds at so many levels."""
    low, high, middle, doubt = np.zeros((4, levels, neurons))
    reach, away, proved, lift = np.zeros((4, levels))
    return Stack(low, high, reach, away, proved, middle, doubt, lift)


@entry
def _fill_values(
    frame: Frame,
    products: Products,
    points: Points,
    cases: Cases,
    curves: Curves,
    tasks: Tasks,
    exponent: Ints,
    proofs: Proofs,
    deepest: int,
    desk: Desk,
    stack: Stack,
    values: Floats,
) -> None:
    for tree in tasks.chosen:
        case = tasks.case[tree]
        if not cases.valid[case] or not _approach(points, tasks.row[tree], desk):
            continue
        least, curve, enough = np.inf, curves.of[tree], tasks.enough[tree]
        last, settled = proofs.first_node[tree + 1], deepest
        for node in range(proofs.first_node[tree], last):
            depth = proofs.depth[node]
            if depth > settled:
                tasks.needed[node] = DROPPED
                continue
            if depth == 0:
                _start(stack, desk)
            else:
                threshold = math.ldexp(proofs.threshold[node], int(-exponent[proofs.neuron[node]]))
                _descend(stack, depth, proofs.neuron[node], threshold, proofs.side[node])
            tasks.needed[node] = 0
            for cut in range(proofs.first_cut[node], proofs.first_cut[node + 1]):
                if not stack.proved[depth] < min(stack.reach[depth], enough):
                    break
                tasks.needed[node] += 1
                if not _apply(frame, products, cases, case, curves, curve, proofs, cut, depth, desk, stack):
                    least = 0.0
            is_settled = stack.proved[depth] >= enough
            settled = depth if is_settled else deepest
            if is_settled or node + 1 == last or proofs.depth[node + 1] <= depth:
                least = min(least, stack.proved[depth])
            if not least > 0.0:
                break
        values[tree] = least


@borrowing
def _approach(points: Points, row: int, desk: Desk) -> bool:
    """Put the point's pre-activations and its view of the box on the desk; False if they are out of range."""
    fine = True
    # Looked up once: a loop that writes could change where they are, for all that the compiler knows.
    center, center_low, error, slack = desk.center, desk.center_low, desk.center_error, desk.slack
    high, low, errors = points.centers.high[row], points.centers.low[row], points.centers.error[row]
    for j in range(len(center)):
        center[j], center_low[j], error[j] = high[j], low[j], errors[j]
        slack[j] = (abs(low[j]) + errors[j]) * (1.0 + 2.0**-50)
        fine = fine and abs(high[j]) + slack[j] < np.inf
    if len(points.low):
        seen_from(points.x[row], points.low, points.high, desk.box_low, desk.box_high)
    return fine


@borrowing
def seen_from(x: Floats, low: Floats, high: Floats, least: Floats, most: Floats) -> None:
    """Write a box that holds [low − x, high − x]."""
    for i in range(len(x)):
        least[i], most[i] = difference_down(low[i], x[i]), -difference_down(x[i], high[i])


@borrowing
def _start(stack: Stack, desk: Desk) -> None:
    """At the root nothing is known."""
    low, high = stack.low[0], stack.high[0]
    for j in range(len(low)):
        low[j], high[j] = -np.inf, np.inf
    copy(desk.center, stack.middle[0])
    copy(desk.slack, stack.doubt[0])
    stack.reach[0], stack.away[0], stack.proved[0], stack.lift[0] = np.inf, 0.0, 0.0, 0.0


@borrowing
def _descend(stack: Stack, depth: int, neuron: int, threshold: float, side: int) -> None:
    """What holds at the parent holds at the child, on its side of the branch."""
    for rows in (stack.low, stack.high, stack.middle, stack.doubt):
        copy(rows[depth - 1], rows[depth])
    stack.lift[depth] = stack.lift[depth - 1]
    stack.reach[depth] = stack.reach[depth - 1]
    stack.away[depth] = stack.away[depth - 1]
    stack.proved[depth] = stack.proved[depth - 1]
    on_side(stack.low[depth], stack.high[depth], neuron, threshold, side)
    if stack.low[depth, neuron] > stack.high[depth, neuron]:
        stack.proved[depth] = max(stack.proved[depth], stack.reach[depth])


@apart(borrowing)
def _apply(
    frame: Frame,
    products: Products,
    cases: Cases,
    case: int,
    curves: Curves,
    curve: int,
    proofs: Proofs,
    cut: int,
    depth: int,
    desk: Desk,
    stack: Stack,
) -> bool:
    """One cut at one node; False if its numbers are none that it may have."""
    low, high = stack.low[depth], stack.high[depth]
    start, stop = proofs.theta_start[cut], proofs.theta_start[cut + 1]
    if not proofs.reach[cut] >= 0.0:
        return False
    if not load_theta(proofs.theta_neuron[start:stop], proofs.theta[start:stop], cases.unit[case], desk.theta):
        return False
    if proofs.reach[cut] < stack.reach[depth]:
        stack.reach[depth] = proofs.reach[cut]
        within_reach(low, high, desk.center, desk.slack, frame.norm, stack.reach[depth])
        if len(desk.box_low):
            within_box(frame, desk, stack.reach[depth], low, high)
    reach = stack.reach[depth]
    if nowhere(low, high):
        stack.proved[depth] = max(stack.proved[depth], reach)
        return True
    mix = proofs.mix[proofs.mix_start[cut] : proofs.mix_start[cut + 1]]
    ball = Ball(stack.middle[depth], stack.doubt[depth], _radius(frame, desk, reach, stack.lift[depth]))
    valid, constant = mixed(cases, case, mix, ball, products, low, high, desk)
    if not valid or not 0.0 <= proofs.bend[cut] < np.inf:
        return False
    clear(desk.bend)
    if curve >= 0 and proofs.bend[cut] > 0.0:
        # G is divided by a power of two here.
        bend = math.ldexp(proofs.bend[cut], int(-cases.exponent[case]))
        constant = down(constant - price(curves.root[curve], curves.most[curve], bend, ball, desk))
    # h is divided by a power of two here, so that t, which turns h into a distance in ℓ2, is multiplied.
    step = math.ldexp(proofs.box_step[cut], int(cases.exponent[case]) if frame.euclidean else 0)
    halfspace = halfspace_of(frame, desk, halfspace_offset(constant, low, high, ball.z, desk), step)
    stack.away[depth] = max(stack.away[depth], distance(halfspace))
    stack.proved[depth] = max(stack.proved[depth], min(reach, stack.away[depth]))
    if stack.proved[depth] < reach:
        cap(frame, desk, halfspace, reach, low, high, cases.pools)
        if nowhere(low, high):
            stack.proved[depth] = reach
        elif cases.pools or curve >= 0:
            _recenter(frame, products, desk, halfspace, depth, stack)
    return True


@borrowing
def _radius(frame: Frame, desk: Desk, reach: float, lift: float) -> float:
    """τ² = R² − lift, for ℓ∞ with the ball of ℓ2 around that of ℓ∞: R²·axes − lift."""
    square = up(reach * reach)
    if not frame.euclidean:
        square = up(square * len(desk.box_low))
    return up(math.sqrt(up(max(0.0, square - lift)))) if square < np.inf else np.inf


@borrowing
def _recenter(frame: Frame, products: Products, desk: Desk, halfspace: Halfspace, depth: int, stack: Stack) -> None:
    """The ball around −s h that holds what the half-space leaves (`lifted`), if it is smaller than the one known."""
    count = halfspace.terms
    if count == 0 or not halfspace.offset > 0.0:
        return
    weight = weighted(desk.theta, products.size)
    if not len(frame.gram):
        look(products.gram, desk.theta, desk.support, count, desk.seen)
    length = gram_length(products.share, desk.theta, desk.seen, count, weight)
    step, lift = lifted(halfspace.offset, length)
    if not lift > stack.lift[depth]:
        return
    stack.lift[depth] = lift
    slip = up(up(gram_share(products.share, count) * weight) * step)
    for j in range(len(desk.center)):
        moved = step * desk.seen[j]
        stack.middle[depth, j] = desk.center[j] - moved
        rounding = 4.0 * U * (abs(desk.center[j]) + abs(moved)) + 4.0 * TINY
        stack.doubt[depth, j] = up(up(desk.slack[j] + up(slip * products.size[j])) + rounding)
