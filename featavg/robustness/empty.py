"""Networks that no perturbation fools: proof that a rival's set is empty, subset by subset."""

from __future__ import annotations

import numpy as np

from featavg.robustness.first_proof import Cut
from featavg.robustness.first_search import Incumbent, everything_on, polish
from featavg.robustness.relaxation import Place, Relaxed, nearest_point

# 2^12 small QPs are a second or so; beyond that many neurons the search within the horizon must do.
MOST_SUBTRACTED = 12


def prove_empty(place: Place, rival: int, incumbent: Incumbent) -> list[Cut] | None:
    """One cut for each subset of the neurons that some row subtracts, or None if a fooled point turns up (or may)."""
    subtracted = np.flatnonzero((place.rows < 0).any(axis=0))
    if len(subtracted) > MOST_SUBTRACTED:
        return None
    cuts = []
    free = np.zeros(len(place.start), dtype=bool)
    for subset in range(2 ** len(subtracted)):
        chosen = free.copy()
        chosen[subtracted] = (subset >> np.arange(len(subtracted))) & 1 == 1
        rows = Relaxed(np.minimum(place.rows, 0.0) * chosen, np.maximum(place.rows, 0.0), place.constants, free, free)
        solution = nearest_point(place, rows, np.inf, everything_on(place))
        if solution.delta is not None:
            polish(place, rival, chosen, incumbent)
            return None
        cuts.append(Cut(np.array([np.inf]), solution.rows[None], solution.slopes[None]))
    return cuts
