"""One seed's points for all methods: drawn, put in the frame of training, and given finer labels."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import Dataset, Part, load_images, split
from featavg.refine import Finder, Frame, embed
from featavg.threads import one_thread

Kind = Literal["coarse", "true", "discovered", "random"]
Draw = Callable[[Part, int, int], Dataset]  # (part, samples, seed)


@dataclass(frozen=True)
class FineLabels:
    """A label for every training point, the coarse class 0 or 1 of each label, and the CPU seconds it took."""

    labels: Ints  # (sample,)
    class_of: Ints  # (label,)
    seconds: float


@dataclass(frozen=True)
class BenchmarkSplit:
    """Points to train on and points to judge by: held-out ones of the pilot seed, test points of the others."""

    train: Dataset
    judge: Dataset
    seed: int

    @cached_property
    def _framed(self) -> tuple[Frame, Array, float]:
        began = time.process_time()
        frame = Frame.of(self.train.x, np.ones(len(self.train)))
        inside = frame.inside(self.train.x)
        return frame, inside, time.process_time() - began

    @cached_property
    def _embedded(self) -> tuple[Array, float]:
        began = time.process_time()
        points = embed(self.train.x, "pca", self.seed)
        return points, time.process_time() - began

    @property
    def frame(self) -> Frame:
        """The frame of the training points."""
        return self._framed[0]

    @property
    def inside(self) -> Array:
        """The training points in the frame: (sample, axis)."""
        return self._framed[1]

    @property
    def frame_seconds(self) -> float:
        """What finding the frame cost; every network needs it."""
        return self._framed[2]

    @cached_property
    def judged(self) -> Array:
        """The points to judge by in the frame: (judged, axis)."""
        return self.frame.inside(self.judge.x)

    @property
    def codes(self) -> Ints:
        """Coarse classes 0 and 1 of the training points: (sample,)."""
        return (self.train.y > 0).astype(np.int64)

    @property
    def judged_codes(self) -> Ints:
        """Coarse classes 0 and 1 of the points to judge by: (judged,)."""
        return (self.judge.y > 0).astype(np.int64)

    def labels(self, kind: Kind, count: int = 1) -> FineLabels:
        """Labels of a kind, `count` per class: the classes, the true fine ones, k-means inside classes, or drawn ones.

        They are found once; whoever asks again is charged the same seconds.
        """
        if (kind, count) not in self._by_kind:
            self._by_kind[kind, count] = self._labels(kind, count)
        return self._by_kind[kind, count]

    @cached_property
    def _by_kind(self) -> dict[tuple[Kind, int], FineLabels]:
        return {}

    def _labels(self, kind: Kind, count: int) -> FineLabels:
        began = time.process_time()
        if kind == "true":
            return FineLabels(self.train.cluster, (self.train.center_labels > 0).astype(np.int64), 0.0)
        if kind == "discovered":
            points, cost = self._embedded
            began = time.process_time()
            labels, class_of = Finder(points, self.codes, seed=self.seed)(np.arange(len(points)), count)
            return FineLabels(labels, class_of, cost + time.process_time() - began)
        rng, labels = np.random.default_rng(self.seed), np.empty(len(self.train), dtype=np.int64)
        for code in (0, 1):
            own = np.flatnonzero(self.codes == code)
            labels[own] = code * count + rng.permutation(len(own)) % count  # no label without a point
        return FineLabels(labels, np.repeat([0, 1], count), time.process_time() - began)


def images(name: str, task: str) -> Draw:
    """Pixels of an image set as points."""
    return lambda part, samples, seed: load_images(name, part, task, samples=samples, seed=seed)


def cifar_features(task: str) -> Draw:
    """CIFAR-10 images as the 128 penultimate outputs of the backbone that ships with the package."""

    def draw(part: Part, samples: int, seed: int) -> Dataset:
        from featavg.deep import channels_first, cifar_backbone, extract_features, feature_data

        found = load_images("cifar10", part, task, samples=samples, seed=seed)
        with one_thread():
            features = extract_features(cifar_backbone(), channels_first(found.images), batch=200)
        return feature_data(features, found.cluster, found.center_labels)

    return draw


def reference_split(draw: Draw, samples: int, judged: int, seed: int) -> BenchmarkSplit:
    """Training points from the training part, points to judge by from the test part."""
    return BenchmarkSplit(draw("train", samples, seed), draw("test", judged, seed), seed)


def pilot_split(draw: Draw, samples: int, judged: int, seed: int) -> BenchmarkSplit:
    """Both from the training part: what is tuned here has not seen a test point."""
    points = draw("train", samples + judged, seed)
    judge, train = (points.take(rows) for rows in split(points.labels.codes, (judged, samples), seed))
    return BenchmarkSplit(train, judge, seed)
