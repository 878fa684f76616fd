"""Means over the second half of the steps, which the noise of batches moves least."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from featavg.training.iterate import Vector


class SecondHalf:
    """The mean of the parameters after steps ⌊T/2⌋ + 1 ... T, for each mark T; linear, so exact in every engine."""

    def __init__(self, marks: Iterable[float], start: Vector) -> None:
        self.halves = {int(mark) // 2 for mark in marks}
        self.start = start
        self.total = 0.0 * start
        self.before = {0: 0.0 * start}

    def add(self, step: int, parameters: Vector) -> None:
        """Take up the parameters after this step."""
        for name, block in self.total.blocks.items():
            np.add(block, parameters[name], out=block)  # in place: this happens at every step
        if step in self.halves:
            self.before[step] = self.total.map(np.copy)

    def mean(self, mark: int) -> Vector:
        """The mean for the mark T, which is the step just made."""
        return (self.total - self.before[mark // 2]) / (mark - mark // 2) if mark else self.start
