"""How the first layer, the only one that touches the dimension, is held while it moves."""

from featavg.training.engines.base import ALL as ALL
from featavg.training.engines.base import Batch as Batch
from featavg.training.engines.base import FirstLayer as FirstLayer
from featavg.training.engines.base import Groups as Groups
from featavg.training.engines.base import Need as Need
from featavg.training.engines.choice import ENGINES as ENGINES
from featavg.training.engines.choice import EngineName as EngineName
from featavg.training.engines.choice import choose_engine as choose_engine
from featavg.training.engines.dense import Dense as Dense
from featavg.training.engines.gram import Gram as Gram
