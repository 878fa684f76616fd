"""What is trained: layers, an activation, a read-out."""

from featavg.model.activation import RELU as RELU
from featavg.model.activation import Activation as Activation
from featavg.model.adapters import as_network as as_network
from featavg.model.adapters import register_adapter as register_adapter
from featavg.model.files import load_network as load_network
from featavg.model.files import read_about as read_about
from featavg.model.files import save_network as save_network
from featavg.model.ideal import averaging_network as averaging_network
from featavg.model.ideal import decoupled_network as decoupled_network
from featavg.model.ideal import filtered_network as filtered_network
from featavg.model.network import Layer as Layer
from featavg.model.network import Network as Network
from featavg.model.network import same_network as same_network
from featavg.model.readouts import GROUPED as GROUPED
from featavg.model.readouts import READOUTS as READOUTS
from featavg.model.readouts import Argmax as Argmax
from featavg.model.readouts import Grouped as Grouped
from featavg.model.readouts import Groups as Groups
from featavg.model.readouts import Readout as Readout
from featavg.model.readouts import Sign as Sign
from featavg.model.readouts import read_as as read_as
from featavg.model.two_layer import BinaryNetwork as BinaryNetwork
from featavg.model.two_layer import MulticlassNetwork as MulticlassNetwork
from featavg.model.two_layer import with_hidden_layer as with_hidden_layer
