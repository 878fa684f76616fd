"""What sub-labels bring and cost against other methods on MNIST parity, by seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featavg.arrays import Array
from featavg.experiments.refinement.benchmark import AUTO, Benchmark
from featavg.record import Table

REFINED, ACCURATE, AGAINST = "discovered 100", "coarse, most accurate", "adversarial, coarse"
LONG = "discovered 100, trained on"
A_POINT = 0.01  # a smaller gain is none, and nothing is divided by it
HOW = "robust accuracy at ℓ2 radius 1.0, summed probabilities; proved for the first, not refuted for the second"
BySeed = dict[str, tuple[Array, str]]  # name -> values (seed,) and how they were obtained


def lead(table: Table, one: str, other: str) -> Array:
    """By how much the proved robust accuracy of one method exceeds what is not refuted of another: (seed,).

    Both ends speak against the lead. Two of a kind, whose brackets are equally wide, are compared by the same end.
    """
    return table.sel("lower", method=one) - table.sel("upper", method=other)


def costs(table: Table, prepared: Benchmark) -> BySeed:
    """What sub-labels bring and cost, against coarse labels and adversarial training."""
    lower, accurate = table.sel("lower", method=REFINED), table.sel("upper", method=ACCURATE)
    coarse, against = table.sel("upper", method="coarse"), table.sel("upper", method=AGAINST)
    clean, most = (table.sel("clean", method=name) for name in (REFINED, ACCURATE))
    seconds, slow = (table.sel("seconds", method=name) for name in (REFINED, AGAINST))
    chosen = next(mark for name, _, (_, mark) in prepared.entries if name == REFINED)
    return {
        "accuracy_cost": (clean - most, "test accuracy minus that of the most accurate coarse network"),
        "over_accurate": (lower / np.maximum(accurate, A_POINT), f"ratio of {HOW}"),
        "over_robust": (lower / np.maximum(coarse, A_POINT), f"ratio of {HOW}; both tuned by the same rule"),
        "share_of_adversarial": (
            lead(table, REFINED, "coarse") / np.maximum(against - coarse, A_POINT),
            "(proved − coarse)/(adversarial − coarse), the last two not refuted; all tuned by the same rule",
        ),
        "time_share": (
            seconds / slow,
            "ratio of CPU seconds from the points to the chosen moment, sub-labels and frame included",
        ),
        "time_to_reach": (
            seconds_to_reach(table, chosen) / seconds,
            "CPU seconds at the first moment as robust (Newton estimate) and accurate as sub-labels are at theirs, "
            "over those of sub-labels; the whole course where there is none",
        ),
    }


def leads(counts: Sequence[int], table: Table) -> BySeed:
    """Differences of robust accuracy between methods."""
    random = table.sel("upper", method="random sub-labels 100") - table.sel("lower", method="coarse")
    fixed = [table.sel("lower", method=f"discovered {count}") for count in counts]
    best = max(fixed, key=lambda values: float(values.mean()))
    attacked, against = (table.sel("upper", method=name) for name in ("adversarial, discovered 100", AGAINST))
    return {
        "lead_over_adversarial": (lead(table, REFINED, AGAINST), f"difference of {HOW}"),
        "random_share": (
            random / np.maximum(lead(table, REFINED, "coarse"), A_POINT),
            "gain of random over gain of discovered sub-labels, 100 per class, brackets against the claim",
        ),
        "lead_over_start": (
            lead(table, REFINED, "coarse loss, start at centers"),
            f"difference of {HOW}; same network, same start, loss −log of the summed probability of the class",
        ),
        "digits_lead": (lead(table, "true fine labels", "coarse"), f"difference of {HOW}"),
        "adversarial_gain": (
            attacked - against,
            "difference of robust accuracy at ℓ2 radius 1.0 that is not refuted, summed probabilities",
        ),
        "auto_gap": (
            best - table.sel("lower", method=AUTO),
            f"{HOW.split(';')[0]}, proved: the best fixed number minus auto",
        ),
        "lead_over_long": (
            lead(table, REFINED, LONG),
            f"difference of {HOW}: chosen rate and moment against 3200 steps at the largest rate",
        ),
        "prototype_lead": (
            lead(table, "soft prototypes", REFINED), f"difference of {HOW}; 10 to 200 centers per class, tuned",
        ),
    }  # fmt: skip


def seconds_to_reach(table: Table, chosen: int) -> Array:
    """CPU seconds (seed,) at which adversarial training first is as robust and accurate as sub-labels when stopped.

    Robustness by Newton walks at the marks of training; the whole course where it never is.
    """
    there = np.array(True)
    for name in ("robust", "clean"):
        wanted = table.sel(f"course_{name}", followed=REFINED, mark=chosen)
        there = there & (table.sel(f"course_{name}", followed=AGAINST) >= wanted[:, None])
    first = np.where(there.any(axis=1), there.argmax(axis=1), -1)
    return np.asarray(table.sel("course_seconds", followed=AGAINST)[np.arange(len(first)), first])
