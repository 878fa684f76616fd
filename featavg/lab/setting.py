"""What can be dragged: the numbers of a run, their ranges, and the run as Python code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from featavg.errors import InputError

PAPER_STEP, PAPER_START = 3.072, 1e-5 * 3072  # η·d and σ_w·d of the paper


@dataclass(frozen=True)
class Slider:
    """A number of the setting, from `low` to `high`; a logarithmic one moves through powers of ten."""

    name: str
    text: str
    low: float
    high: float
    step: float = 1.0  # of log10 where the slider is logarithmic
    log: bool = False
    whole: bool = True

    @property
    def about(self) -> dict[str, Any]:
        """As the page takes it."""
        return asdict(self)


SLIDERS = (
    Slider("clusters", "clusters k", 2, 40),
    Slider("labels", "labels that are trained on", 2, 40),
    Slider("steps", "training time, in steps", 0, 3, 0.05, log=True),
    Slider("dim", "dimension d", 2, 12, 0.1, log=True),
    Slider("samples", "training points n", 20, 2000, 20),
    Slider("noise", "noise σ", 0, 5, 0.05, whole=False),
    Slider("neurons", "neurons", 2, 80),
    Slider("start", "size of the first weights, in the paper's", -2, 4, 0.1, log=True, whole=False),
    Slider("step_size", "step size, in the paper's", -2, 2, 0.1, log=True, whole=False),
    Slider("power", "power of the activation", 1, 4),
    Slider("correlation", "cosine between centers", -0.1, 0.9, 0.02, whole=False),
    Slider("seed", "seed", 0, 99),
    Slider("neuron", "neuron whose λ(t) is drawn", 0, 79),
)


@dataclass(frozen=True)
class Setting:
    """The paper's setting (Section 5), with the number of labels between its two networks.

    `labels` = 2 trains the coarse classes, `labels` = clusters every cluster by itself, and between them clusters of
    one class share labels. Step size and start are in units of the paper's, which hold η·d and σ_w·d fixed.
    """

    clusters: int = 10
    labels: int = 2
    steps: int = 100
    dim: int = 3072
    samples: int = 1000
    noise: float = 1.0
    neurons: int = 10  # of all labels together
    start: float = 1.0
    step_size: float = 1.0
    power: int = 1
    correlation: float = 0.0
    seed: int = 0
    neuron: int = 0  # whose coefficients are drawn

    def __post_init__(self) -> None:
        for slider in SLIDERS:
            low, high = (10.0**end if slider.log else end for end in (slider.low, slider.high))
            value = getattr(self, slider.name)
            slack = 1e-9 * max(abs(low), 1e-3)
            if not low - slack <= value <= high + slack:
                raise InputError(f"{slider.text} must lie between {low:g} and {high:g}, got {value:g}")
        if self.labels > self.clusters:
            raise InputError(
                f"{self.clusters} clusters cannot carry {self.labels} labels, since each label needs a cluster; "
                "lower the labels or raise the clusters"
            )
        if self.neurons < self.labels:
            raise InputError(
                f"{self.labels} labels need a neuron each, and there are {self.neurons}; raise the neurons"
            )
        if self.correlation < 0 and self.correlation * (self.clusters - 1) <= -1:
            raise InputError(
                f"{self.clusters} centers cannot all have the cosine {self.correlation:g} with each other: it must "
                f"exceed −1/{self.clusters - 1}"
            )

    @property
    def per_label(self) -> int:
        """Neurons of one label; what does not divide is left out."""
        return self.neurons // self.labels

    @property
    def code(self) -> str:
        """The run in Python, as anybody can repeat it."""
        sample = (
            f"clusters={self.clusters}, dim={self.dim}, samples={self.samples}, noise={self.noise:g}, "
            f"correlation={self.correlation:g}, reserve={max(64, self.neurons)}, seed={self.seed}"
        )
        rest = f"{self.per_label}, seed={self.seed + 2}, scale={self.scale!r}"
        kind = "BinaryNetwork" if self.labels == 2 else "MulticlassNetwork"
        shared = 2 < self.labels < self.clusters
        taught = "taught" if shared else "data"
        needed = [*(["coarsened"] if shared else []), *(["powered"] if self.power > 1 else [])]
        lines = [
            "import featavg as fa",
            *([f"from featavg.lab.run import {', '.join(needed)}"] if needed else []),
            f"data = fa.sample_clusters({sample})",
            *([f"taught = coarsened(data, labels={self.labels})"] if shared else []),
            f"network = fa.{kind}.random({taught}, {rest})",
            *([f"network = powered(network, {self.power})"] if self.power > 1 else []),
            f"rule = fa.GradientDescent(steps={self.steps}, step_size={self.eta!r})",
            f'run = fa.train(network, {taught}, rule, engine="gram")',
            f"test = data.resample(200, seed={self.seed + 1})",
        ]
        if self.power == 1:
            readout = "" if self.labels == 2 else ', readout="maximum"'
            lines.append(f"radius = fa.robust_radius(run.final, test.x, test.y{readout})")
        return "\n".join(lines)

    @property
    def eta(self) -> float:
        """η."""
        return self.step_size * PAPER_STEP / self.dim

    @property
    def scale(self) -> float:
        """σ_w."""
        return self.start * PAPER_START / self.dim


def setting_from(values: object) -> Setting:
    """A setting from what a page sends; anything else is refused in one sentence.

    >>> setting_from({"clusters": 4}).clusters
    4
    """
    if not isinstance(values, Mapping):
        raise InputError(f"a setting is a table of numbers, got {values!r:.80}")
    whole = {field.name: field.type == "int" for field in fields(Setting)}
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name not in whole:
            raise InputError(f"a setting has {', '.join(whole)}, got {name!r:.80}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e13:
            raise InputError(f"{name} must be a number, got {value!r:.80}")
        found[name] = round(value) if whole[name] else float(value)
    return Setting(**found)
