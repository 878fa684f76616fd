"""What to do about it."""

from featavg.refine.classifier import SubclassClassifier as SubclassClassifier
from featavg.refine.diagnose import diagnose as diagnose
from featavg.refine.diagnosis import Diagnosis as Diagnosis
from featavg.refine.sublabels import Sublabels as Sublabels
from featavg.refine.sublabels import discover_sublabels as discover_sublabels
from featavg.refine.sublabels import hidden_features as hidden_features
