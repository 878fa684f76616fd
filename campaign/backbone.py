"""Train the narrow ResNet-18 whose weights ship with the package: `python -m campaign backbone`.

An hour on one core, with a checkpoint an epoch in the user's cache: an interrupted run goes on.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from rich.progress import Progress

from featavg.data import load_pixels
from featavg.deep import Fitted, Recipe, ResNet18, card_of, channels_first, save_weights
from featavg.deep.backbones import SHIPPED_NAME, SHIPPED_WIDTH, untrained_cifar_backbone
from featavg.deep.fit import trained
from featavg.intervals import wilson
from featavg.record import LEVEL, Claim, Drawing, Evidence, Record, Table

RECIPE = Recipe(epochs=30, batch_size=128, learning_rate=0.2, warmup=0.25, crop=4, flip=True)
TESTED = 10_000  # images of the official test part
SHIPPED = Path("featavg/deep/shipped")


def run(folder: Path, workers: int) -> Record:
    """Train, write the weights with their card, and return the log as a record."""
    torch.set_num_threads(workers)
    (pixels, labels), (test_pixels, test_labels) = load_pixels("cifar10"), load_pixels("cifar10", "test")
    test = channels_first(test_pixels), test_labels
    with Progress() as bars:
        task = bars.add_task("ResNet-18 on CIFAR-10", total=1.0)
        fitted = trained(
            "backbone", untrained_cifar_backbone(), channels_first(pixels), labels, RECIPE, validation=test,
            progress=lambda done, total: bars.update(task, completed=done / total),
        )  # fmt: skip
    card = card_of(
        fitted, RECIPE, name=SHIPPED_NAME, architecture=f"featavg.deep.ResNet18(10, width={SHIPPED_WIDTH})",
        data="CIFAR-10, 50,000 training images; validation is the official test part, by which nothing was chosen",
    )  # fmt: skip
    sha256 = save_weights(fitted.module, SHIPPED / f"{SHIPPED_NAME}.safetensors", card.as_dict())
    (SHIPPED / f"{SHIPPED_NAME}.md").write_text(replace(card, sha256=sha256).markdown())
    return _record(fitted, sha256)


def _record(fitted: Fitted[ResNet18], sha256: str) -> Record:
    accuracy = np.array([entry.validation for entry in fitted.log], dtype=np.float64)
    low, high = wilson(accuracy[-1:], TESTED, LEVEL)
    claim = Claim(
        measured=float(accuracy[-1]),
        interval=(float(low[0]), float(high[0])),
        text="A ResNet-18 of width 16 learns CIFAR-10 to at least 90 % within an hour of two cores.",
        source="goal of the project",
        expected=0.90,
        tolerance=0.0,
        relation="at least",
        tolerance_reason="a goal; the interval is over test images, since an hour allows one training run",
        how="accuracy on the 10,000 test images after the last epoch, by which nothing was chosen; seed 0",
    )
    drawing = Drawing(
        "curves",
        {"x": "epoch", "y": "accuracies"},
        caption="Accuracy over training of the backbone that ships with the package.",
        options={"labels": ["test images", "training images, augmented"], "x_label": "epoch"},
    )
    return Record(
        name="backbone",
        title="The backbone that ships with the package",
        config={**asdict(RECIPE), "width": SHIPPED_WIDTH, "sha256": sha256},
        seeds=(RECIPE.seed,),
        claims=(claim,),
        evidence=Evidence(
            Table.of(
                {
                    "epoch": np.array([entry.epoch for entry in fitted.log]),
                    "seconds": np.array([entry.seconds for entry in fitted.log]),
                    "accuracies": np.stack([accuracy, [entry.accuracy for entry in fitted.log]]),
                    "loss": np.array([entry.loss for entry in fitted.log]),
                }
            ),
            (drawing,),
            (
                "Seconds are wall-clock time on a machine with other work; the recipe counts epochs. Alone, an epoch "
                "takes 121 CPU seconds of one thread (measured on 3,840 images), so the run is an hour of one core.",
            ),
        ),
    )
