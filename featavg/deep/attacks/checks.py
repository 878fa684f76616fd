"""What an attack says against itself, after AutoAttack's checks (Croce & Hein 2020)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.deep.question import DeepQuestion

CHECKED = 64  # points on which two forward passes are compared
# Shares of points below this are chance.
SHARE = 0.01


def counted(what: str, where: Any) -> tuple[str, ...]:
    """One flag that counts, or none: 'zero gradient at 3 of 1000 points'.

    >>> counted("zero gradient", np.array([True, False]))
    ('zero gradient at 1 of 2 points',)
    """
    count = int(np.count_nonzero(np.asarray(where)))
    return (f"{what} at {count} of {len(where)} points",) if count else ()


def levelling(upper: Array, reach: float = np.inf) -> tuple[str, ...]:
    """The flag of a curve that stays above zero however large the radius: the sign of a failed attack.

    With a largest radius `reach` the curve levels off if it has fallen before reach/2 and falls no more after it.

    >>> levelling(np.array([0.1, 0.2, np.inf]), reach=2.0)
    ('curve levels off at 33 % of points',)
    """
    standing = float(np.mean(upper > reach)) if np.isfinite(reach) else float(np.mean(np.isinf(upper)))
    if np.isfinite(reach):
        early = float(np.mean((upper > 0) & (upper <= reach / 2)))
        late = float(np.mean((upper > reach / 2) & (upper <= reach)))
        if early <= SHARE or late > SHARE:
            return ()
    return (f"curve levels off at {100 * standing:.0f} % of points",) if standing > SHARE else ()


def randomness(question: DeepQuestion) -> tuple[str, ...]:
    """The flag of a network that answers differently when asked again: gradients of one pass say little then."""
    few = replace(question, x=question.x[:CHECKED], y=question.y[:CHECKED])
    first, second = few.margins(few.x), few.margins(few.x)
    differ = float(np.abs(first - second).max(initial=0.0))
    # The same pass on the same batch repeats to the last bit unless chance has a part in it.
    return (f"random network: margins of two passes differ by up to {differ:.2g}",) if differ > 0 else ()
