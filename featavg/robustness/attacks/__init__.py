"""Attacks: upper bounds of the radius, each with a witness and with what it says against itself."""

from featavg.robustness.attacks.apgd import APGD as APGD
from featavg.robustness.attacks.base import Attack as Attack
from featavg.robustness.attacks.base import Found as Found
from featavg.robustness.attacks.boundary import BoundaryWalk as BoundaryWalk
from featavg.robustness.attacks.checks import levelling as levelling
from featavg.robustness.attacks.combine import attack_all as attack_all
from featavg.robustness.attacks.combine import best_of as best_of
from featavg.robustness.attacks.field import Field as Field
from featavg.robustness.attacks.field import whole_rows as whole_rows
from featavg.robustness.attacks.gradient import GradientWalk as GradientWalk
from featavg.robustness.attacks.minimal import MinimalNorm as MinimalNorm
from featavg.robustness.attacks.minimal import shrink as shrink
from featavg.robustness.attacks.newton import NewtonWalk as NewtonWalk
from featavg.robustness.attacks.pgd import PGD as PGD
from featavg.robustness.attacks.protocol import Attackable as Attackable
from featavg.robustness.attacks.transfer import Transfer as Transfer
from featavg.robustness.attacks.two_layer import field_of as field_of
from featavg.robustness.attacks.universal import UniversalDirection as UniversalDirection
