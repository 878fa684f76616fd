"""Comparisons and diagnoses as results: claims, figures in words and notes, which the report draws; and as JSON."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featavg.arrays import Ints
from featavg.intervals import bootstrap_ratio
from featavg.record import Claim, Column, Drawing, Evidence, Provenance, Result, Table
from featavg.refine.baselines import standings_table
from featavg.refine.select import WORTH

if TYPE_CHECKING:
    from featavg.refine.comparison import Comparison
    from featavg.refine.diagnosis import Diagnosis

SIDES = ("before", "after")
CURVE = 60  # radii at which curves are drawn
AVERAGING = 0.5  # an index above it is nearer to averaging than to decoupled
UNIVERSAL = 1.5  # a common direction that needs no more than this times the attack's radius is nearly as good
MOST_ROWS = 40  # of the alignment matrix that are drawn
INTERVALS = (
    "Intervals have level 95 % and cover points, splits and trainings of one data set: they say nothing about others."
)


def comparison_result(found: Comparison) -> Result:
    """The result of a comparison: curves of robust accuracy before and after."""
    finite = np.max(found.radii, where=np.isfinite(found.radii), initial=0.0)
    radii = np.linspace(0.0, 1.05 * float(finite), CURVE)
    robust = (found.radii[:, None, :] > radii[:, None]).mean(axis=2)
    bounds = ": exact, or bounded in favour of before." if found.proved else ", by an attack: an upper bound."
    drawing = Drawing(
        "curves", {"x": "radius", "y": "robust", "labels": "side"},
        caption=f"Share of held-out points that stay right under every perturbation up to each size{bounds}",
        options={"x_label": "ℓ2 size", "y_label": "share right"},
    )  # fmt: skip
    columns = {"robust": Column(robust, ("side", "radius"), "share of held-out points that stay right")}
    table = Table(columns, {"side": np.array(SIDES), "radius": radii})
    evidence = Evidence(table, (drawing,), (found.note,), Provenance(seconds=found.seconds))
    facts = (("", *SIDES), *found.table(), *(standings_table(found.standings) if found.others else ()))
    return Result("refinement", found.verdict, facts, {"seed": found.seed}, _comparison_claims(found), evidence)


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
