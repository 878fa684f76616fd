"""What is trained."""

from featavg.model.files import load_network as load_network
from featavg.model.files import read_about as read_about
from featavg.model.files import save_network as save_network
from featavg.model.foreign import as_network as as_network
from featavg.model.ideal import averaging_network as averaging_network
from featavg.model.ideal import decoupled_network as decoupled_network
from featavg.model.ideal import filtered_network as filtered_network
from featavg.model.network import BINARY_READOUTS as BINARY_READOUTS
from featavg.model.network import BinaryNetwork as BinaryNetwork
from featavg.model.network import BinaryReadout as BinaryReadout
from featavg.model.network import MulticlassNetwork as MulticlassNetwork
from featavg.model.network import TwoLayerNetwork as TwoLayerNetwork
