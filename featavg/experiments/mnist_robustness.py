"""MNIST parity: do ten digits as labels make a network more robust than two, under attacks on the parity itself?"""

from __future__ import annotations

from dataclasses import dataclass

from featavg.experiments import Progress
from featavg.experiments._images import claims
from featavg.experiments._images.cnn import CnnSetting, cnn_subject
from featavg.experiments._images.robustness import image_record, measure
from featavg.record import Record

COST = ("long", 2600)
NEEDS = ("mnist",)
SOURCE = "Fig. 3 middle"
# Robust accuracy read off the paper's Fig. 3 (middle), radius by radius.
PUBLISHED = {
    "coarse": {0.0: 0.992, 0.2: 0.981, 0.4: 0.962, 0.6: 0.926, 0.8: 0.865, 1.0: 0.753, 1.2: 0.583, 1.4: 0.394,
               1.6: 0.237, 1.8: 0.128, 2.0: 0.069},
    "fine": {0.0: 0.996, 0.2: 0.988, 0.4: 0.978, 0.6: 0.958, 0.8: 0.928, 1.0: 0.878, 1.2: 0.803, 1.4: 0.695,
             1.6: 0.559, 1.8: 0.415, 2.0: 0.281},
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Config(CnnSetting):
    """Even digits against odd ones."""

    data: str = "mnist"
    reach: float = 4.0
    ball_radii: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0)


def run(config: Config, progress: Progress) -> Record:
    """Train and attack a pair of networks for each seed."""
    from featavg.deep.backbones import MNIST_MEAN, MNIST_STD

    subject = cnn_subject(config, MNIST_MEAN[0], MNIST_STD[0], PUBLISHED)
    found = measure(config, subject, progress)
    made = [
        claims.published_gap(found, PUBLISHED, 1.0, SOURCE, "pixels of [0, 1]"),
        claims.median_gap(found, SOURCE),
        claims.equal_accuracy_gap(found, "reviewers' question"),
        claims.early_gap(found, "trial runs of this project"),
        *claims.two_layer_gaps(found, config.marks),
        claims.agreement(found, PUBLISHED, 1.0, SOURCE, "pixels of [0, 1]"),
        claims.attacks_succeed(found, config),
        claims.minimal_norm_suffices(found, config),
        claims.control_overstates(found, config),
    ]
    return image_record(config, subject, found, made, [config.note("even digits against odd ones")])
