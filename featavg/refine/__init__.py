"""What to do about it: find finer labels, train on them, and say what that is worth."""

from featavg.analysis import Averages as Averages
from featavg.analysis import averages as averages
from featavg.model import check_columns as check_columns
from featavg.refine.baselines import PrototypeClassifier as PrototypeClassifier
from featavg.refine.classifier import SubclassClassifier as SubclassClassifier
from featavg.refine.classifier import is_classifier as is_classifier
from featavg.refine.classifier import load_classifier as load_classifier
from featavg.refine.classifier import save_classifier as save_classifier
from featavg.refine.clusters import embed as embed
from featavg.refine.clusters import means as means
from featavg.refine.comparison import Comparison as Comparison
from featavg.refine.decision import Decision as Decision
from featavg.refine.decision import read_decision as read_decision
from featavg.refine.decision import standings_table as standings_table
from featavg.refine.diagnose import averages_of as averages_of
from featavg.refine.diagnose import centred_means as centred_means
from featavg.refine.diagnose import diagnose as diagnose
from featavg.refine.diagnose import subclasses as subclasses
from featavg.refine.diagnosis import LEVEL as LEVEL
from featavg.refine.diagnosis import Diagnosis as Diagnosis
from featavg.refine.frame import Frame as Frame
from featavg.refine.frame import State as State
from featavg.refine.frame import at_centers as at_centers
from featavg.refine.frame import at_random as at_random
from featavg.refine.frame import descend as descend
from featavg.refine.open_model import inputs_for as inputs_for
from featavg.refine.open_model import open_model as open_model
from featavg.refine.refine import Refined as Refined
from featavg.refine.refine import refine_points as refine_points
from featavg.refine.select import grouped as grouped
from featavg.refine.select import newton_distances as newton_distances
from featavg.refine.sublabels import Finder as Finder
from featavg.refine.sublabels import Subclasses as Subclasses
from featavg.refine.sublabels import discover_sublabels as discover_sublabels
from featavg.refine.sublabels import hidden_features as hidden_features
from featavg.refine.sublabels import pair_sublabels as pair_sublabels
from featavg.refine.torch import RefinedModule as RefinedModule
from featavg.refine.torch import refine_module as refine_module

# The name that users of `discover_sublabels` know.
Sublabels = Subclasses
