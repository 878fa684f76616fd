"""How it moves: rules on an iterate, and engines that hold the first layer."""

from featavg.training.iterate import Iterate as Iterate
from featavg.training.iterate import Vector as Vector
from featavg.training.losses import LOSSES as LOSSES
from featavg.training.losses import CrossEntropy as CrossEntropy
from featavg.training.losses import Exponential as Exponential
from featavg.training.losses import Logistic as Logistic
from featavg.training.losses import Loss as Loss
from featavg.training.losses import PooledCrossEntropy as PooledCrossEntropy
from featavg.training.losses import SmoothedCrossEntropy as SmoothedCrossEntropy
from featavg.training.losses import loss_for as loss_for
from featavg.training.moments import every as every
from featavg.training.rules import Adam as Adam
from featavg.training.rules import GradientDescent as GradientDescent
from featavg.training.rules import GradientFlow as GradientFlow
from featavg.training.rules import LossBasedDescent as LossBasedDescent
from featavg.training.rules import MomentumDescent as MomentumDescent
from featavg.training.rules import NormalizedDescent as NormalizedDescent
from featavg.training.rules import Rule as Rule
from featavg.training.rules import SignDescent as SignDescent
from featavg.training.rules import SpectralDescent as SpectralDescent
from featavg.training.run import Moment as Moment
from featavg.training.train import DivergenceWarning as DivergenceWarning
from featavg.training.train import train as train
from featavg.training.train import train_many as train_many
from featavg.training.trajectory import Trajectory as Trajectory
