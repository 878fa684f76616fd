"""All attacks on one question, and the best of them point by point."""

from __future__ import annotations

from collections.abc import Mapping

from featavg.deep.attacks.base import DeepAttack
from featavg.deep.question import DeepQuestion
from featavg.errors import InputError
from featavg.robustness import RadiusBracket
from featavg.robustness.attacks import best_of


def attack_all(question: DeepQuestion, attacks: Mapping[str, DeepAttack]) -> dict[str, RadiusBracket]:
    """Run every attack; the last entry, `best`, has for each point the smallest upper bound of them all."""
    if not attacks or "best" in attacks:
        raise InputError(f"attack_all needs one or more named attacks, none of them called best, got {list(attacks)}")
    found = {name: attack(question) for name, attack in attacks.items()}
    return {**found, "best": best_of(**found)}
