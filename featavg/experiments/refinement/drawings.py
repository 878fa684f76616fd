"""The pictures of the refinement chapters: the Pareto front, and what training does to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from featavg.arrays import Array
from featavg.experiments.refinement.benchmark import front
from featavg.experiments.refinement.tuning import Trials
from featavg.record import Column, Drawing, Table

LEAST_SECONDS = 0.01  # what takes no time is drawn here


def pareto_columns(prefix: str, table: Table, methods: Sequence[str]) -> tuple[dict[str, Column], dict[str, list[str]]]:
    """Means over seeds of the methods that are drawn, with their names as coordinates."""
    axis, names = f"{prefix}drawn", table[f"{prefix}method"].tolist()
    rows = [names.index(name) for name in methods]
    means = {name: table.mean(f"{prefix}{name}")[rows] for name in ("clean", "lower", "upper", "seconds")}
    means["seconds"] = np.maximum(means["seconds"], LEAST_SECONDS)
    columns = {f"{prefix}pareto_{name}": Column(values, (axis,), f"mean {name}") for name, values in means.items()}
    return columns, {axis: list(methods)}


def front_columns(
    prefix: str, trials: Mapping[str, Trials], radius: float, accuracies: Array
) -> tuple[dict[str, Column], dict[str, list[str] | Array]]:
    """The best robust accuracy among trials of at least each accuracy: (method, accuracy)."""
    fronts = np.stack([front(tried, radius, accuracies) for tried in trials.values()])
    axes = (f"{prefix}front_method", f"{prefix}front_clean")
    text = "best robust accuracy (Newton estimate) on the pilot seed"
    return {f"{prefix}fronts": Column(fronts, axes, text)}, {axes[0]: list(trials), axes[1]: accuracies}


def pareto(prefix: str, radius: float, title: str = "") -> list[Drawing]:
    """Clean against robust accuracy, the brackets of the robust one, and what it costs."""
    robust, upper, labels = f"robust accuracy at ℓ2 radius {radius:g}", f"{prefix}pareto_upper", f"{prefix}drawn"
    return [
        Drawing("scatter", {"x": f"{prefix}pareto_clean", "y": upper, "labels": labels},
            caption=f"{title}Clean against robust accuracy of every method on test points, means over seeds; robust "
            "means that the strongest attack leaves it standing. All were tuned by one rule on held-out points of "
            "another seed.",
            options={"x_label": "clean accuracy", "y_label": robust}),
        Drawing("dots", {"measured": upper, "lower": f"{prefix}pareto_lower", "upper": upper, "labels": labels},
                caption=f"{title}The same robust accuracies with what is proved of them: the truth lies on the line. "
                "Nothing is proved of k-NN; elsewhere a line that is seen is of searches that ended early.",
                options={"x_label": robust}),
        Drawing("scatter", {"x": f"{prefix}pareto_seconds", "y": upper, "labels": labels},
            caption=f"{title}CPU seconds from the points to the classifier against robust accuracy, means over seeds; "
            "auto includes its own tuning, the others were tuned before. k-NN takes no training: it is left of all.",
            options={"log_x": True, "x_label": "CPU seconds of training", "y_label": robust}),
    ]  # fmt: skip


def front_drawing(prefix: str, radius: float, title: str = "") -> Drawing:
    """The fronts of several methods."""
    return Drawing(
        "curves",
        {"x": f"{prefix}front_clean", "y": f"{prefix}fronts", "labels": f"{prefix}front_method"},
        caption=f"{title}Pareto fronts on held-out points of the pilot seed over learning rates and moments of "
        "training: the best robust accuracy (Newton estimate) among trials of at least a clean accuracy.",
        options={"x_label": "clean accuracy of at least", "y_label": f"robust accuracy at ℓ2 radius {radius:g}"},
    )  # fmt: skip
