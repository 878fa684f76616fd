"""What belongs together on the page; a record that no theme names comes under the last one."""

from __future__ import annotations

from collections.abc import Sequence

from featavg.record import Record, Result

OTHER = "More"
THEMES: dict[str, tuple[str, ...]] = {
    "Averaging and decoupling, as the paper has them": (
        "averaging",
        "decoupling",
        "dynamics",
        "theorem_setting",
        "dimension",
        "ideal",
    ),
    "How far until it errs": ("robustness", "scaling", "universal", "readouts", "linf"),
    "Its relatives among the implicit biases": (
        "svm",
        "max_margin",
        "kkt",
        "prelu",
        "simplicity",
        "talks_start",
        "other_biases",
        "dimples",
        "expressivity",
    ),
    "The map: when does averaging happen?": (
        "regime",
        "geometry",
        "samples",
        "learners",
        "granularity",
        "adversarial",
        "superposition",
    ),
    "Real images": (
        "mnist_robustness",
        "fashion_robustness",
        "cifar_robustness",
        "cifar_features",
        "transfer",
        "usefulness",
        "usefulness_cifar",
    ),
    "Finding it and undoing it": ("diagnosis", "refine", "refine_images", "refine_why"),
}


def by_theme(records: Sequence[Record | Result]) -> dict[str, list[Record | Result]]:
    """The records under their themes, in the order of the themes; themes without a record are left out."""
    known = {name: record for record in records for name in [record.name]}
    themes = {
        theme: [known.pop(name) for name in names if name in known]
        for theme, names in THEMES.items()
    }  # fmt: skip
    # Two records of one name, as of two folders, must both be shown.
    shown = {id(record) for found in themes.values() for record in found}
    themes[OTHER] = [record for record in records if id(record) not in shown]
    return {theme: found for theme, found in themes.items() if found}
