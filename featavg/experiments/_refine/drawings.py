"""The pictures of `refine`: the Pareto front, what training does to it, and how many sub-labels it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from featavg.arrays import Array
from featavg.record import Drawing

FRONTS = ("coarse", "coarse loss, start at centers", "true fine labels", "discovered 10", "discovered 100",
          "soft prototypes", "adversarial, coarse", "adversarial, discovered 100")  # fmt: skip

LEAST_SECONDS = 0.01  # what takes no time is drawn here


def picture_arrays(
    arrays: Mapping[str, Array],
    names: Sequence[str],
    tried: Sequence[str],
    counts: Sequence[int],
    widths: Sequence[int],
) -> dict[str, Array]:
    """What the drawings need beside the arrays of the record."""
    lower, upper = arrays["mean_lower"], arrays["mean_upper"]
    main = main_rows(names)
    at = {name: i for i, name in enumerate(names)}
    fixed = [at[f"discovered {count}"] for count in counts]
    neurons = sorted({*widths, 200})
    coarse = [at["coarse" if width == 200 else f"coarse, {width} neurons"] for width in neurons]
    finer = [at.get(f"discovered {n // 2}, {n} neurons", at.get(f"discovered {n // 2}")) for n in neurons]
    return {
        "pareto_clean": arrays["mean_clean"][main],
        "pareto_lower": lower[main],
        "pareto_upper": upper[main],
        "pareto_seconds": np.maximum(arrays["mean_seconds"][main], LEAST_SECONDS),
        "counts": np.array(counts, dtype=np.float64),
        "count_lower": lower[fixed],
        "count_upper": upper[fixed],
        "count_robust": 0.5 * (lower + upper)[fixed],
        "widths": np.array(neurons, dtype=np.float64),
        "width_robust": np.stack([upper[coarse], upper[np.array(finer, dtype=np.int64)]]),
        "fronts": arrays["front"][[list(tried).index(name) for name in FRONTS]],
    }


def drawings(names: Sequence[str], radius: float, followed: Sequence[str]) -> list[Drawing]:
    """All drawings of the record."""
    robust = f"robust accuracy at ℓ2 radius {radius:g}"
    return [
        *pareto("", [names[i] for i in main_rows(names)], radius),
        front_drawing("", FRONTS, radius),
        Drawing(
            "curves",
            {"x": "marks", "y": "course"},
            caption="Robust accuracy (Newton estimate, test points, means over seeds) during training at the chosen "
            "learning rate: coarse labels only lose with time, many sub-labels gain first.",
            options={"labels": list(followed), "x_label": "steps", "y_label": robust, "log_x": True},
        ),
        Drawing(
            "curves",
            {"x": "counts", "y": "count_robust", "lower": "count_lower", "upper": "count_upper"},
            caption="Robust accuracy over the number of discovered sub-labels a class; the band is between what is "
            "proved and what an attack leaves.",
            options={"labels": ["discovered"], "x_label": "sub-labels a class", "y_label": robust, "log_x": True},
        ),
        Drawing(
            "curves",
            {"x": "widths", "y": "width_robust"},
            caption="Robust accuracy over the number of neurons: more of them do nothing for coarse labels; for finer "
            "ones, with one neuron a sub-label, they are more sub-labels. Robust means that PGD leaves it standing.",
            options={"labels": ["coarse labels", "one sub-label a neuron"], "x_label": "neurons", "y_label": robust,
                     "log_x": True},
        ),
    ]  # fmt: skip


def front_drawing(prefix: str, labels: Sequence[str], radius: float, title: str = "") -> Drawing:
    """The fronts of several contenders, from arrays `{prefix}front_clean` and `{prefix}fronts`."""
    return Drawing(
        "curves",
        {"x": f"{prefix}front_clean", "y": f"{prefix}fronts"},
        caption=f"{title}Pareto fronts on held-out points of the pilot seed over learning rates and moments of "
        "training: the best robust accuracy (Newton estimate) among trials of at least a clean accuracy.",
        options={"labels": list(labels), "x_label": "clean accuracy of at least",
                 "y_label": f"robust accuracy at ℓ2 radius {radius:g}"},
    )  # fmt: skip


def pareto(prefix: str, labels: Sequence[str], radius: float, title: str = "") -> list[Drawing]:
    """Clean against robust accuracy, and the brackets of the robust one, from arrays `{prefix}pareto_...`."""
    robust = f"robust accuracy at ℓ2 radius {radius:g}"
    return [
        Drawing(
            "scatter",
            {"x": f"{prefix}pareto_clean", "y": f"{prefix}pareto_upper"},
            caption=f"{title}Clean against robust accuracy of every contender on test points, means over seeds; robust "
            "means that the strongest attack leaves it standing. All were tuned by one rule on held-out points of "
            "another seed.",
            options={"labels": list(labels), "x_label": "clean accuracy", "y_label": robust},
        ),
        Drawing(
            "dots",
            {"measured": f"{prefix}pareto_upper", "lower": f"{prefix}pareto_lower", "upper": f"{prefix}pareto_upper"},
            caption=f"{title}The same robust accuracies with what is proved of them: the truth lies on the line. "
            "Nothing is proved of k-NN, and where many neurons bend within the radius the search ends too early.",
            options={"labels": list(labels), "x_label": robust},
        ),
        Drawing(
            "scatter",
            {"x": f"{prefix}pareto_seconds", "y": f"{prefix}pareto_upper"},
            caption=f"{title}CPU seconds from the points to the classifier against robust accuracy, means over seeds; "
            "auto includes its own tuning, the others were tuned before. k-NN takes no training: it is left of all.",
            options={"labels": list(labels), "log_x": True, "x_label": "CPU seconds of training", "y_label": robust},
        ),
    ]


def main_rows(names: Sequence[str]) -> list[int]:
    """All contenders but those of another width."""
    return [i for i, name in enumerate(names) if "neurons" not in name]
