"""Norms as objects, one per file: what every method must know of the balls it moves in."""

from featavg.errors import InputError
from featavg.registry import Registry
from featavg.robustness.norms.base import Norm as Norm

NORMS = Registry({name: f"featavg.robustness.norms.{name}" for name in ("l2", "linf")})


def norm_of(name: str) -> Norm:
    """The norm called `name`.

    >>> norm_of("linf").length([[3.0, -4.0]])
    array([4.])
    """
    if name not in NORMS:
        raise InputError(f"norm must be {' or '.join(NORMS)}, got {name!r}")
    norm: Norm = NORMS.module(name).NORM
    return norm
