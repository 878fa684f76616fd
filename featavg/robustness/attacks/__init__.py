"""Attacks: upper bounds of the radius, each with a witness and with what it says against itself."""

from featavg.robustness.attacks.base import Attack as Attack
from featavg.robustness.attacks.boundary import BoundaryWalk as BoundaryWalk
from featavg.robustness.attacks.combine import best_of as best_of
from featavg.robustness.attacks.gradient import GradientWalk as GradientWalk
from featavg.robustness.attacks.pgd import PGD as PGD
from featavg.robustness.attacks.universal import UniversalDirection as UniversalDirection
