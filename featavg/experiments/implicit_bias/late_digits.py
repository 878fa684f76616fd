"""Late training on digits: the table of models 1 to 4, and thirty networks whose margins differ."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from featavg.analysis import normalized_margin
from featavg.arrays import Array
from featavg.data import Dataset, load_images
from featavg.experiments import Expect, Quantity
from featavg.experiments.implicit_bias.late import first_below
from featavg.model import Argmax, Layer, Network
from featavg.record import Column, Drawing, Table
from featavg.robustness import MinimalNorm, robust_radius
from featavg.training import CrossEntropy, GradientDescent, Logistic, LossBasedDescent, Trajectory, every, train

LYU_LI = "Lyu & Li 2020"
DEEP = ("weights_1", "weights_2", "weights_3")
SHALLOW = ("weights", "second")
ROW_COLUMNS = {
    "table_steps": Quantity("steps to the loss 10^model", ("model",)),
    "table_margin": Quantity("smallest margin over the product of the norms of the layers", ("model",)),
    "table_train_radius": Quantity("median ℓ2 distance, in pixels of [0, 1], of {config.attacked} training digits to "
                                   "the nearest fooled point that an attack finds, an upper bound", ("model",)),
    "table_test_radius": Quantity("the same at test digits; an error counts as 0", ("model",)),
    "table_accuracy": Quantity("accuracy on {config.attacked} test digits", ("model",),
                               points=lambda config: config.attacked),
}  # fmt: skip
TABLE_COLUMNS = {
    **ROW_COLUMNS,
    "ahead": "log10 of the loss after steps of constant size, the best of {config.constant_sizes}, minus that after as "
    "many loss-based ones, which have just come to 10^{config.equal_loss:.0f}",
    "margin_ahead": "margin over the product of norms after these loss-based steps, minus that of the constant ones",
}


@dataclass(frozen=True)
class Digits:
    """Two hundred digits to 1e-120, and thirty networks on a hundred."""

    table_images: int = 200
    table_width: int = 40
    models: tuple[float, ...] = (-10.0, -15.0, -20.0, -120.0)  # log10 of the loss
    table_every: int = 10  # steps between saved moments: a path of all weights would take gigabytes
    equal_loss: float = -20.0  # log10 of the loss at which steps of constant size are compared
    constant_sizes: tuple[float, ...] = (0.003, 0.01)  # of the sum of losses
    attacked: int = 100
    varied_images: int = 100
    widths: tuple[int, ...] = (20, 40, 80)
    scales: tuple[float, ...] = (0.3, 1.0)
    stops: tuple[float, ...] = (0.0, -1.0, -2.0, -4.0, -6.0)  # log10 of the loss


def without_biases(sizes: tuple[int, ...], rng: np.random.Generator, scale: float = 1.0) -> tuple[Layer, ...]:
    """Layers of these sizes from He's normal start, times a scale."""
    return tuple(
        Layer(scale * np.sqrt(2 / before) * rng.standard_normal((after, before)), np.zeros(after))
        for before, after in pairwise(sizes)
    )


def models_table(config: Digits, seed: int) -> dict[str, Any]:
    """Three layers without biases on ten digits: one row for each loss that is reached, and steps of one size."""
    data = load_images("digits", "train", samples=config.table_images, seed=seed)
    test = load_images("digits", "test", samples=config.attacked, seed=seed)
    width = config.table_width
    layers = without_biases((data.x.shape[1], width, width, data.clusters), np.random.default_rng(seed))
    start = Network(layers, Argmax(np.arange(data.clusters)))
    rule = LossBasedDescent(log_loss=config.models[-1] * np.log(10), most_steps=1_000_000)
    run = train(start, data, rule, loss=CrossEntropy("sum"), trained=DEEP, save_at=every(config.table_every))
    rows = first_below(run, [power * np.log(10) for power in config.models])
    networks = [run.at(t) for t in rows]
    nearby = data.take(np.arange(min(config.attacked, len(data))))
    (equal,) = first_below(run, [config.equal_loss * np.log(10)])
    constant = _constant(config, start, data, int(run.steps[equal]))
    return {
        "table_steps": run.steps[rows],
        "table_margin": [margin_by_layers(network, data) for network in networks],
        "table_train_radius": [_attacked(network, nearby) for network in networks],
        "table_test_radius": [_attacked(network, test) for network in networks],
        "table_accuracy": [np.mean(network.predict(test.x) == test.cluster) for network in networks],
        "ahead": (constant.log_losses[-1] - run.log_losses[equal]) / np.log(10),
        "margin_ahead": margin_by_layers(run.at(equal), data) - margin_by_layers(constant.final, data),
    }


def row_claims(least: float, published: float, last: str) -> list[Expect]:
    """What the published table says of its rows; `least` is half of the growth that it has down to the loss `last`."""
    return [
        Expect("margin_steps", "On digits every row of the table has a larger margin than the one before.",
               f"{LYU_LI}, Table 1", expected=1.0, tolerance=0.0, relation="at least", because="any growth counts"),
        Expect("margin_growth", f"From a loss of 1e-10 to one of {last} it grows at least half as much as published.",
               f"{LYU_LI}, Table 1", expected=least, tolerance=0.0, relation="at least", published=published,
               because="another network on fewer images; within a factor of two would be the same effect"),
        Expect("train_growth", "The later network is the more robust one at training digits.", f"{LYU_LI}, Figure 3",
               expected=1.0, tolerance=0.0, relation="at least", because="any growth counts"),
        Expect("test_growth", "So it is at test digits.", f"{LYU_LI}, Figure 3", expected=1.0, tolerance=0.0,
               relation="at least", because="any growth counts; published: ordered beyond ε = 0.2, alike below"),
        Expect("train_order", "Robustness at training digits rises with every row.", f"{LYU_LI}, Figure 3",
               expected=1.0, tolerance=0.0, relation="at least", because="published for ε < 0.3"),
    ]  # fmt: skip


