"""Draws `averaging.gif`, the animation of the README: one rule, two sets of labels, step by step.

Left the cosines of neurons and features of a network trained on two labels, then of one trained on ten; right the exact
robust accuracy of both at that step. `python docs/images/animate.py [FOLDER]`; a folder also gets every frame as a PNG.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import featavg as fa

STEPS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
RADII = np.linspace(0, 50, 201)
HOLD = 12  # last frames, so that one can read them
COLOURS = ("#0072b2", "#c04d00")


def robust_share(network: fa.Network, test: fa.Dataset, readout: str | None) -> np.ndarray:
    """The share of test points whose exact radius is larger: (radius,)."""
    return (fa.robust_radius(network, test.x, test.y, readout=readout).lower > RADII[:, None]).mean(axis=1)


def matrix(axes: Axes, network: fa.Network, data: fa.Dataset, title: str) -> None:
    """Cosines of neurons (row) with features (column)."""
    axes.imshow(fa.alignment(network, data.centers), cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("features", fontsize=9)
    axes.set_ylabel("neurons", fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])


def frame(step: int, networks: list[fa.Network], data: fa.Dataset, test: fa.Dataset) -> Image.Image:
    """One picture."""
    figure = Figure(figsize=(7.6, 2.9), dpi=100)
    left, middle, right = (
        figure.add_axes(place)
        for place in ((0.04, 0.12, 0.22, 0.62), (0.32, 0.12, 0.22, 0.62), (0.63, 0.18, 0.35, 0.56))
    )
    matrix(left, networks[0], data, "trained on 2 labels:\nevery neuron an average")
    matrix(middle, networks[1], data, "trained on 10 labels:\none feature per neuron")
    for network, readout, colour, name in zip(
        networks, (None, "maximum"), COLOURS, ("2 labels", "10 labels"), strict=True
    ):
        right.plot(RADII, robust_share(network, test, readout), color=colour, linewidth=2.2, label=name)
    for place, text in (((3072 / 10) ** 0.5, "√(d/k)"), ((3072 / 2) ** 0.5, "√(d/2)")):
        right.axvline(place, color="0.4", linewidth=0.8, linestyle=":")
        right.text(place + 0.6, 0.88, text, fontsize=8, color="0.3")
    right.set_xlim(0, 50)
    right.set_ylim(0, 1.05)
    right.set_title("robust accuracy, proved", fontsize=10)
    right.set_xlabel("size of the perturbation", fontsize=9)
    right.tick_params(labelsize=8)
    right.legend(fontsize=8, loc="lower left", frameon=False)
    figure.text(0.5, 0.93, f"step {step} of {STEPS[-1]}", ha="center", fontsize=11, weight="bold")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return Image.open(buffer).convert("RGB")


def frames() -> list[Image.Image]:
    """All of them."""
    data = fa.sample_clusters(clusters=10, dim=3072, samples=1000, seed=0)
    test = data.resample(200, seed=1)
    starts = [
        fa.BinaryNetwork.random(data, neurons_per_class=5, seed=2),
        fa.MulticlassNetwork.random(data, neurons_per_class=1, seed=2),
    ]
    runs = [fa.train(start, data, save_at=list(STEPS)) for start in starts]
    return [frame(step, [run.at(place) for run in runs], data, test) for place, step in enumerate(STEPS)]


if __name__ == "__main__":
    drawn = frames()
    # One palette for all frames, so that nothing flickers.
    palette = Image.fromarray(np.concatenate([np.asarray(one) for one in drawn])).quantize(96)
    small = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in drawn]
    durations = [260] * (len(small) - 1) + [260 * HOLD]
    small[0].save(
        Path(__file__).parent / "averaging.gif",
        save_all=True,
        append_images=small[1:],
        duration=durations,
        loop=0,
        optimize=True,
    )
    for number, one in enumerate(drawn if len(sys.argv) > 1 else []):
        one.save(Path(sys.argv[1]) / f"frame-{number:02d}.png")
