"""How it moves."""

from featavg.training.rules import Adam as Adam
from featavg.training.rules import GradientDescent as GradientDescent
from featavg.training.rules import GradientFlow as GradientFlow
from featavg.training.train import DivergenceWarning as DivergenceWarning
from featavg.training.train import every as every
from featavg.training.train import train as train
from featavg.training.trajectory import Trajectory as Trajectory
