"""Attacks of other libraries, each as a function of a slice of points: which of them survive at one radius.

A network with one output becomes two logits (−f/2, f/2), which is what these libraries expect; a tie then goes to the
first class, so half of the ties count as survivors there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

torch.set_num_threads(1)
STEPS = 20


class Logits(torch.nn.Module):
    """The network in torch, on inputs scaled by `scale` and shifted to [0, 1] where a library insists."""

    def __init__(self, network: Any, scale: float = 1.0, shift: float = 0.0) -> None:
        super().__init__()
        tensors = (network.weights, network.biases, network.second, network.output_bias)
        self.weights, self.biases, self.second, self.output_bias = (
            torch.tensor(t, dtype=torch.float32) for t in tensors
        )
        self.scale, self.shift = scale, shift

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (sample, class)."""
        points = x.flatten(1) / self.scale - self.shift
        outputs = torch.relu(points @ self.weights.T + self.biases) @ self.second.T + self.output_bias
        return outputs if outputs.shape[1] > 1 else torch.cat([-outputs / 2, outputs / 2], dim=1)


def _classes(y: np.ndarray, network: Any) -> np.ndarray:
    return y if len(network.second) > 1 else (y + 1) // 2


def _survivors(model: Logits, points: np.ndarray | torch.Tensor, labels: torch.Tensor) -> np.ndarray:
    with torch.no_grad():
        return (model(torch.as_tensor(points)).argmax(dim=1) == labels).numpy()


def foolbox(name: str, network: Any, x: np.ndarray, y: np.ndarray, radius: float) -> Callable[[slice], np.ndarray]:
    """L2PGD."""
    import foolbox as fb

    model = Logits(network)
    wrapped = fb.PyTorchModel(model.eval(), bounds=(-1000.0, 1000.0))
    step = {} if "default" in name else {"abs_stepsize": 2.5 * radius / STEPS}
    attack = fb.attacks.L2PGD(steps=STEPS, **step)
    points, labels = torch.tensor(x, dtype=torch.float32), torch.tensor(_classes(y, network))
    return lambda part: ~attack(wrapped, points[part], labels[part], epsilons=[radius])[2][0].numpy()


def art(name: str, network: Any, x: np.ndarray, y: np.ndarray, radius: float) -> Callable[[slice], np.ndarray]:
    """ProjectedGradientDescent."""
    from art.attacks.evasion import ProjectedGradientDescent
    from art.estimators.classification import PyTorchClassifier

    model = Logits(network)
    labels = torch.tensor(_classes(y, network))
    classifier = PyTorchClassifier(model, torch.nn.CrossEntropyLoss(), x.shape[1:], max(2, len(network.second)))
    attack = ProjectedGradientDescent(
        classifier, norm=2, eps=radius, eps_step=2.5 * radius / STEPS, max_iter=STEPS, batch_size=1000, verbose=False
    )
    points = x.astype(np.float32)
    return lambda part: _survivors(model, attack.generate(points[part], labels[part].numpy()), labels[part])


def autoattack(name: str, network: Any, x: np.ndarray, y: np.ndarray, radius: float) -> Callable[[slice], np.ndarray]:
    """AutoAttack, which knows images in [0, 1] only: inputs are squeezed and shaped so, and the radius with them."""
    from pyautoattack import AutoAttack

    reach = float(np.abs(x).max() + radius)
    scale = 1 / (2 * reach)
    model = Logits(network, scale=scale, shift=reach).eval()
    choice: dict[str, Any] = (
        {"version": "standard"} if "standard" in name else {"version": "custom", "attacks": ["apgd-ce"]}
    )
    attack = AutoAttack(model, norm="L2", eps=radius * scale, seed=0, **choice)
    points = torch.tensor((x + reach) * scale, dtype=torch.float32).reshape(len(x), 3, 32, -1)
    labels = torch.tensor(_classes(y, network))
    return lambda part: _survivors(
        model, attack.run_standard_evaluation(points[part], labels[part], batch_size=250)[0], labels[part]
    )
