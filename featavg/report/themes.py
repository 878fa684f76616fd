"""What belongs together on the page: whoever made the records says which theme each is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from featavg.record import Record, Result

OTHER = "More"
Groups = dict[str, list[Record | Result]]  # theme -> its records, in order


def by_theme(records: Sequence[Record | Result], themes: Mapping[str, str]) -> Groups:
    """The records under `themes` (name of a record -> its theme), in that order; those of no theme come last.

    >>> records = [Record(name, name, {}, (), ()) for name in ("own", "radius", "cosine")]
    >>> found = by_theme(records, {"cosine": "Averaging", "radius": "Robustness"})
    >>> {theme: [record.name for record in group] for theme, group in found.items()}
    {'Averaging': ['cosine'], 'Robustness': ['radius'], 'More': ['own']}
    """
    place = {name: number for number, name in enumerate(themes)}
    groups: Groups = {theme: [] for theme in dict.fromkeys(themes.values())}
    for record in sorted(records, key=lambda record: place.get(record.name, len(place))):
        groups.setdefault(themes.get(record.name, OTHER), []).append(record)
    return {theme: found for theme, found in groups.items() if found}
