"""The one way in which points are split: at random, with the same shares of every class in each part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featavg.arrays import Ints
from featavg.errors import InputError


def split(codes: Ints, shares: Sequence[float], seed: int) -> list[Ints]:
    """Rows of random parts, each with its share of every class: one array (row,) per share.

    Of a class of n points, those of rank i = 0 ... n − 1 in a random order go where (i + ½)/n lies among the
    cumulated shares, so that sizes differ from their shares by less than one point per class.

    Args:
        codes: the class of each point, 0 ... (`Labels.codes`).
        shares: positive numbers, as (0.8, 0.2) to hold a fifth out; only their ratios matter.
        seed: of the random order.

    >>> learn, judge = split(np.repeat([0, 1], [10, 5]), (0.8, 0.2), seed=0)
    >>> len(learn), len(judge), len(np.intersect1d(learn, judge))
    (12, 3, 0)
    """
    if len(shares) < 2 or min(shares) <= 0:
        raise InputError(f"a split needs two or more positive shares, got {list(shares)}")
    order = np.random.default_rng(seed).permutation(len(codes))
    edges = np.cumsum(shares)[:-1] / np.sum(shares)
    part = np.empty(len(codes), dtype=np.int64)
    for c in np.unique(codes):
        own = order[codes[order] == c]
        part[own] = np.searchsorted(edges, (np.arange(len(own)) + 0.5) / len(own), side="right")
    return [order[part[order] == k] for k in range(len(shares))]
