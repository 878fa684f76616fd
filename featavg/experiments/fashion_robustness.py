"""Fashion-MNIST, even classes against odd: do ten labels make a network more robust than two, attacked there?"""

from __future__ import annotations

from dataclasses import dataclass

from featavg.experiments import Progress
from featavg.experiments._images import claims
from featavg.experiments._images.cnn import CnnSetting, cnn_subject
from featavg.experiments._images.robustness import image_record, measure
from featavg.record import Record

COST = ("long", 2600)
NEEDS = ("fashion-mnist",)
SOURCE = "Fig. 3, on other images"
MEAN, STD = 0.2860, 0.3530  # of the training pixels
TASK = "T-shirt, pullover, coat, shirt, bag (the even classes) against trouser, dress, sandal, sneaker, ankle boot"


@dataclass(frozen=True, kw_only=True)
class Config(CnnSetting):
    """Classes 0, 2, 4, 6, 8 against 1, 3, 5, 7, 9."""

    data: str = "fashion-mnist"
    reach: float = 4.0
    ball_radii: tuple[float, ...] = (0.4, 0.8, 1.2, 1.6)


def run(config: Config, progress: Progress) -> Record:
    """Train and attack a pair of networks for each seed."""
    subject = cnn_subject(config, MEAN, STD, {})
    found = measure(config, subject, progress)
    made = [
        claims.median_gap(found, SOURCE),
        claims.equal_accuracy_gap(found, "reviewers' question"),
        claims.early_gap(found, "trial runs of this project"),
        *claims.two_layer_gaps(found, config.marks),
        claims.attacks_succeed(found, config),
        claims.minimal_norm_suffices(found, config),
        claims.control_overstates(found, config),
    ]
    return image_record(config, subject, found, made, [config.note(TASK)])
