"""Attacks through deep networks against those of foolbox and AutoAttack, on one and the same binary decision.

A small CNN learns ten digits from 2000 images of MNIST; its decision is the parity by summed probabilities. Peers see
it as two logits, the two logsumexps, so that their losses aim at the same decision. On a two-layer network of digits
the exact radius is the judge. CPU seconds of one thread.

python -m benchmarks.deep_attacks [FOLDER]      writes results/benchmarks/deep_attacks.json, two to three minutes
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import featavg as fa
from featavg import deep
from featavg.data import coarse_task, load_pixels
from featavg.record import Claim, Drawing, Evidence, Provenance, Record, Table, write_record
from featavg.robustness import (
    APGD,
    PGD,
    Attack,
    BoundaryWalk,
    MinimalNorm,
    UniversalDirection,
    robust_accuracy,
    robust_radius,
)

torch.set_num_threads(1)
POINTS, TRUTH_POINTS = 100, 200
RADII = np.linspace(0.2, 2.0, 10)
ONE_RADIUS = 4  # AutoAttack answers for one radius at a time: the fifth
STEPS = 60
PARITY = coarse_task("parity", "0123456789")


class TwoLogits(torch.nn.Module):
    """(log Σ_{J-} exp F, log Σ_{J+} exp F): argmax is the decision by summed probabilities."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (sample, 2)."""
        outputs = self.module(x)
        return torch.stack([outputs[:, np.flatnonzero(PARITY * sign > 0)].logsumexp(dim=1) for sign in (-1, 1)], dim=1)


def trained() -> torch.nn.Module:
    """The CNN: 2000 images, three epochs."""
    pixels, labels = load_pixels("mnist")
    module = deep.SmallCNN(10, mean=(0.1307,), std=(0.3081,), seed=0)
    recipe = deep.Recipe(epochs=3, batch_size=50, learning_rate=0.03)
    return deep.fit(module, deep.channels_first(pixels[:2000]), labels[:2000], recipe).module


