"""Functions over many parameters: a specification in, one table out, resumable, here or on a cluster."""

from featavg.sweep.cluster import cluster as cluster
from featavg.sweep.engine import Progress as Progress
from featavg.sweep.engine import run_sweep as run_sweep
from featavg.sweep.pictures import picture as picture
from featavg.sweep.specification import Specification as Specification
from featavg.sweep.specification import Trial as Trial
from featavg.sweep.specification import read_specification as read_specification
from featavg.sweep.store import Store as Store
from featavg.sweep.table import Results as Results
