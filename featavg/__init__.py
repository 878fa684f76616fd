"""Feature averaging in ReLU networks: train it, see it, measure its exact robustness, undo it."""

from featavg.analysis import activation_stability as activation_stability
from featavg.analysis import alignment as alignment
from featavg.analysis import assumptions as assumptions
from featavg.analysis import averaging_index as averaging_index
from featavg.analysis import averaging_p_value as averaging_p_value
from featavg.analysis import decompose as decompose
from featavg.analysis import decompose_weights as decompose_weights
from featavg.analysis import derivative_balance as derivative_balance
from featavg.analysis import equivalent_weights as equivalent_weights
from featavg.analysis import gradient_norms as gradient_norms
from featavg.analysis import normalized_margin as normalized_margin
from featavg.analysis import reconstruct as reconstruct
from featavg.data import ClusterData as ClusterData
from featavg.data import Points as Points
from featavg.data import load_images as load_images
from featavg.data import read_points as read_points
from featavg.data import sample_clusters as sample_clusters
from featavg.errors import InputError as InputError
from featavg.model import BinaryNetwork as BinaryNetwork
from featavg.model import MulticlassNetwork as MulticlassNetwork
from featavg.model import as_network as as_network
from featavg.model import averaging_network as averaging_network
from featavg.model import decoupled_network as decoupled_network
from featavg.model import filtered_network as filtered_network
from featavg.model import load_network as load_network
from featavg.model import save_network as save_network
from featavg.training import Adam as Adam
from featavg.training import GradientDescent as GradientDescent
from featavg.training import GradientFlow as GradientFlow
from featavg.training import Trajectory as Trajectory
from featavg.training import every as every
from featavg.training import train as train

__version__ = "0.1.0"