def timed(run: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    """What `run` returns, and its CPU seconds."""
    began = time.process_time()
    return run(), time.process_time() - began


def curve(question: Any, attack: Attack, radii: np.ndarray) -> np.ndarray:
    """Robust accuracy at the radii."""
    return robust_accuracy(attack.on(question), radii).upper


def foolbox_curve(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, attack: Any, radii: Any) -> np.ndarray:
    """Robust accuracy at the radii; minimal-norm attacks are asked once."""
    import foolbox as fb

    wrapped = fb.PyTorchModel(module.eval(), bounds=(0.0, 1.0))
    fooled = attack(wrapped, x, y, epsilons=[float(radius) for radius in radii])[2]
    return 1 - fooled.double().mean(dim=1).numpy()


def autoattack_share(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, radius: float) -> float:
    """Robust accuracy at one radius against APGD on cross-entropy."""
    from pyautoattack import AutoAttack

    attack = AutoAttack(module, norm="L2", eps=radius, seed=0, version="custom", attacks=["apgd-ce"])
    found = attack.run_standard_evaluation(x, y, batch_size=len(x))[0]
    with torch.no_grad():
        return float((module(found).argmax(dim=1) == y).double().mean())


def on_images(rows: dict[str, tuple[np.ndarray, float]]) -> float:
    """Fill the rows with curves and CPU seconds on MNIST; return the share that AutoAttack leaves at one radius."""
    import foolbox as fb

    module = trained()
    pixels, labels = load_pixels("mnist", "test")
    x, y = deep.channels_first(pixels[:POINTS]), PARITY[labels[:POINTS]]
    question = deep.ask_deep(module, x, y, readout="summed-probabilities", class_labels=PARITY)
    ours: dict[str, Attack] = {
        "minimal norm": MinimalNorm(steps=STEPS),
        "PGD-40 at ten radii": PGD(radii=RADII.tolist(), steps=40, restarts=0, shorten=False),
        "APGD-50 at ten radii": APGD(radii=RADII.tolist(), steps=50, restarts=0, shorten=False),
        "boundary walk": BoundaryWalk(starts=1, steps=40),
        "feature direction": UniversalDirection(direction=deep.feature_directions(question)),
    }
    for name, attack in ours.items():
        rows[f"featavg {name}"] = timed(lambda attack=attack: curve(question, attack, RADII))
    two, floats, classes = TwoLogits(module).eval(), x.float() / 255, torch.from_numpy((y + 1) // 2)
    theirs = {
        "DDN": fb.attacks.DDNAttack(steps=STEPS),
        "FMN": fb.attacks.L2FMNAttack(steps=STEPS),
        "PGD-40 at ten radii": fb.attacks.L2PGD(steps=40, rel_stepsize=2.5 / 40, random_start=False),
    }
    for name, attack in theirs.items():
        rows[f"foolbox {name}"] = timed(lambda attack=attack: foolbox_curve(two, floats, classes, attack, RADII))
    return autoattack_share(two, floats, classes, RADII[ONE_RADIUS])


def on_two_layers() -> tuple[np.ndarray, np.ndarray]:
    """Ratio of the minimal-norm radius to the exact one, and how far each curve (2, radius) lies above the truth."""
    data, test = fa.load_images("digits"), fa.load_images("digits", "test", samples=TRUTH_POINTS, seed=0)
    start = fa.MulticlassNetwork.random(data, 2, seed=0, scale=0.1)
    network = fa.train(start, data, fa.GradientDescent(steps=300, step_size=0.5)).final
    exact = robust_radius(network, test.x, test.cluster)
    module = deep.as_torch(network, torch.float64)
    question = deep.ask_deep(module, test.x, test.cluster, box=None, precision="float64")
    found = MinimalNorm(steps=STEPS).on(question)
    radii = np.quantile(exact.upper, np.linspace(0.1, 0.95, 10))
    truth = robust_accuracy(exact, radii).upper
    pgd = PGD(radii=radii.tolist(), steps=40, restarts=0, shorten=False)
    above = [robust_accuracy(found, radii).upper - truth, curve(question, pgd, radii) - truth]
    right = exact.upper > 0
    return found.upper[right] / exact.upper[right], np.array(above)


def main(folder: Path = Path("results/benchmarks")) -> None:
    began = time.perf_counter()
    rows: dict[str, tuple[np.ndarray, float]] = {}
    autoattack = on_images(rows)
    ratio, above = on_two_layers()
    for name, (share, seconds) in rows.items():
        print(f"{name:32s} {seconds:6.1f} s  {np.round(100 * share, 1)}", flush=True)
    print(f"AutoAttack apgd-ce at {RADII[ONE_RADIUS]:.1f}: {100 * autoattack:.1f}")
    print(f"minimal norm / exact: median {np.median(ratio):.4f}, 90 % {np.quantile(ratio, 0.9):.4f}")
    print(write_record(_record(rows, autoattack, ratio, above, time.perf_counter() - began), folder))


def _claims(rows: dict[str, tuple[np.ndarray, float]], autoattack: float, above: np.ndarray) -> tuple[Claim, ...]:
    minimal, pgd = rows["featavg minimal norm"], rows["featavg PGD-40 at ten radii"]
    peers = np.min([rows[f"foolbox {name}"][0] for name in ("DDN", "FMN", "PGD-40 at ten radii")], axis=0)
    target = {"source": "benchmark", "relation": "at most", "tolerance": 0.0, "tolerance_reason": "the target"}
    numbers = [
        (minimal[1] / pgd[1], 0.5, "The whole curve in one pass costs at most half of PGD-40 at ten radii.",
         "ratio of CPU seconds, one thread"),
        ((minimal[0] - pgd[0]).max(), 0.01, "It is nowhere above PGD's curve by more than a point, on images.",
         "largest difference over ten radii"),
        ((above[0] - above[1]).max(), 0.01, "Nor on a two-layer network whose exact radii are known.",
         "largest difference over ten radii"),
        ((minimal[0] - peers).max(), 0.01, "It is nowhere above the best of foolbox's DDN, FMN and PGD by more.",
         "largest difference over ten radii"),
        (minimal[0][ONE_RADIUS] - autoattack, 0.01, "Nor above AutoAttack's APGD at one radius.",
         f"difference at radius {RADII[ONE_RADIUS]:.1f}"),
    ]  # fmt: skip
    return tuple(Claim.exact(float(m), text, expected=e, how=how, **target) for m, e, text, how in numbers)


def _record(
    rows: dict[str, tuple[np.ndarray, float]], autoattack: float, ratio: np.ndarray, above: np.ndarray, seconds: float
) -> Record:
    shares = np.stack([share for share, _ in rows.values()])
    arrays = {
        "radii": RADII,
        "accuracy": shares,
        "seconds": np.array([spent for _, spent in rows.values()]),
        "autoattack": np.array([autoattack]),
        "ratio_to_exact": ratio,
        "above_exact": above,
    }
    drawing = Drawing(
        "curves",
        {"x": "radii", "y": "accuracy"},
        caption=f"Robust accuracy of the parity of MNIST digits that each attack leaves standing, {POINTS} points.",
        options={"labels": list(rows), "x_label": "ℓ2 radius in pixels of [0, 1]", "y_label": "robust accuracy"},
    )
    return Record(
        name="deep_attacks",
        title="Attacks through deep networks: minimal norm against PGD, foolbox and AutoAttack",
        config={"points": POINTS, "truth_points": TRUTH_POINTS, "steps": STEPS, "methods": list(rows)},
        seeds=(0,),
        claims=_claims(rows, autoattack, above),
        evidence=Evidence(Table.of(arrays), (drawing,), provenance=Provenance(seconds=round(seconds, 1))),
    )


if __name__ == "__main__":
    main(*(Path(folder) for folder in sys.argv[1:2]))
