"""The first screen: three pictures and a sentence to each, from whichever of the records that tell it are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import matplotlib
import numpy as np

from featavg.arrays import Array
from featavg.figures import curves, scaling
from featavg.record import Drawing, Record, Result, count_verdicts, number
from featavg.report.chapter import inline_svg

Records = Mapping[str, Record]
CELL = 11  # units a side of a square of the matrices
# Which attack is drawn: a library's default, and in records that are older than it the one that there is.
DEFAULT, OWN = "PGD, a library's default", "PGD, 40 steps"
WIDTH, HALF = 4.0, 2.8  # inches of a picture, and of one of two beside each other


def story(records: Sequence[Record | Result]) -> str:
    """Three cards, or as many as there are records for."""
    named = {record.name: record for record in records if isinstance(record, Record)}
    cards = [_averaging(named), _robustness(named), _law(named)]
    if not any(cards):
        return ""
    return f"<section class='story' aria-label='In short'>{''.join(cards)}</section>{_sure(list(named.values()))}"


def _sure(records: Sequence[Record]) -> str:
    """How much of it one may believe, in a sentence."""
    found = count_verdicts(claim for record in records for claim in record.claims)
    return (
        f"<p class='sure'><strong>How sure are we?</strong> {found['holds']} of {sum(found.values())} claims hold, "
        f"{found['fails']} fail and {found['open']} are open, each settled by a confidence interval wide enough for "
        "all of them at once. "
        "Radii called exact are proved: a witness fools the network at that distance, and a certificate, checked by a "
        "program that shares nothing with the search, shows that nothing nearer does. "
        "<a href='#verdicts'>Every verdict</a></p>"
    )


def _card(title: str, picture: str, sentence: str, *chapters: str) -> str:
    links = ", ".join(f"<a href='#{name}'>{name}</a>" for name in chapters)
    return (
        f"<figure><h2>{escape(title)}</h2>{picture}"
        f"<figcaption>{escape(sentence)} <small>{links}</small></figcaption></figure>"
    )


def _drawings(records: Records, name: str, kind: str) -> list[Drawing]:
    return [one for one in records[name].evidence.drawings if one.kind == kind] if name in records else []


def _measured(records: Records, name: str, words: str) -> str:
    """What was measured of the claim that begins with `words`, in brackets; nothing if there is no such claim."""
    claims = records[name].claims if name in records else ()
    return next((f" (measured: {number(claim.measured)})" for claim in claims if claim.text.startswith(words)), "")


def _averaging(records: Records) -> str:
    names = {"averaging": "trained on 2 classes", "decoupling": "trained on 10 classes"}
    found = {name: _drawings(records, name, "heatmap") for name in names}
    if not all(found.values()):
        return ""
    tables = {name: records[name].evidence.table for name in names}
    values = {name: np.asarray(found[name][0].arguments(tables[name])["values"], dtype=np.float64) for name in names}
    largest = max(float(np.abs(matrix).max()) for matrix in values.values()) or 1.0  # one scale for both
    squares = [_matrix(values[name] / largest, largest, label) for name, label in names.items()]
    sentence = (
        "Gradient descent on coarse labels makes every neuron learn the average of its class: it has the same cosine"
        f"{_measured(records, 'averaging', 'A neuron has the same cosine')} with all features of the class. Trained on "
        f"finer labels the same network learns each feature by itself"
        f"{_measured(records, 'decoupling', 'A class')}."
    )
    return _card("What averaging is", f"<div class='matrices'>{''.join(squares)}</div>", sentence, *names)


def _matrix(shares: Array, largest: float, label: str) -> str:
    """Cosines of neurons (row) and features (column), in shares of the largest: squares, blue below 0 and red above."""
    height, width = shares.shape
    colours = matplotlib.colormaps["RdBu_r"](0.5 + 0.45 * np.clip(shares, -1, 1))
    squares = "".join(
        f"<rect x='{column * CELL}' y='{row * CELL}' width='{CELL}' height='{CELL}' "
        f"fill='{matplotlib.colors.to_hex(tuple(colours[row, column]))}'><title>{share * largest:.2f}</title></rect>"
        for (row, column), share in np.ndenumerate(shares)
    )
    box = f"-8 -10 {width * CELL + 8} {height * CELL + 22}"
    middle = width * CELL / 2
    return (
        f"<svg role='img' aria-label='cosines, {escape(label)}' viewBox='{box}'>{squares}"
        f"<text x='{middle}' y='{height * CELL + 9}' text-anchor='middle'>features</text>"
        f"<text x='{-height * CELL / 2}' y='-2' text-anchor='middle' transform='rotate(-90)'>neurons</text>"
        f"<text x='{middle}' y='-2' text-anchor='middle'>{escape(label)}</text></svg>"
    )


def _robustness(records: Records) -> str:
    drawn = _drawings(records, "robustness", "curves")
    lines: dict[str, tuple[Array, Array]] = {}
    marks: list[tuple[float, str]] = []
    for one, name in zip(drawn, ("coarse labels", "fine labels"), strict=False):
        given = one.arguments(records["robustness"].evidence.table)
        marks += [(float(value), str(label)) for value, label in given.get("marks", ())]
        labels = list(given.get("labels", ()))
        for label, line in zip(labels, np.atleast_2d(given["y"]), strict=False):
            if told := _told(name, label, DEFAULT if DEFAULT in labels else OWN):
                lines[told] = (np.asarray(given["x"], dtype=np.float64), line)
    if not lines:
        return ""
    grid = np.unique(np.concatenate([x for x, _ in lines.values()]))
    ordered = dict(sorted(lines.items(), key=lambda item: not item[0].endswith("exact")))  # those first
    figure = curves(
        grid,
        np.array([_continued(grid, x, y) for x, y in ordered.values()]),
        caption="Robust accuracy over the radius, exact and as PGD, an upper bound, has it",
        labels=list(ordered),
        marks=marks,
        x_label="ℓ2 radius",
        y_label="robust accuracy",
        width=WIDTH,
    )
    half = _measured(records, "robustness", "Half of all test points")
    far = _measured(records, "robustness", "The decoupled network is nearly")
    beyond = _measured(records, "robustness", "At radius 18 a library's default PGD")
    attack = f", with a library's default settings by most of the points at radius 18{beyond}" if beyond else ""
    sentence = (
        f"Such a network is accurate and breaks at √(d/k), where half of its points are fooled{half}; the decoupled "
        f"one stands until nearly √(d/2){far}. The exact curves are proved, point by point; an attack lies above "
        f"them{attack}."
    )
    return _card("Why it hurts", inline_svg(figure, "story-robustness"), sentence, "robustness")


def _told(name: str, label: str, attack: str) -> str:
    """What a line of a network's curves is called in the story; nothing if it has no place there."""
    if label == "exact" or (label == "theory" and name == "coarse labels"):
        return f"{name}, {label}"
    return f"{name}, {label.split(', ')[-1]} PGD" if label == attack else ""


def _continued(grid: Array, x: Array, y: Array) -> Array:
    """A curve beyond what was measured: where it was 1 on the left and 0 on the right it stays so, else it ends."""
    left, right = (1.0 if y[0] > 0.995 else np.nan), (0.0 if y[-1] < 0.005 else np.nan)
    return np.asarray(np.interp(grid, x, y, left=left, right=right), dtype=np.float64)


def _law(records: Records) -> str:
    drawn = _drawings(records, "scaling", "scaling")
    if not drawn:
        return ""
    table = records["scaling"].evidence.table
    pictures = "".join(
        inline_svg(scaling(**one.arguments(table), caption=one.caption, width=HALF), f"story-law-{place}")
        for place, one in enumerate(drawn)
    )
    gain = _measured(records, "robustness", "Fine labels multiply")
    sentence = (
        f"Finer labels: they multiply the radius by √(k/2){gain}, for every number k of clusters and every dimension "
        "that was tried, up to 10¹². Where nobody has them, they can be found in the data."
    )
    return _card("What helps", f"<div class='laws'>{pictures}</div>", sentence, "scaling", *_present(records, "refine"))


def _present(records: Records, *names: str) -> list[str]:
    return [name for name in names if name in records]
