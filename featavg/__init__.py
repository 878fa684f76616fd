"""Feature averaging in ReLU networks: train it, see it, measure its exact robustness, undo it."""

from featavg.data import ClusterData as ClusterData
from featavg.data import Points as Points
from featavg.data import sample_clusters as sample_clusters
from featavg.errors import InputError as InputError
from featavg.model import BinaryNetwork as BinaryNetwork
from featavg.model import MulticlassNetwork as MulticlassNetwork
from featavg.model import averaging_network as averaging_network
from featavg.model import decoupled_network as decoupled_network
from featavg.model import filtered_network as filtered_network
from featavg.model import load_network as load_network
from featavg.model import save_network as save_network

__version__ = "0.1.0"
