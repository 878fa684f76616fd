"""The fence around torch: backbones, fitting, features, attacks through a deep network."""
# ruff: noqa: E402  (torch is asked for before anything that needs it, to fail with one sentence)

from featavg.deep.extra import require_torch as require_torch

require_torch()

from featavg.deep.backbones import CIFAR10_MEAN as CIFAR10_MEAN
from featavg.deep.backbones import CIFAR10_STD as CIFAR10_STD
from featavg.deep.backbones import MNIST_MEAN as MNIST_MEAN
from featavg.deep.backbones import MNIST_STD as MNIST_STD
from featavg.deep.backbones import ResNet18 as ResNet18
from featavg.deep.backbones import SmallCNN as SmallCNN
from featavg.deep.backbones import cifar_backbone as cifar_backbone
from featavg.deep.backbones import parameter_count as parameter_count
from featavg.deep.cards import ModelCard as ModelCard
from featavg.deep.cards import card_of as card_of
from featavg.deep.checkpoints import EpochLog as EpochLog
from featavg.deep.directions import feature_directions as feature_directions
from featavg.deep.efficientnet import imagenet_backbone as imagenet_backbone
from featavg.deep.fit import Fitted as Fitted
from featavg.deep.fit import accuracy as accuracy
from featavg.deep.fit import after_epoch as after_epoch
from featavg.deep.fit import fit as fit
from featavg.deep.fit import trained as trained
from featavg.deep.heads import HeadedNetwork as HeadedNetwork
from featavg.deep.heads import answer_coarsely as answer_coarsely
from featavg.deep.heads import as_torch as as_torch
from featavg.deep.heads import coarse_head as coarse_head
from featavg.deep.heads import extract_features as extract_features
from featavg.deep.heads import feature_data as feature_data
from featavg.deep.heads import fine_head as fine_head
from featavg.deep.images import as_images as as_images
from featavg.deep.images import as_pixels as as_pixels
from featavg.deep.images import as_rows as as_rows
from featavg.deep.images import channels_first as channels_first
from featavg.deep.images import outputs_of as outputs_of
from featavg.deep.question import DeepQuestion as DeepQuestion
from featavg.deep.question import ask_deep as ask_deep
from featavg.deep.question import decision_of as decision_of
from featavg.deep.recipe import Recipe as Recipe
from featavg.deep.weights import load_weights as load_weights
from featavg.deep.weights import read_card as read_card
from featavg.deep.weights import read_state as read_state
from featavg.deep.weights import save_weights as save_weights
