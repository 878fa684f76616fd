"""Names of the columns of points, which a model remembers and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from featavg.errors import InputError


def names_of(x: Any) -> tuple[str, ...]:
    """The names of the columns of a table of pandas, empty for anything else."""
    names = tuple(getattr(x, "columns", ()))
    return names if all(isinstance(name, str) for name in names) else ()


def check_columns(known: Sequence[str], given: Sequence[str]) -> None:
    """Refuse columns that are not those of the model, in its order; where either has no names nothing can be said.

    >>> check_columns(["a", "b"], ["b", "a"])
    Traceback (most recent call last):
    featavg.errors.InputError: columns must come as in training (a, b), got column 'b' as the first; reorder them
    """
    if not len(known) or not len(given) or list(known) == list(given):
        return
    missing = [name for name in known if name not in given]
    if missing:
        raise InputError(f"the model was trained with a column {missing[0]!r}, got none of that name; check the data")
    place = next((i for i, (one, other) in enumerate(zip(known, given, strict=False)) if one != other), len(known))
    if place == len(known):
        raise InputError(f"the model was not trained with a column {given[place]!r}; leave it out")
    where = "the first" if place == 0 else f"number {place + 1}"
    told = ", ".join(known[:3]) + (", …" if len(known) > 3 else "")
    raise InputError(f"columns must come as in training ({told}), got column {given[place]!r} as {where}; reorder them")


def check_table(model: Any, x: Any) -> None:
    """Refuse a table of pandas whose columns are not those that a model remembers, as scikit-learn's and ours do."""
    known = getattr(model, "columns_", getattr(model, "feature_names_in_", ()))
    check_columns([str(name) for name in known], names_of(x))
