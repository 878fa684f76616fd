"""Files of skops: scikit-learn models stored without code to run (extra `skops`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from featavg.errors import InputError, reason

# What an MLPClassifier was trained by: rates and moments alone, which skops does not list among what it knows.
HARMLESS = {f"sklearn.neural_network._stochastic_optimizers.{name}" for name in ("AdamOptimizer", "SGDOptimizer")}


def load(path: Path) -> Any:
    """The scikit-learn model in a file, if it holds nothing but types that skops knows to be harmless."""
    try:
        import skops.io
    except ImportError:
        raise InputError("skops files need the package: pip install 'featavg[skops]'") from None
    try:
        unlisted = skops.io.get_untrusted_types(file=path)
        strange = [name for name in unlisted if name not in HARMLESS]
        if not strange:
            return skops.io.load(path, trusted=unlisted)
    except Exception as error:  # a damaged file can break its reader anywhere, with errors of any type
        raise InputError(f"{path} is damaged or no skops file ({reason(error)}); write it again") from None
    raise InputError(f"{path} holds types that may run code, so it is refused: {', '.join(map(str, strange))}")
