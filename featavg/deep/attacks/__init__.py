"""Attacks through deep networks: upper bounds of the radius, each with a witness and what it says against itself."""

from featavg.deep.attacks.base import DeepAttack as DeepAttack
from featavg.deep.attacks.boundary import BoundaryWalk as BoundaryWalk
from featavg.deep.attacks.checks import levelling as levelling
from featavg.deep.attacks.combine import attack_all as attack_all
from featavg.deep.attacks.minimal import MinimalNorm as MinimalNorm
from featavg.deep.attacks.pgd import APGD as APGD
from featavg.deep.attacks.pgd import PGD as PGD
from featavg.deep.attacks.transfer import Transfer as Transfer
from featavg.deep.attacks.universal import FeatureDirection as FeatureDirection
