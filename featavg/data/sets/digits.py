"""Handwritten digits of 8 by 8 pixels that come with scikit-learn (Alpaydin, Kaynak 1998)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featavg.arrays import Ints
from featavg.data.image_set import Bytes, ImageSet, Part

TEST = 5  # one digit in so many is for testing: 360 of 1797
SEED = 0  # of the split, the same for everyone


def decode(part: Part, files: Sequence[bytes]) -> tuple[Bytes, Ints]:
    """Pixels (sample, height, width) and classes (sample,); there is no official split, so here is one."""
    from sklearn.datasets import load_digits  # a second that `import featavg` need not pay

    bunch = load_digits()
    labels = bunch.target.astype(np.int64)
    order = np.random.default_rng(SEED).permutation(len(labels))
    # Sorted by class, every fifth is a test image: each class is split in the same proportion.
    order = order[np.argsort(labels[order], kind="stable")]
    is_test = np.arange(len(order)) % TEST == 0
    chosen = np.sort(order[is_test if part == "test" else ~is_test])
    return bunch.images[chosen].astype(np.uint8), labels[chosen]


SET = ImageSet(
    name="digits",
    shape=(8, 8),
    class_names=tuple("0123456789"),
    decode=decode,
    brightest=16.0,
    comes_with="scikit-learn",
)
