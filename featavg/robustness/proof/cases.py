"""The rivals' rows in the scaled neurons' units, with what their differences lose to rounding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featavg.arrays import Bools, Ints
from featavg.robustness.proof.arithmetic import TINY, U
from featavg.robustness.proof.compiled import Mark, mark
from featavg.robustness.proof.format import Floats, Neurons, Problem
from featavg.robustness.proof.frames import Scaled
from featavg.robustness.proof.regions import rows


class Cases(NamedTuple):
    """For every pair of label and rival its rows Σ_j a_j ReLU(z_j) + c, divided by a power of two of the pair.

    `unit` turns a second-layer weight, or θ, into these units. For probabilities the rows are all outputs, undivided,
    with role 1 for the own group, −1 for the rival's and 0 for the rest.
    """

    first_row: Ints  # (case + 1,)
    exponent: Ints  # (case,)  of that power of two
    unit: Floats  # (case, neuron)
    slope: Floats  # (row, neuron)
    slope_spread: Floats  # (row, neuron)  at least |slope − exact|
    constant: Floats  # (row,)
    constant_spread: Floats  # (row,)
    role: Ints  # (row,)
    valid: Bools  # (case,)  whether all of it can be represented
    pools: Mark  # present for probabilities


def cases(problem: Problem, scaled: Scaled, pairs: Ints) -> Cases:
    """Rows for the given pairs (label, rival): (pair, 2)."""
    pooled = problem.decision.kind == "probabilities"
    outputs = len(problem.neurons.constants)
    parts, exponents = [], []
    for label, rival in pairs.tolist():
        combination = rows(problem.decision, label, rival, outputs)
        divided = 0 if pooled else _exponent(problem.neurons, scaled, combination)
        exponents.append(divided)
        role = combination[0] if pooled else np.zeros(len(combination), dtype=np.int64)
        parts.append((_case(problem.neurons, scaled, np.eye(outputs) if pooled else combination, divided), role))
    arrays = [np.concatenate([part[i] for part, _ in parts]) for i in range(1, 5)]
    return Cases(
        first_row=np.cumsum([0] + [len(role) for _, role in parts]),
        exponent=np.array(exponents),
        unit=np.stack([part[0] for part, _ in parts]),
        slope=arrays[0],
        slope_spread=arrays[1],
        constant=arrays[2],
        constant_spread=arrays[3],
        role=np.concatenate([role for _, role in parts]),
        valid=np.array([all(np.isfinite(array).all() for array in part) for part, _ in parts]),
        pools=mark(pooled),
    )


def _exponent(neurons: Neurons, scaled: Scaled, combination: Ints) -> int:
    """Of the largest second-layer weight involved, in the scaled neurons' units."""
    used = neurons.outputs[combination.any(axis=0)]
    exponents = np.frexp(used)[1] + scaled.exponent
    return int(exponents[used != 0].max(initial=-(10**6))) if used.any() else 0


def _case(
    neurons: Neurons, scaled: Scaled, combination: Floats | Ints, divided: int
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    shift = np.broadcast_to(scaled.exponent - divided, neurons.outputs.shape)
    with np.errstate(over="ignore", under="ignore"):
        unit = np.ldexp(1.0, np.clip(shift[0], -1074, 1023))
        slope, slope_spread = combine(combination, *_shifted(neurons.outputs, shift))
        constants = _shifted(neurons.constants[:, None], np.full((len(neurons.constants), 1), -divided))
        constant, constant_spread = combine(combination, *constants)
    return unit, slope, slope_spread, constant[:, 0], constant_spread[:, 0]


def _shifted(values: Floats, shift: Ints) -> tuple[Floats, Floats]:
    """values·2^shift and what that loses: at most TINY, and nothing unless the result is subnormal."""
    shifted = np.ldexp(values, shift)
    exact = (np.ldexp(shifted, -shift) == values) | ~np.isfinite(shifted)
    return shifted, np.where(exact, 0.0, TINY)


def combine(combination: Floats | Ints, values: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Σ_o M_io values_o for entries −1, 0, 1, and at least its distance from the exact sum: (row, column) each.

    Every addition is split into its rounded result and its error (TwoSum); errors are summed in floats.
    """
    shape = (len(combination), values.shape[1])
    total, rest, size, unknown = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for o in np.flatnonzero(combination.any(axis=0)):
        term = combination[:, o, None] * values[o]
        added = total + term
        back = added - total
        error = (total - (added - back)) + (term - back)
        total, rest, size = added, rest + error, size + np.abs(error)
        unknown = unknown + np.abs(combination[:, o, None]) * spread[o]
    result = total + rest
    back = result - total
    left = np.abs((total - (result - back)) + (rest - back))
    count = combination.shape[1] + 4.0
    doubt = (left + size * (2.0 * count * U) + unknown) * (1.0 + 8.0 * U)
    # A single error is exact, so what is left of it needs no allowance.
    few = np.abs(combination).sum(axis=1, keepdims=True) <= 2
    doubt = np.where(few, (left + unknown) * (1.0 + 8.0 * U), doubt)
    return result, np.where(np.isfinite(result), doubt, np.inf)
