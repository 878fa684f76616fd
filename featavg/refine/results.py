"""Comparisons and diagnoses as results: claims, figures in words and notes, which the report draws; and as JSON."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import Dataset, Names
from featavg.intervals import bootstrap_ratio
from featavg.record import Claim, Column, Drawing, Evidence, Provenance, Result, Table, number
from featavg.refine.decision import standings_table
from featavg.refine.select import WORTH, Selection, Trial

if TYPE_CHECKING:
    from featavg.refine.comparison import Comparison
    from featavg.refine.diagnosis import Diagnosis

SIDES = ("before", "after")
CURVE = 60  # radii at which curves are drawn
AVERAGING = 0.5  # an index above it is nearer to averaging than to decoupled
UNIVERSAL = 1.5  # a common direction that needs no more than this times the attack's radius is nearly as good
MOST_ROWS = 40  # of the alignment matrix that are drawn
SHOWN = 10  # images in a row of a picture
INTERVALS = (
    "Intervals have level 95 % and cover points, splits and trainings of one data set: they say nothing about others."
)


def comparison_result(found: Comparison) -> Result:
    """The result of a comparison: curves of robust accuracy before and after."""
    finite = np.max(found.radii, where=np.isfinite(found.radii), initial=0.0)
    radii = np.linspace(0.0, 1.05 * float(finite), CURVE)
    robust = (found.radii[:, None, :] > radii[:, None]).mean(axis=2)
    # Without a perturbation nothing needs a bound: whoever is right has been found at some distance only.
    robust[:, 0] = [(side.upper > 0).mean() for side in (found.before, found.after)]
    bounds = ": exact, or bounded in favour of before." if found.proved else ", by an attack: an upper bound."
    drawing = Drawing(
        "curves", {"x": "radius", "y": "robust", "labels": "side"},
        caption=f"Share of held-out points that stay right under every perturbation up to each size{bounds}",
        options={"x_label": "ℓ2 size", "y_label": "share right"},
    )  # fmt: skip
    columns = {"robust": Column(robust, ("side", "radius"), "share of held-out points that stay right")}
    table = Table(columns, {"side": np.array(SIDES), "radius": radii})
    evidence = Evidence(table, (drawing,), (found.note,), Provenance(seconds=found.seconds))
    facts = (("", *SIDES), *found.table(), *(((), *standings_table(found.standings)) if found.others else ()))
    return Result("refinement", found.verdict, facts, {"seed": found.seed}, _comparison_claims(found), evidence)


def front_table(choice: Selection) -> list[tuple[str, str, str]]:
    """The trials that no other one beats, as text with a head, called by the arguments that repeat them.

    Empty where one trial beats all others: then there is nothing to choose.
    """
    head = ("trials that no other one beats in both, to choose from", "accuracy", "estimated mean ℓ2 radius")
    rows = [(_named(one), number(one.accuracy), number(one.radius)) for one in choice.front()]
    return [head, *rows] if len(rows) > 1 else []


def _named(one: Trial) -> str:
    what = f"n_subclasses={one.count}" if one.count else "coarse labels"
    return f"{what}, learning_rate={one.rate:g}, steps={one.steps}"


def front_evidence(choice: Selection) -> Evidence:
    """The same trials as a picture."""
    front = choice.front()
    names = ("accuracy of trials", "radius of trials")
    values = ([trial.accuracy for trial in front], [trial.radius for trial in front])
    columns = {name: Column(np.array(each), ("trial",), name) for name, each in zip(names, values, strict=True)}
    drawing = Drawing(
        "scatter", {"x": names[0], "y": names[1]},
        caption="The trials that no other one beats in both accuracy and radius, at points held out from them.",
        options={"labels": list(map(_named, front)), "x_label": "accuracy", "y_label": "estimated mean ℓ2 radius"},
    )  # fmt: skip
    return Evidence(Table(columns), (drawing,))


def with_front(result: Result, choice: Selection) -> Result:
    """The result with the trials that a model was chosen from, if there is something to choose."""
    if not (rows := front_table(choice)):
        return result
    known, more = result.evidence, front_evidence(choice)
    evidence = replace(known, table=known.table.plus(more.table.columns), drawings=(*known.drawings, *more.drawings))
    return replace(result, facts=(*result.facts, (), *rows), evidence=evidence)


def _comparison_claims(found: Comparison) -> tuple[Claim, ...]:
    if found.factor is None or not np.isfinite(found.factor[1][1]):
        return ()
    value, interval = found.factor
    claim = Claim(
        "Refinement raises the robust radius.", source="before against after, held-out points", expected=1.0,
        measured=value, interval=interval, tolerance=0.0, tolerance_reason="any sure gain counts",
        relation="at least", how=f"ratio of median radii by {found.how}; interval over points and splits",
    )  # fmt: skip
    return (claim,)


def diagnosis_result(found: Diagnosis) -> Result:
    """The result of a diagnosis: alignment of the weights, shares of flipped points, the most fragile ones."""
    shown = _shown(found.row_class)
    flips = np.stack([found.flips.attack, found.flips.universal, found.flips.chance])
    columns = {
        "alignment": Column(found.averages.alignment[shown], ("row", "subclass"), "cosine with centred means"),
        "flipped": Column(flips, ("perturbation", "radius"), "share of points that are flipped"),
        "fragile": Column(found.fragile, ("rank",), "the most fragile points"),
        "attack": Column(found.attack, ("measured",), "radius under attack, an upper bound"),
    }
    perturbations = ["attack", "common direction", "random direction"]
    table = Table(columns, {"radius": found.flips.radii, "perturbation": perturbations})
    notes = (
        f"The most fragile points, by their row in the data: {', '.join(map(str, found.fragile.tolist()))}.",
        "Null of the p-value: a random direction in the span of the centred sub-class means of its class. "
        "Sub-classes that were not given are found on other points than those they are tested on; gains are "
        "trained on other points than those they are measured on, by an attack whose radii are upper bounds.",
    )
    evidence = Evidence(table, _drawings(found, shown), notes, Provenance(seconds=found.seconds))
    facts = (*found.table(), *found.gain_table())
    return Result("diagnosis", found.verdict, facts, {"seed": found.seed}, _diagnosis_claims(found), evidence)


def _diagnosis_claims(found: Diagnosis) -> tuple[Claim, ...]:
    """What a classifier without averaging would satisfy; what could not be measured is left out."""
    claims, flip = [], found.flips
    index = found.averages.index[np.isfinite(found.averages.index)]
    if len(index):
        spread = bootstrap_ratio(index, np.ones(len(index)), np.median, np.random.default_rng(found.seed))[1]
        claims.append(Claim(
            "The weights of a class do not hold all of its sub-classes alike.",
            source="averaging index", expected=AVERAGING, measured=found.averages.median_index, interval=spread,
            tolerance=0.0, tolerance_reason="0.5 is half way between decoupled and averaging", relation="at most",
            how=f"median over {len(index)} rows, bootstrap interval; p = {found.averages.p_value:.2g}",
        ))  # fmt: skip
    if np.isfinite(flip.ratio):
        claims.append(Claim(
            "One common direction is much weaker than an attack made for each point.",
            source="universal averaged direction", expected=UNIVERSAL, measured=flip.ratio,
            interval=flip.ratio_interval, tolerance=0.0, tolerance_reason="half as long again is much weaker",
            relation="at least", how="ratio of median radii over right points, bootstrap interval",
        ))  # fmt: skip
    factors = [] if found.gain is None else [found.gain.over_model.factor, found.gain.over_coarse.factor]
    known = [factor for factor in factors if factor is not None and np.isfinite(factor[1][1])]
    if known and len(known) == len(factors) and found.advice != "at chance":
        value, interval = min(known, key=lambda factor: factor[1][0])
        claims.append(Claim(
            "Finer labels would not raise the robust radius.",
            source="trained again, measured on other points", expected=WORTH, measured=value, interval=interval,
            tolerance=0.0, tolerance_reason="less than 5 % is not worth new labels", relation="at most",
            how="median radius over that of this model or over that of coarse labels, whichever grew less surely",
        ))  # fmt: skip
    return tuple(claims)


def _shown(row_class: Ints) -> Ints:
    """Rows to draw, by class: all of them, or evenly chosen ones."""
    order = np.argsort(row_class, kind="stable")
    return order[np.linspace(0, len(order) - 1, min(len(order), MOST_ROWS)).round().astype(np.int64)]


def _drawings(found: Diagnosis, shown: Ints) -> tuple[Drawing, ...]:
    row_blocks = np.flatnonzero(np.diff(found.row_class[shown])) + 1
    column_blocks = np.flatnonzero(np.diff(found.class_of)) + 1
    return (
        Drawing(
            "heatmap", {"values": "alignment"},
            caption="Cosine of each row of weights with the centred mean of each sub-class. Blocks of one colour are "
            "averages; single bright cells are features learned by themselves.",
            options={"rows": "row of weights", "columns": "sub-class", "row_blocks": row_blocks.tolist(),
                     "column_blocks": column_blocks.tolist()},
        ),
        Drawing(
            "curves", {"x": "radius", "y": "flipped", "labels": "perturbation"},
            caption="Share of points that a perturbation of each size flips: an attack made for each point, one common "
            "direction per class (towards the average of the others), and random directions.",
            options={"x_label": "ℓ2 size", "y_label": "share misclassified"},
        ),
    )  # fmt: skip


def with_fragile_images(result: Result, points: Dataset, rows: Ints) -> Result:
    """The result with a picture of the first of these rows of the data, if the points are images."""
    if not _pictured(points) or not len(rows):
        return result
    chosen = rows[:SHOWN]
    names = points.labels.names[points.labels.codes[chosen]]
    caption = "The most fragile points, the most fragile first, with their row in the data and their class."
    columns = [f"{row}: {name}" for row, name in zip(chosen.tolist(), names.tolist(), strict=True)]
    return _with(result, "fragile_images", points.images[chosen][None], caption, [], columns)


def with_subclass_images(result: Result, points: Dataset, named: Names) -> Result:
    """The result with the mean image of every sub-class, by the name that the model gives to each point.

    A class is a row, its largest sub-classes first; where it has fewer than others the place stays white.
    """
    if not _pictured(points):
        return result
    means = np.full((len(points.labels.names), SHOWN, *points.images.shape[1:]), np.nan)
    for row in range(len(means)):
        own = points.labels.codes == row
        names, sizes = np.unique(named[own], return_counts=True)
        for column, name in enumerate(names[np.argsort(-sizes, kind="stable")][:SHOWN]):
            means[row, column] = points.images[own & (named == name)].mean(axis=0)
    filled = means[:, np.isfinite(means).any(axis=(0, *range(2, means.ndim)))]
    caption = f"The mean of all images that the model puts into each sub-class, the largest first, at most {SHOWN}."
    return _with(result, "subclass_images", filled, caption, points.labels.names.astype(str).tolist(), [])


def _pictured(points: Dataset) -> bool:
    return points.shape is not None and len(points.shape) in (2, 3)


def _with(result: Result, name: str, images: Array, caption: str, rows: list[str], columns: list[str]) -> Result:
    """With one more picture; brightness is stretched to what is shown, NaN is white."""
    low, high = float(np.nanmin(images)), float(np.nanmax(images))
    bright = np.nan_to_num((images - low) / ((high - low) or 1.0), nan=1.0)
    axes = tuple(f"{name} {axis}" for axis in ("row", "column", "height", "width", "colour"))[: images.ndim]
    table = result.evidence.table.plus({name: Column(bright, axes, caption)})
    told = f"{caption} Brightness is stretched to what is shown."
    drawing = Drawing("images", {"images": name}, caption=told, options={"rows": rows, "columns": columns})
    evidence = replace(result.evidence, table=table, drawings=(*result.evidence.drawings, drawing))
    return replace(result, evidence=evidence)


def plotted(evidence: Evidence, path: str | os.PathLike[str] | None = None, which: int = 0) -> Any:
    """One drawing of a result as a matplotlib figure, also written to `path`, as pdf, svg or png by its suffix."""
    # Late: numbers need no matplotlib.
    from featavg.figures import draw, figure_bytes
    from featavg.files import check_place, write_whole

    if path is not None:
        check_place(Path(path), ".pdf", ".svg", ".png")
    figure = draw(evidence.drawings[which], evidence.table)
    if path is not None:
        write_whole(path, figure_bytes(figure, Path(path).suffix[1:]))
    return figure


def plain(value: Any) -> Any:
    """JSON of dicts, arrays and numbers; what is not finite is null."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
