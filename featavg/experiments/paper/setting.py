"""The paper's synthetic setting (Section 5, Fig. 2a-b and Fig. 3 left), shared by the claims about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from featavg.analysis import theory
from featavg.data import Dataset, sample_clusters
from featavg.model import BinaryNetwork, MulticlassNetwork
from featavg.training import GradientDescent, Trajectory, train

TEST_SEED = 10_000  # added to the seed of the training sample, so that test points are independent of it
NETWORK_SEED = 20_000


@dataclass(frozen=True)
class Setting:
    """k = 10 clusters in d = 3072, n = 1000 points, α = σ = 1, T = 100 steps of η = 1e-3, weights from N(0, 1e-10)."""

    clusters: int = 10
    dim: int = 3072
    samples: int = 1000
    neurons_per_class: int = 5  # m of the binary network; the k-class network has one neuron per class
    steps: int = 100
    seeds: int = 5
    first_seed: int = 0

    @property
    def theory(self) -> theory.Setting:
        """What predictions are made from."""
        return theory.Setting(self.clusters, self.dim, samples=self.samples)

    @property
    def per_cluster(self) -> float:
        """n/k points per cluster, by expectation."""
        return self.samples / self.clusters

    @property
    def size_spread(self) -> float:
        """1/√(n/k), the relative standard deviation of the size of a cluster."""
        return self.per_cluster**-0.5

    def data(self, seed: int, **options: Any) -> Dataset:
        """Return the training sample of this seed."""
        return sample_clusters(self.clusters, self.dim, self.samples, seed=seed, **options)

    def test(self, data: Dataset, seed: int, points: int = 1000) -> Dataset:
        """Return fresh points around the same centers."""
        return data.resample(points, seed=TEST_SEED + seed)

    def coarse(
        self, data: Dataset, seed: int, save_at: Any = None, step_size: float | None = None, scale: float | None = None
    ) -> Trajectory:
        """Train the binary network on the coarse labels, with the paper's step size and initial scale by default."""
        start = BinaryNetwork.random(data, self.neurons_per_class, seed=NETWORK_SEED + seed, scale=scale)
        return train(start, data, GradientDescent(steps=self.steps, step_size=step_size), save_at=save_at)

    def trained(self, kind: str, data: Dataset, seed: int, save_at: Any = None) -> Trajectory:
        """Train the network of either kind, coarse or fine."""
        return (self.coarse if kind == "coarse" else self.fine)(data, seed, save_at)

    def fine(self, data: Dataset, seed: int, save_at: Any = None) -> Trajectory:
        """Train the k-class network, one neuron per class, on the fine labels."""
        start = MulticlassNetwork.random(data, 1, seed=NETWORK_SEED + seed)
        return train(start, data, GradientDescent(steps=self.steps), save_at=save_at)
