"""What training lowers: one file per loss, each with its derivative and its logarithm."""

from featavg.training.losses.base import Loss as Loss
from featavg.training.losses.base import log_sum_exp as log_sum_exp
from featavg.training.losses.cross_entropy import CrossEntropy as CrossEntropy
from featavg.training.losses.grouped import GroupedCrossEntropy as GroupedCrossEntropy
from featavg.training.losses.margin import Exponential as Exponential
from featavg.training.losses.margin import Logistic as Logistic
from featavg.training.losses.margin import Squared as Squared
from featavg.training.losses.named import LOSSES as LOSSES
from featavg.training.losses.named import LossName as LossName
from featavg.training.losses.named import loss_for as loss_for
from featavg.training.losses.smoothed import SmoothedCrossEntropy as SmoothedCrossEntropy
