"""The lab: a setting in, everything that a page draws of it out; Python computes, the page only draws."""

import lazy_loader

# Each name is imported at first use, because a report holds the lab's page and must not wait for what computes states.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
