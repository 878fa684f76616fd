"""The one split: disjoint, whole, the same shares of every class, and another one for another seed."""

from __future__ import annotations

import numpy as np
import pytest

from featavg import InputError
from featavg.data import split


@pytest.mark.parametrize("shares", [(0.8, 0.2), (1, 1, 1), (0.2,) * 5])
def test_parts_hold_their_share_of_every_class_and_each_point_once(shares: tuple[float, ...]) -> None:
    codes = np.repeat([0, 1, 2], [100, 37, 10])
    parts = split(codes, shares, seed=3)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(147))
    for part, share in zip(parts, np.array(shares) / sum(shares), strict=True):
        expected = share * np.bincount(codes)
        assert (np.abs(np.bincount(codes[part], minlength=3) - expected) < 1).all()


def test_seeds_give_other_parts_and_the_same_seed_the_same() -> None:
    codes = np.arange(60) % 2
    one, two, other = (split(codes, (1, 1), seed)[0] for seed in (0, 0, 1))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, np.sort(one))  # in random order, so that the first few are a sample


@pytest.mark.parametrize("shares", [(1.0,), (0.5, 0.0)])
def test_bad_shares_get_one_sentence(shares: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="two or more positive shares"):
        split(np.zeros(4, dtype=np.int64), shares, 0)
