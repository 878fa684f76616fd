"""From outputs to a decision among named classes: the only place that knows what an output means."""

from featavg.model.readouts.argmax import Argmax as Argmax
from featavg.model.readouts.base import Groups as Groups
from featavg.model.readouts.base import Readout as Readout
from featavg.model.readouts.grouped import GROUPED as GROUPED
from featavg.model.readouts.grouped import Grouped as Grouped
from featavg.model.readouts.named import READOUTS as READOUTS
from featavg.model.readouts.named import read_as as read_as
from featavg.model.readouts.sign import Sign as Sign
