"""The talks' convolutional network on MNIST, trained to a loss of 1e-20: how much margin, and how much robustness?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from featavg.arrays import Array, Ints
from featavg.errors import InputError
from featavg.experiments.images.pairs import Images, load
from featavg.experiments.implicit_bias.late_digits import ROW_COLUMNS, row_claims, rows_drawing, rows_table
from featavg.progress import Progress
from featavg.robustness import MinimalNorm
from featavg.training import CrossEntropy, Iterate, LossBasedDescent

if TYPE_CHECKING:
    from torch import Tensor, nn

COST = ("long", 800)
NEEDS = ("mnist",)
COORDS = {"model": lambda config: config.models}
COLUMNS = ROW_COLUMNS
CLAIMS = row_claims(1.15, 2.30, "1e-20")
DRAWINGS = [rows_drawing("Margin of the convolutional network", "by 2.3 down to 1e-20")]
derive = rows_table
NOTES = [
    "The network of Lyu & Li 2020: convolutions of 32 and 64 maps, {config.hidden} hidden units, a bias in the first "
    "layer alone, so that outputs are of degree 4 in all parameters. Here {config.images} digits in one batch, to "
    "1e-20; published are all 60,000 in batches of a hundred, 107 epochs to that loss and 10,000 to 1e-881, which take "
    "days on two cores. Radii are the best of an attack: upper bounds.",
]


@dataclass(frozen=True)
class Config:
    """The talks' network on few digits, three rows of their table."""

    images: int = 50
    hidden: int = 1024
    models: tuple[float, ...] = (-10.0, -15.0, -20.0)  # log10 of the loss
    attacked: int = 50
    attack_steps: int = 40
    seeds: int = 5
    first_seed: int = 0


@dataclass(frozen=True, eq=False)
class Moment:
    """Where a module stands, as far as loss-based steps look: its parameters, loss, margins and gradient."""

    module: nn.Module
    x: Tensor  # (sample, channel, height, width)
    target: Ints  # (sample,)
    parameters: dict[str, Tensor]

    @cached_property
    def outputs(self) -> Tensor:
        """F (sample, output), which knows where it comes from."""
        from torch.func import functional_call

        return cast("Tensor", functional_call(self.module, self.parameters, (self.x,)))

    @cached_property
    def log_loss(self) -> float:
        """log Σ_i ℓ_i."""
        return float(LOSS.total(self._measured[0], None))

    @property
    def margins(self) -> Array:
        """q_i (sample,)."""
        return self._measured[1]

    @cached_property
    def log_gradient(self) -> dict[str, Tensor]:
        """∇ log L, by parameter."""
        import torch

        each = torch.from_numpy(LOSS.derivative(self._numbers, self.target, self.log_loss)).to(self.outputs)
        found = torch.autograd.grad(self.outputs, list(self.parameters.values()), each)
        return dict(zip(self.parameters, found, strict=True))

    def move(self, direction: dict[str, Tensor], step: float) -> Moment:
        """θ + step · direction."""
        moved = {name: (p.detach() + step * direction[name]).requires_grad_() for name, p in self.parameters.items()}
        return Moment(self.module, self.x, self.target, moved)

    @property
    def margin_by_layers(self) -> float:
        """min_i q_i / Π_l ‖W_l‖, the bias of a layer with its weights."""
        squares: dict[str, float] = {}
        for name, parameter in self.parameters.items():
            layer = name.rpartition(".")[0]
            squares[layer] = squares.get(layer, 0.0) + float(parameter.detach().double().square().sum())
        return float(self.margins.min() / np.sqrt(np.prod(list(squares.values()))))

    @cached_property
    def _numbers(self) -> Array:
        return np.asarray(self.outputs.detach().double().numpy())

    @cached_property
    def _measured(self) -> tuple[Array, Array]:
        return LOSS.measure(self._numbers, self.target)


LOSS = CrossEntropy("sum")


def measure(config: Config, seed: int, progress: Progress) -> dict[str, Any]:
    """Loss-based steps down to the last row; margins and radii where a row is reached."""
    train, test = load("mnist", "parity", "train").draw(config.images, seed), load("mnist", "parity", "test")
    near, far = train.first(config.attacked), test.draw(config.attacked, seed)
    rows: dict[str, list[float]] = {name: [] for name in ROW_COLUMNS}
    for steps, at in reached(start(config, train, seed), config.models, progress):
        rows["table_steps"].append(steps)
        rows["table_margin"].append(at.margin_by_layers)
        found = [_upper(at, points, config.attack_steps) for points in (near, far)]
        rows["table_train_radius"].append(float(np.median(found[0])))
        rows["table_test_radius"].append(float(np.median(found[1])))
        rows["table_accuracy"].append(float(np.mean(found[1] > 0)))
    return rows


def start(config: Config, images: Images, seed: int) -> Moment:
    """He's start, with a bias in the first layer alone."""
    from featavg.deep import SmallCNN, as_pixels

    module = SmallCNN(10, hidden=config.hidden, seed=seed).requires_grad_(False).eval()
    biases = [name for name, _ in module.named_parameters() if name.endswith("bias")]
    for name in biases:
        module.get_parameter(name).zero_()
    trained = {name: p.clone().requires_grad_() for name, p in module.named_parameters() if name not in biases[1:]}
    return Moment(module, as_pixels(images.x), images.cluster, trained)


def reached(at: Moment, models: tuple[float, ...], progress: Progress) -> Iterator[tuple[int, Moment]]:
    """Steps and moment at which each loss 10^model is first reached."""
    unit, first = np.log(10), at.log_loss
    rule = LossBasedDescent(log_loss=models[-1] * unit)
    # The rule asks an iterate for its loss, margins and gradient, and for another one a step away; so does `Moment`.
    state, step = rule.init(cast(Iterate, at)), 0
    for goal in models:
        while at.log_loss > goal * unit:
            if why := rule.ended(cast(Iterate, at), state):
                raise InputError(f"the run {why}, above a loss of 10^{goal:g}; start it elsewhere")
            found, state = rule.step(cast(Iterate, at), state)
            at, step = cast(Moment, found), step + 1
            share = (first - at.log_loss) / (first - rule.log_loss)
            progress(min(share, 1.0), f"loss 10^{at.log_loss / unit:.0f}")
        yield step, at


def _upper(at: Moment, images: Images, steps: int) -> Array:
    """ℓ2 radii by a minimal-norm attack, 0 for errors: (point,)."""
    from featavg.deep import ask_deep

    at.module.load_state_dict({name: value.detach() for name, value in at.parameters.items()}, strict=False)
    return MinimalNorm(steps=steps).on(ask_deep(at.module, images.x, images.cluster)).upper
