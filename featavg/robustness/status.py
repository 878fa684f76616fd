"""How the search for a radius ended, as a fact about two numbers."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from featavg.arrays import Array

# An exact bracket is this narrow, as a share of its upper end.
GAP = 1e-6


class Status(StrEnum):
    """What the two ends of a bracket amount to."""

    EXACT = "exact"  # both ends are proved, and agree up to GAP
    OPEN = "open"  # both ends are proved, and do not
    ATTACK_ONLY = "attack only"  # nothing is known below
    CERTIFICATE_ONLY = "certificate only"  # nothing is known above
    FAILED = "failed"  # nothing is known at all


def status_of(lower: Array, upper: Array) -> tuple[Status, ...]:
    """What two proved numbers amount to: (point,).

    >>> [str(status) for status in status_of(np.array([1.0, 1.0, 0.0, 2.0]), np.array([1.0, 2.0, 1.0, np.inf]))]
    ['exact', 'open', 'attack only', 'certificate only']
    """
    finite, some = upper < np.inf, lower > 0
    # Both ends infinite are equal; one infinite end is never close to the other.
    width = np.where(finite, upper, 0.0) - np.where(finite, lower, 0.0)
    exact = (lower == upper) | (finite & (width <= GAP * np.where(finite, upper, 0.0)))
    found = {Status.EXACT: exact, Status.OPEN: finite & some, Status.ATTACK_ONLY: finite, Status.CERTIFICATE_ONLY: some}
    codes = np.select(list(found.values()), range(len(found)), len(found))
    names = (*found, Status.FAILED)
    return tuple(names[code] for code in codes.tolist())
