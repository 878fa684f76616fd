"""What an attack says against itself, after AutoAttack's checks (Croce & Hein 2020)."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Bools
from featavg.robustness.attacks.protocol import Attackable

CHECKED = 64  # points on which two passes are compared
# Shares of points below this are chance.
SHARE = 0.01
# Two passes over the same points differ by so many units of rounding at most, unless chance has a part in them.
SAME = 8


def counted(what: str, where: Bools) -> tuple[str, ...]:
    """One flag that counts, or none: 'zero gradient at 3 of 1000 points'.

    >>> counted("zero gradient", np.array([True, False]))
    ('zero gradient at 1 of 2 points',)
    """
    count = int(np.count_nonzero(where))
    return (f"{what} at {count} of {len(where)} points",) if count else ()


def levelling(upper: Array, reach: float = np.inf) -> tuple[str, ...]:
    """The flag of a curve that stays above zero however large the radius: the sign of a failed attack.

    With a largest radius `reach` the curve levels off if it has fallen before reach/2 and falls no more after it.

    >>> levelling(np.array([0.1, 0.2, np.inf]), reach=2.0)
    ('curve levels off at 33 % of points',)
    """
    if not len(upper):
        return ()
    standing = float(np.mean(upper > reach)) if np.isfinite(reach) else float(np.mean(np.isinf(upper)))
    if np.isfinite(reach):
        early = float(np.mean((upper > 0) & (upper <= reach / 2)))
        late = float(np.mean((upper > reach / 2) & (upper <= reach)))
        if early <= SHARE or late > SHARE:
            return ()
    return (f"curve levels off at {100 * standing:.0f} % of points",) if standing > SHARE else ()


def randomness(question: Attackable) -> tuple[str, ...]:
    """The flag of a network that answers differently when asked again: gradients of one pass say little then."""
    few = question.part(np.arange(min(CHECKED, len(question.x))))
    first, second = few.margins(few.x), few.margins(few.x)
    differ = float(np.abs(first - second).max(initial=0.0))
    rounding = SAME * float(np.finfo(question.precision).eps) * float(np.abs(first).max(initial=0.0))
    return (f"random network: margins of two passes differ by up to {differ:.2g}",) if differ > rounding else ()
