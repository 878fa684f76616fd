"""A torch module cut in two: what comes into its linear head, and the head."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.errors import InputError

BATCH = 512


def split_module(module: Any, x: ArrayLike, head: str | None = None) -> tuple[Array, Array, Array | None, str]:
    """Return features (sample, feature), head weights (output, feature), bias (output,) and the name of the head.

    The head is the linear layer of that name, or the last one of the module.
    """
    try:
        import torch
    except ImportError:
        raise InputError("a torch module needs torch: pip install 'featavg[deep]'") from None
    name, layer = _find(module, head, torch.nn.Linear)
    seen: list[Any] = []
    hook = layer.register_forward_pre_hook(lambda _, given: seen.append(given[0].detach()))
    parameter = next(module.parameters())
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            for start in range(0, len(np.asarray(x)), BATCH):
                batch = torch.as_tensor(np.asarray(x)[start : start + BATCH])
                module(batch.to(dtype=parameter.dtype, device=parameter.device))
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"features must fit the module, got points of shape {np.shape(x)[1:]} and {reason}") from None
    finally:
        hook.remove()
        module.train(was_training)
    if not seen:
        raise InputError(f"the linear layer {name!r} is not used by the module; name another with head=")
    features = torch.cat(seen).double().cpu().numpy()
    if features.ndim != 2:
        raise InputError(f"the head {name!r} must see one row a point, got features of shape {features.shape}")
    bias = None if layer.bias is None else layer.bias.detach().double().cpu().numpy()
    return features, layer.weight.detach().double().cpu().numpy(), bias, name


def _find(module: Any, head: str | None, linear: Any) -> tuple[str, Any]:
    layers = {name or "(the module itself)": part for name, part in module.named_modules() if isinstance(part, linear)}
    if not layers:
        found = sorted({type(part).__name__ for name, part in module.named_modules() if name})
        raise InputError(f"a torch module needs a linear head, got only {', '.join(found) or type(module).__name__}")
    if head is None:
        return list(layers.items())[-1]
    if head not in layers:
        raise InputError(f"head must be one of the linear layers {', '.join(layers)}, got {head!r}")
    return head, layers[head]
