"""What to do about it."""

from featavg.refine.classifier import SubclassClassifier as SubclassClassifier
from featavg.refine.compared import Compared as Compared
from featavg.refine.deep import RefinedModule as RefinedModule
from featavg.refine.deep import refine_module as refine_module
from featavg.refine.diagnose import diagnose as diagnose
from featavg.refine.diagnosis import Diagnosis as Diagnosis
from featavg.refine.refined import Refined as Refined
from featavg.refine.refined import refine_points as refine_points
from featavg.refine.saved import load_classifier as load_classifier
from featavg.refine.saved import save_classifier as save_classifier
from featavg.refine.sublabels import Sublabels as Sublabels
from featavg.refine.sublabels import discover_sublabels as discover_sublabels
from featavg.refine.sublabels import hidden_features as hidden_features
