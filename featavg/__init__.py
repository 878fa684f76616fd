"""Feature averaging in ReLU networks: train it, see it, measure its exact robustness, undo it.

The public names are those of `__init__.pyi`; each is imported at first use, so that nothing waits for what it does not
need.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"
