"""How far until it errs."""

from featavg.robustness.accuracy import RobustAccuracy as RobustAccuracy
from featavg.robustness.accuracy import accuracy_lines as accuracy_lines
from featavg.robustness.accuracy import is_robust as is_robust
from featavg.robustness.accuracy import overstatement as overstatement
from featavg.robustness.accuracy import radius_quantile as radius_quantile
from featavg.robustness.accuracy import robust_accuracy as robust_accuracy
from featavg.robustness.accuracy import robust_curve as robust_curve
from featavg.robustness.attacks import PGD as PGD
from featavg.robustness.attacks import Attack as Attack
from featavg.robustness.attacks import BoundaryWalk as BoundaryWalk
from featavg.robustness.attacks import GradientWalk as GradientWalk
from featavg.robustness.attacks import UniversalDirection as UniversalDirection
from featavg.robustness.attacks import best_of as best_of
from featavg.robustness.bounds import lipschitz_bound as lipschitz_bound
from featavg.robustness.bounds import local_bound as local_bound
from featavg.robustness.bracket import RadiusBracket as RadiusBracket
from featavg.robustness.checked import checked_radius as checked_radius
from featavg.robustness.checked_bracket import load_bracket as load_bracket
from featavg.robustness.first_search import Budget as Budget
from featavg.robustness.question import Question as Question
from featavg.robustness.question import Readout as Readout
from featavg.robustness.question import ask as ask
from featavg.robustness.radius import robust_radius as robust_radius
from featavg.robustness.radius import targeted_radius as targeted_radius
