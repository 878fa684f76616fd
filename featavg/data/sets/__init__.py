"""Image sets by name; one file per set, holding `SET`: its classes, hashes, sources and how its bytes are decoded."""

from __future__ import annotations

from featavg.data.image_set import ImageSet
from featavg.errors import InputError
from featavg.registry import Registry

SETS = Registry.of_folder(__name__, __file__)


def image_set(name: str) -> ImageSet:
    """The set called `name`.

    >>> image_set("digits").class_names[:3]
    ('0', '1', '2')
    """
    if name not in SETS:
        raise InputError(f"image sets are {', '.join(SETS)}; got {name!r}")
    known: ImageSet = SETS.module(name).SET
    return known
