"""Several methods on the same question, and the best of what they know."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from featavg.errors import InputError
from featavg.robustness.attacks.base import Attack
from featavg.robustness.attacks.protocol import Attackable
from featavg.robustness.bracket import RadiusBracket
from featavg.robustness.status import status_of


def best_of(*brackets: RadiusBracket, **named: RadiusBracket) -> RadiusBracket:
    """For each point the smallest upper with its witness and the largest lower; a flag says who won where.

    >>> from featavg.robustness.attacks import GradientWalk, UniversalDirection
    >>> task = (([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0]), [[4.0, 2.0]], [1])
    >>> best_of(walk=GradientWalk()(*task), universal=UniversalDirection()(*task)).flags
    ('best of: walk at 1 of 1 points',)
    """
    entries = {f"method {i + 1}": bracket for i, bracket in enumerate(brackets)} | named
    if not entries:
        raise InputError("best_of needs at least one bracket")
    every = list(entries.values())
    if not all(every[0].question.same_as(bracket.question) for bracket in every):
        raise InputError("best_of needs brackets of one question; ask all methods the same network, points and norm")
    uppers = np.stack([bracket.upper for bracket in every])
    # Methods that meet at the same boundary point differ by rounding; the first of them is named.
    winner = (uppers <= uppers.min(axis=0) * (1 + 1e-12)).argmax(axis=0)
    each = np.arange(uppers.shape[1])
    upper = uppers.min(axis=0)
    nearest = uppers.argmin(axis=0)
    lower = np.max([bracket.lower for bracket in every], axis=0)
    wins = [
        f"best of: {name} at {count} of {len(each)} points"
        for i, name in enumerate(entries)
        if (count := int(np.count_nonzero((winner == i) & np.isfinite(upper))))
    ]
    # Proofs are about all points at once, so they are kept only if they prove every lower bound that is returned.
    kept = [bracket for bracket in every if bracket.proofs is not None and np.array_equal(bracket.lower, lower)]
    flags = dict.fromkeys(flag for bracket in every for flag in bracket.flags)
    return RadiusBracket(
        lower=np.minimum(lower, upper),
        upper=upper,
        witness=np.stack([bracket.witness for bracket in every])[nearest, each],
        status=status_of(np.minimum(lower, upper), upper),
        question=every[0].question,
        flags=(*flags, *wins),
        proofs=kept[0].proofs if kept else None,
        certificates=kept[0].certificates if kept else (),
    )


def attack_all(question: Attackable, attacks: Mapping[str, Attack]) -> dict[str, RadiusBracket]:
    """Run every attack; the last entry, `best`, has for each point the smallest upper bound of them all."""
    if not attacks or "best" in attacks:
        raise InputError(f"attack_all needs one or more named attacks, none of them called best, got {list(attacks)}")
    found = {name: attack.on(question) for name, attack in attacks.items()}
    return {**found, "best": best_of(**found)}