def table_claims(least: float, published: float, last: str) -> list[Expect]:
    """The rows, and loss-based steps against steps of one size."""
    return [
        *row_claims(least, published, last),
        Expect("ahead", "Loss-based steps outrun the constant sizes that were tried, by five orders or more at equal "
               "steps.", "talks' figure", expected=5.0, tolerance=0.0, relation="at least",
               because="constant steps give 1/t, loss-based ones exponential decay; five orders cannot be overlooked"),
        Expect("margin_ahead", "Their margin is larger, too.", "talks' figure", expected=0.0, tolerance=0.0,
               relation="at least", because="any lead counts"),
    ]  # fmt: skip


def table_growth(table: Table) -> dict[str, tuple[Array, str]]:
    """How margins and radii grow from row to row."""
    margin, near, far = (table[f"table_{name}"] for name in ("margin", "train_radius", "test_radius"))  # (seed, model)
    return {
        "margin_steps": ((margin[:, 1:] / margin[:, :-1]).min(axis=1), "smallest ratio of margins of successive rows"),
        "margin_growth": (margin[:, -1] / margin[:, 0], "ratio of the margins of the last row and of the first"),
        "train_growth": (near[:, -1] / near[:, 0], "ratio of the median radii at training digits, last row and first"),
        "test_growth": (far[:, -1] / far[:, 0], "ratio of the median radii at test digits, last row and first"),
        "train_order": ((near[:, 1:] / near[:, :-1]).min(axis=1), "smallest ratio of median radii of successive rows"),
    }


def rows_table(config: Digits, table: Table) -> Table:
    """The growth from row to row, and margins and radii in units of the first row, over −log10 of the loss."""
    columns = {"orders": Column(-np.array(config.models), ("model",), "−log10 of the loss")}
    for name in ("margin", "train_radius", "test_radius"):
        values = table[f"table_{name}"]
        text = f"{name.replace('_', ' ')} over that of the first row"
        columns[f"{name.split('_')[0]}_ratio"] = Column(values / values[:, :1], ("seed", "model"), text)
    return table.plus({**table_growth(table), **columns})


def rows_drawing(what: str, published: str) -> Drawing:
    """The rows over the orders of the loss."""
    return Drawing("curves", {"x": "orders", "y": ("margin_ratio", "train_ratio", "test_ratio")}, band=0.95,
        caption=f"{what} over the product of the norms of its layers, and median radii at training and test digits, "
        f"over the decimal orders of the loss and in units of the first row. The published margin grows {published}.",
        options={"labels": ["margin", "radius, training digits", "radius, test digits"], "log_x": True,
                 "x_label": "−log10 loss", "y_label": "over the first row"})  # fmt: skip


def margin_by_layers(network: Network, data: Dataset) -> float:
    """min_i q_i / Π_l ‖W_l‖, as the published table has it."""
    sizes = [np.linalg.norm(layer.weights) for layer in network.layers]
    return float(network.margins(data.x, data.cluster).min() / np.prod(sizes))


def _constant(config: Digits, start: Network, data: Dataset, steps: int) -> Trajectory:
    """Steps of one size, the best of those that are tried."""
    runs = [
        train(start, data, GradientDescent(steps=steps, step_size=eta), loss=CrossEntropy("sum"), trained=DEEP,
              save_at=[steps])
        for eta in config.constant_sizes
    ]  # fmt: skip
    return min(runs, key=lambda run: float(run.log_losses[-1]))


def _attacked(network: Network, data: Dataset) -> float:
    """Median distance to the nearest fooled point that an attack finds: an upper bound, as for three layers all are."""
    import torch

    from featavg.deep import as_torch, ask_deep

    question = ask_deep(as_torch(network, torch.float64), data.x, data.cluster, precision="float64")
    return float(np.median(MinimalNorm().on(question).upper))


def varied(config: Digits, seed: int) -> dict[str, Array]:
    """Margins, exact radii and test errors of two-layer networks of several widths, starts and losses."""
    data = load_images("digits", "train", samples=config.varied_images, seed=seed)
    test = load_images("digits", "test", seed=seed)
    few = test.take(np.random.default_rng(seed).permutation(len(test))[: config.attacked])
    found = []
    for width in config.widths:
        for scale in config.scales:
            layers = without_biases((data.x.shape[1], width, 1), np.random.default_rng([seed, width]), scale)
            rule = LossBasedDescent(log_loss=config.stops[-1] * np.log(10))
            run = train(Network(layers), data, rule, loss=Logistic("sum"), trained=SHALLOW, save_at=every(5))
            # A narrow network may never separate the points; then its last moment stands for the losses not reached.
            lowest = float(run.log_losses.min())
            stops = first_below(run, [max(power * np.log(10), lowest) for power in config.stops])
            found.append([_measured(run.at(t), data, few, test) for t in stops])
    margins, radii, errors = np.moveaxis(np.array(found), 2, 0)  # (setting, stop)
    return {"varied_margin": margins, "varied_radius": radii, "varied_error": errors}


def _measured(network: Network, data: Dataset, few: Dataset, test: Dataset) -> tuple[float, float, float]:
    radii = robust_radius(network, few.x, few.y).upper
    error = float(np.mean(network.predict(test.x) != test.y))
    return normalized_margin(network, data.x, data.y, trained=SHALLOW), float(np.median(radii)), error
