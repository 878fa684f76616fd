"""One kernel of oneDNN writes past the end of its memory; networks that would call it are trained without oneDNN.

On processors with AVX2 and no AVX-512 the gradient of the weights of a 1x1 convolution with stride and fewer than
eight input channels overruns its buffer when the images are channels_last, as all images here are (torch 2.13). It
was found for 2 ... 7 channels and strides 2, 3 and 4 that divide the image, under glibc's check of its heap. The
forward pass and the gradient of the input came out clean; so attacks, which take gradients of images alone, keep
oneDNN. The rule is the same on all processors.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.parameter import is_lazy

LANES = 8  # floats in a register of AVX2: with so many input channels or more the kernel stays in its memory
_SWITCH = threading.Lock()  # torch has one switch for all threads


def overruns_memory(module: nn.Module) -> bool:
    """Whether some layer of the module is one whose weights' gradient oneDNN may write past its memory.

    >>> overruns_memory(nn.Conv2d(4, 8, kernel_size=1, stride=2)), overruns_memory(nn.Conv2d(4, 8, kernel_size=1))
    (True, False)
    """
    return any(_is_narrow(layer) for layer in module.modules())


@contextmanager
def safe_backward(module: nn.Module) -> Iterator[None]:
    """Within it gradients of the weights can be taken: oneDNN is off if the module has a layer that needs that."""
    if not overruns_memory(module):
        yield
        return
    with _SWITCH:
        was_on = torch.backends.mkldnn.enabled
        torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
        try:
            yield
        finally:
            torch.backends.mkldnn.enabled = was_on


def _is_narrow(layer: nn.Module) -> bool:
    if isinstance(layer, nn.Conv2d):
        pointwise, strided = set(layer.kernel_size) == {1}, max(layer.stride) > 1
        return pointwise and strided and layer.in_channels // layer.groups < LANES
    # Weights that a module convolves with by itself do not tell their stride; transposed ones are counted in as well.
    weights = (weight for weight in layer.parameters(recurse=False) if not is_lazy(weight))
    return any(weight.ndim == 4 and weight.shape[2:] == (1, 1) and weight.shape[1] < LANES for weight in weights)
