"""Networks for the benchmark of the exact search: scikit-learn classifiers and adversarially trained ones, kept."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from featavg.data import Dataset, load_images
from featavg.robustness.proof import Decision, Neurons, Problem

TRAINING_POINTS = 10_000
# Radius and epochs of adversarial training, by data set.
ADVERSARY = {"digits": (0.5, 60), "mnist": (1.0, 15)}
STEPS, BATCH, RATE = 7, 128, 1e-3


def folder() -> Path:
    """Where trained networks are kept: FEATAVG_BENCHMARK_CACHE, or a folder beside the data sets."""
    return Path(os.environ.get("FEATAVG_BENCHMARK_CACHE", Path.home() / ".cache" / "featavg" / "benchmarks"))


def parity_problem(name: str, width: int, points: int, *, robust: bool = False) -> Problem:
    """Correctly classified test points of a network of that width for the parity of digits."""
    path = folder() / f"{name}{width}{'_robust' if robust else ''}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        data = load_images(name, "train", samples=None if name == "digits" else TRAINING_POINTS)
        np.savez(path, *(adversarial(data, name, width) if robust else ordinary(data, width)))
    with np.load(path) as arrays:
        neurons = Neurons(*(np.ascontiguousarray(arrays[key]) for key in arrays.files))
    test = load_images(name, "test")
    hidden = np.maximum(test.x @ neurons.weights.T + neurons.biases, 0.0)
    right = np.flatnonzero((hidden @ neurons.outputs[0] + neurons.constants[0]) * test.y > 0)[:points]
    labels = np.asarray(test.y)[right].astype(np.int64)
    return Problem(neurons, np.ascontiguousarray(test.x[right]), labels, Decision("sign", np.zeros(1, dtype=np.int64)))


def ordinary(data: Dataset, width: int) -> Neurons:
    """A scikit-learn classifier as a user would train it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MLPClassifier((width,), max_iter=30, random_state=0).fit(data.x, data.y)
    first, second = model.coefs_
    return Neurons(first.T, model.intercepts_[0], second.T, model.intercepts_[1])


def adversarial(data: Dataset, name: str, width: int) -> Neurons:
    """Adam on the logistic loss at points moved by PGD: STEPS normed steps of 2.5ε/STEPS in a ball of radius ε."""
    radius, epochs = ADVERSARY[name]
    torch.manual_seed(0)
    x, y = (torch.tensor(np.asarray(each), dtype=torch.float32) for each in (data.x, data.y))
    network = torch.nn.Sequential(torch.nn.Linear(x.shape[1], width), torch.nn.ReLU(), torch.nn.Linear(width, 1))
    optimiser = torch.optim.Adam(network.parameters(), RATE)
    for _ in range(epochs):
        for chosen in torch.randperm(len(x)).split(BATCH):
            points, labels = x[chosen], y[chosen]
            moved = torch.zeros_like(points)
            for _ in range(STEPS):
                moved.requires_grad_(True)
                loss = torch.nn.functional.softplus(-network(points + moved)[:, 0] * labels).mean()
                (slope,) = torch.autograd.grad(loss, moved)
                moved = moved.detach() + 2.5 * radius / STEPS * torch.nn.functional.normalize(slope)
                moved = moved * torch.clamp(radius / moved.norm(dim=1, keepdim=True).clamp_min(1e-12), max=1.0)
            optimiser.zero_grad()
            torch.nn.functional.softplus(-network(points + moved)[:, 0] * labels).mean().backward()
            optimiser.step()
    return Neurons(*(each.detach().double().numpy() for each in network.parameters()))
