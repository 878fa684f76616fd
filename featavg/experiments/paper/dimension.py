"""The dimension does not matter: 3,072 or 10¹², ambient or compact, the network that is learned is the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from featavg.analysis import alignment
from featavg.experiments import Expect
from featavg.experiments.paper.setting import Setting
from featavg.record import Drawing, Table

COST = ("quick", 20)
NEEDS: tuple[str, ...] = ()
CASES = {"sample": lambda config: config.samples_by_name}
COLUMNS = {
    "same": "mean over seeds, independent samples: cosine of neurons and centers of one class",
    "other": "mean over seeds, independent samples: cosine of neurons and centers of different classes",
    "diagonal": "mean over seeds, independent samples: cosine of a class's neuron with its center",
    "coarse_loss": "mean over seeds, independent samples: training loss of the binary network",
    "fine_loss": "mean over seeds, independent samples: training loss of the k-class network",
}
# A statistic may differ from that at d = 3072 by this much: about five standard deviations between two seeds there.
STATISTICS = {
    "same": ("same-class cosine", 0.003),
    "other": ("other-class cosine", 0.006),
    "diagonal": ("k-class diagonal cosine", 0.002),
    "coarse_loss": ("binary loss", 0.005),
    "fine_loss": ("k-class loss", 0.002),
}
DRAWINGS = [
    Drawing("dots", {"measured": "same", "labels": "sample"}, band=0.95, options={"x_label": "same-class cosine"},
        caption="Same-class cosine of the binary network in every dimension, with 95 % intervals over seeds: the "
        "same to a thousandth."),
]  # fmt: skip


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting with η·d and σ_w·d held fixed, which the library's defaults do."""

    dims: tuple[int, ...] = (3072, 10**6, 10**9, 10**12)
    seeds: int = 10

    @property
    def samples_by_name(self) -> dict[str, tuple[int, int, str]]:
        """Name -> number, dimension and coordinates of a sample; the first, ambient, is what others are held to."""
        cases = [(self.dim, "ambient"), *((dim, "compact") for dim in self.dims)]
        return {f"{dim:,} {coordinates}": (i, dim, coordinates) for i, (dim, coordinates) in enumerate(cases)}


def measure(config: Config, seed: int, case: tuple[int, int, str]) -> dict[str, Any]:
    """Train both networks in one dimension."""
    number, dim, coordinates = case
    setting = replace(config, dim=dim)
    # Other seeds for every case, so that the intervals of a difference are those of independent samples.
    seed += 100 * number
    data = setting.data(seed, coordinates=coordinates)
    coarse = setting.coarse(data, seed, save_at=[setting.steps])
    fine = setting.fine(data, seed, save_at=[setting.steps])
    cosines = alignment(coarse.final, data.centers)
    same = coarse.final.neuron_class[:, None] == data.center_labels
    return {
        "same": cosines[same].mean(),
        "other": cosines[~same].mean(),
        "diagonal": np.diagonal(alignment(fine.final, data.centers)).mean(),
        "coarse_loss": coarse.losses[-1],
        "fine_loss": fine.losses[-1],
    }


def claims(config: Config, table: Table) -> list[Expect]:
    """Every statistic in every other sample is that of the first."""
    first, *others = config.samples_by_name
    return [
        Expect(column, f"The {name} at d = {sample} is {_word(column)} at d = {config.dim:,} ambient.", "Assumption 3",
               expected=float(table.sel(column, sample=first).mean()), tolerance=tolerance,
               relation="at least" if column == "other" else "near", at={"sample": sample},
               because="about five standard deviations between two seeds at d = 3072")
        for sample in others
        for column, (name, tolerance) in STATISTICS.items()
    ]  # fmt: skip


def _word(column: str) -> str:
    # At d = 3072 noise switches some points of the other class on, which pushes neurons away; that fades with d.
    return "no farther below 0 than" if column == "other" else "that"
