"""Which rivals the points of a label have, and the rows of each: tables that the kernels walk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.proof.format import Problem
from featavg.robustness.proof.references import by_reference
from featavg.robustness.proof.regions import Pairs as Asked
from featavg.robustness.proof.regions import rows


@by_reference
class Pairs(NamedTuple):
    """Pairs of a label and a rival, label by label; the rows of a pair are neighbours."""

    rows: Array  # (row, neuron)  A, scaled by powers of two
    constants: Array  # (row,)  c, scaled alike
    row_unit: Array  # (row,)  λ of the network's rows = λ here · row_unit
    first_row: Ints  # (pair + 1,)
    rival: Ints  # (pair,)
    first_pair: Ints  # (label + 1,)
    role: (
        Ints  # (row,)  for summed probabilities, whose rows are all outputs: 1 own, −1 the rival's, 0 neither; or empty
    )
    # (row,)  the neuron of a rival's output that has no other one, if all of the rival's are such; else −1
    neuron: Ints


def power_of_two(sizes: Array) -> Array:
    """The powers of two 2^-e that bring sizes into [½, 1); 1 for zeros."""
    exponents = np.frexp(sizes)[1]
    return np.ldexp(1.0, np.where((sizes > 0) & np.isfinite(sizes), -exponents, 0))


def table_of(problem: Problem, asked: Asked, outputs: Array) -> tuple[Pairs, Ints]:
    """All pairs that are asked about, and where those of each point are; `outputs` are those of scaled neurons.

    Points with a target have that one rival, so they count as points of a label of their own.
    """
    decision, constants = problem.decision, problem.neurons.constants
    combinations = [
        rows(decision, label, rival, len(outputs))
        for label, rival in zip(asked.label.tolist(), asked.rival.tolist(), strict=True)
    ]
    pooled = decision.kind == "probabilities"
    role = np.concatenate(combinations).ravel() if pooled else np.zeros(0, dtype=np.int64)
    if pooled:
        combinations = [np.eye(len(outputs), dtype=np.int64) for _ in combinations]
    mixed = np.concatenate(combinations).astype(np.float64)
    table, offsets = mixed @ outputs, mixed @ constants
    unit = np.ones(len(table)) if pooled else power_of_two(np.abs(table).max(axis=1, initial=0.0))
    pairs = Pairs(
        rows=np.ascontiguousarray(table * unit[:, None]),
        constants=offsets * unit,
        row_unit=unit,
        first_row=np.cumsum([0] + [len(each) for each in combinations]),
        rival=asked.rival.copy(),
        first_pair=asked.first.copy(),
        role=role.astype(np.int64),
        neuron=neurons_of(table, role, len(outputs)),
    )
    return pairs, asked.kind.copy()


def neurons_of(table: Array, role: Ints, outputs: int) -> Ints:
    """The neuron of each of the rival's outputs in the pairs where all of these rise with one of their own; else −1."""
    chosen = np.full(len(role), -1)
    for first in range(0, len(role), outputs):
        sides, rows = role[first : first + outputs], table[first : first + outputs]
        used = rows[sides < 0] != 0.0
        neurons = used.argmax(axis=1)
        alone = (used.sum(axis=1) == 1).all() and (rows[sides < 0] >= 0.0).all() and used.sum(axis=0).max() == 1
        if alone and not rows[sides > 0][:, neurons].any():
            chosen[first : first + outputs][sides < 0] = neurons
    return chosen
