"""How far to go in which direction: one rule per file, each written as its equation."""

from featavg.training.rules.adam import Adam as Adam
from featavg.training.rules.base import Rule as Rule
from featavg.training.rules.base import check_positive as check_positive
from featavg.training.rules.gradient_descent import GradientDescent as GradientDescent
from featavg.training.rules.gradient_flow import GradientFlow as GradientFlow
from featavg.training.rules.loss_based import LossBasedDescent as LossBasedDescent
from featavg.training.rules.momentum import MomentumDescent as MomentumDescent
from featavg.training.rules.normalized import NormalizedDescent as NormalizedDescent
from featavg.training.rules.sign import SignDescent as SignDescent
from featavg.training.rules.spectral import SpectralDescent as SpectralDescent
