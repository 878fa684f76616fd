"""From outputs to a decision among named classes: the only place that knows what an output means."""

from __future__ import annotations

import numpy as np

from featavg.errors import InputError
from featavg.model.readouts.argmax import Argmax as Argmax
from featavg.model.readouts.base import Groups as Groups
from featavg.model.readouts.base import Readout as Readout
from featavg.model.readouts.grouped import GROUPED as GROUPED
from featavg.model.readouts.grouped import Grouped as Grouped
from featavg.model.readouts.sign import Sign as Sign

READOUTS = ("sign", "argmax", *GROUPED)


def read_as(readout: Readout, name: str | None) -> Readout:
    """The read-out called `name` of the network that has `readout`; itself for None.

    >>> import numpy as np
    >>> from featavg.model.readouts import Groups
    >>> read_as(Argmax(np.arange(3), Groups.of([1, 1, -1])), "maximum").labels
    array([-1,  1])
    """
    if name is None or name == readout.name:
        return readout
    if isinstance(readout, Sign):
        raise InputError(f"a network with one output has the read-out sign, got {name!r}")
    for how in GROUPED:
        if name == how:
            groups = getattr(readout, "groups", None)
            if groups is None or len(groups.labels) < 2:
                raise InputError("a binary read-out needs class_labels with both signs; set them on the network")
            return Grouped(groups, how)
    if name == "argmax" and isinstance(readout, Grouped):
        return Argmax(np.arange(len(readout.groups.codes)), readout.groups)
    raise InputError(f"readout must be one of argmax, {', '.join(GROUPED)}, got {name!r}")
