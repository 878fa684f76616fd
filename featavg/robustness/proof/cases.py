"""The rivals' rows in the scaled neurons' units, with what their differences lose to rounding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featavg.arrays import Bools, Ints
from featavg.robustness.proof.arithmetic import TINY, U
from featavg.robustness.proof.format import Floats, Neurons, Problem
from featavg.robustness.proof.frames import Scaled
from featavg.robustness.proof.references import by_reference
from featavg.robustness.proof.regions import Pairs, rows

BLOCK = 2**20  # numbers that are combined at a time


@by_reference
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
    pools: bool  # for probabilities


def cases(problem: Problem, scaled: Scaled, pairs: Pairs) -> Cases:
    """Rows for these pairs."""
    neurons, outputs = problem.neurons, len(problem.neurons.constants)
    each_pair = zip(pairs.label.tolist(), pairs.rival.tolist(), strict=True)
    signs = [rows(problem.decision, label, rival, outputs) for label, rival in each_pair]
    pooled = problem.decision.kind == "probabilities"
    sizes = np.array([outputs if pooled else len(each) for each in signs], dtype=np.int64)
    used = np.array([each.any(axis=0) for each in signs], dtype=np.bool_).reshape(len(signs), outputs)
    exponent = np.zeros(len(signs), dtype=np.int64) if pooled else _exponents(neurons, scaled, used)
    signs = [np.zeros((0, outputs), dtype=np.int64), *signs]
    role = np.concatenate(signs).ravel() if pooled else np.zeros(sizes.sum(), dtype=np.int64)
    combination = np.tile(np.eye(outputs, dtype=np.int64), (len(sizes), 1)) if pooled else np.concatenate(signs)
    divided = np.repeat(exponent, sizes)
    slope, slope_spread = np.zeros((2, len(role), len(neurons.biases)))
    constant, constant_spread = np.zeros((2, len(role), 1))
    with np.errstate(over="ignore", under="ignore"):
        for power in np.unique(exponent):
            weights = _shifted(neurons.outputs, scaled.exponent - power)
            constants = _shifted(neurons.constants[:, None], -power)
            # Hundreds of outputs have as many rows for each rival: a dozen arrays of all of them would be gigabytes.
            every = np.flatnonzero(divided == power)
            for of in np.array_split(every, 1 + every.size * len(neurons.biases) // BLOCK):
                slope[of], slope_spread[of] = combine(combination[of], *weights)
                constant[of], constant_spread[of] = combine(combination[of], *constants)
        unit = np.ldexp(1.0, np.clip(scaled.exponent - exponent[:, None], -1074, 1023))
    fine = np.isfinite(slope_spread).all(axis=1) & np.isfinite(constant_spread[:, 0])
    first = np.cumsum([0, *sizes])
    return Cases(
        first_row=first,
        exponent=exponent,
        unit=unit,
        slope=slope,
        slope_spread=slope_spread,
        constant=constant[:, 0].copy(),
        constant_spread=constant_spread[:, 0].copy(),
        role=role,
        valid=np.logical_and.reduceat(fine, first[:-1]) if len(sizes) else np.zeros(0, dtype=np.bool_),
        pools=pooled,
    )


def _exponents(neurons: Neurons, scaled: Scaled, used: Bools) -> Ints:
    """Of the largest second-layer weight that each pair involves, in the scaled neurons' units; 0 if there is none."""
    exponents = np.where(neurons.outputs != 0, np.frexp(neurons.outputs)[1] + scaled.exponent, -(10**6))
    largest = np.where(used, exponents.max(axis=1, initial=-(10**6)), -(10**6)).max(axis=1, initial=-(10**6))
    return np.where(largest > -(10**6), largest, 0)


def _shifted(values: Floats, shift: Ints | int) -> tuple[Floats, Floats]:
    """values·2^shift and what that loses: at most TINY, and nothing unless the result is subnormal."""
    shifted = np.ldexp(values, shift)
    exact = (np.ldexp(shifted, -shift) == values) | ~np.isfinite(shifted)
    return shifted, np.where(exact, 0.0, TINY)


def combine(combination: Ints, values: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Σ_o M_io values_o for entries −1, 0, 1, and at least its distance from the exact sum: (row, column) each.

    Every addition is split into its rounded result and its error (TwoSum); errors are summed in floats. A result that
    left the range of floats has an infinite distance.
    """
    shape = (len(combination), values.shape[1])
    total, rest, size, unknown = np.zeros((4, *shape))
    terms = np.count_nonzero(combination, axis=1)
    # The outputs of every row that count, in order, come first.
    order = np.argsort(combination == 0, axis=1, kind="stable")
    for k in range(terms.max(initial=0)):
        chosen = order[:, k]
        sign = combination[np.arange(len(chosen)), chosen][:, None]
        term = np.where(sign == 0, 0.0, sign * values[chosen])
        added = total + term
        back = added - total
        error = (total - (added - back)) + (term - back)
        total, rest, size = added, rest + error, size + np.abs(error)
        unknown = unknown + np.abs(sign) * spread[chosen]
    result = total + rest
    back = result - total
    left = np.abs((total - (result - back)) + (rest - back))
    count = combination.shape[1] + 4.0
    # A single error is exact, so what is left of it needs no allowance.
    allowed = np.where(terms[:, None] <= 2, 0.0, size * (2.0 * count * U))
    doubt = (left + allowed + unknown) * (1.0 + 8.0 * U)
    return result, np.where(np.isfinite(result), doubt, np.inf)
